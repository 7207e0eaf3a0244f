// Puts the pieces together and listens.

import Fastify from "fastify";
import { createTransport } from "nodemailer";
import { MAX_BODY_BYTES, readConfig } from "./config.js";
import { Queue } from "./queue.js";
import { healthRoutes } from "./routes/health.js";
import { messageRoutes } from "./routes/messages.js";

const TICK_MS = 250;

const config = readConfig(process.env);
const transport = createTransport(config.smtpUrl);
const queue = new Queue((message) => transport.sendMail(message));
const app = Fastify({ bodyLimit: MAX_BODY_BYTES, logger: { level: config.logLevel } });

messageRoutes(app, { queue, token: config.token });
healthRoutes(app, { queue });

setInterval(() => queue.drainOnce(), TICK_MS).unref();
await app.listen({ port: config.port, host: "0.0.0.0" });
