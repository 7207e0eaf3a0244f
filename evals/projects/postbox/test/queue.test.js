import assert from "node:assert/strict";
import test from "node:test";
import { MAX_ATTEMPTS, Queue } from "../src/queue.js";

test("pauses double and end at an hour", () => {
  assert.equal(Queue.pauseAfter(1), 3000);
  assert.equal(Queue.pauseAfter(30), 3600000);
});

test("mail that never goes out is parked", async () => {
  let clock = 0;
  const queue = new Queue(() => Promise.reject(new Error("no")), () => clock);
  queue.add({ id: "m1" });
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    await queue.drainOnce();
    clock += 10 ** 9;
  }
  assert.equal(queue.parked.length, 1);
});
