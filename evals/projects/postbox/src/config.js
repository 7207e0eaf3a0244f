// Settings from the environment, read once.

export const DEFAULT_PORT = 8125;
export const MAX_BODY_BYTES = 262144;
export const QUEUE_FILE = "/var/lib/postbox/queue.ndjson";

export function readConfig(env) {
  return {
    port: Number(env.POSTBOX_PORT ?? DEFAULT_PORT),
    smtpUrl: env.POSTBOX_SMTP_URL ?? "smtp://localhost:2525",
    token: env.POSTBOX_API_TOKEN,
    logLevel: env.POSTBOX_LOG_LEVEL ?? "warn",
  };
}
