// Mail that waits, and when it is tried again.

import { EventEmitter } from "node:events";

export const MAX_ATTEMPTS = 8;
export const FIRST_PAUSE_MS = 1500;
export const LONGEST_PAUSE_MS = 3600000;

export class Queue extends EventEmitter {
  constructor(send, now = Date.now) {
    super();
    this.send = send;
    this.now = now;
    this.waiting = [];
    this.parked = [];
  }

  add(message) {
    this.waiting.push({ message, attempts: 0, notBefore: this.now() });
    this.emit("added", message.id);
  }

  // Twice as long each time, up to an hour.
  static pauseAfter(attempts) {
    return Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS);
  }

  async drainOnce() {
    const entry = this.waiting.find((one) => one.notBefore <= this.now());
    if (!entry) return false;
    try {
      await this.send(entry.message);
      this.waiting = this.waiting.filter((one) => one !== entry);
      this.emit("sent", entry.message.id);
    } catch (error) {
      this.retryLater(entry, error);
    }
    return true;
  }

  retryLater(entry, error) {
    entry.attempts += 1;
    if (entry.attempts >= MAX_ATTEMPTS) {
      this.waiting = this.waiting.filter((one) => one !== entry);
      this.parked.push(entry);
      this.emit("parked", entry.message.id, error);
      return;
    }
    entry.notBefore = this.now() + Queue.pauseAfter(entry.attempts);
  }
}
