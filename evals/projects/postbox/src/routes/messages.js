// POST /messages: one mail more in the queue.

import { randomUUID } from "node:crypto";
import { compose } from "../template.js";

export function messageRoutes(app, { queue, token }) {
  app.post("/messages", async (request, reply) => {
    if (request.headers["x-postbox-token"] !== token) {
      return reply.code(401).send({ error: "wrong token" });
    }
    const { to, template, values = {} } = request.body;
    const id = randomUUID();
    queue.add({ id, to, ...compose(template, values) });
    return reply.code(202).send({ id });
  });

  app.get("/messages/parked", async () => queue.parked.map((entry) => entry.message.id));
}
