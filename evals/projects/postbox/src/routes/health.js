// GET /healthz: how many wait, how many were put aside.

export function healthRoutes(app, { queue }) {
  app.get("/healthz", async () => ({ waiting: queue.waiting.length, parked: queue.parked.length }));
}
