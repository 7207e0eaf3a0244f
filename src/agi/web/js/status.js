// How a session stands: a shape, a word and a kind (for its colour), the same everywhere.

import { el } from "./dom.js";

const OF_ACTIVITY = {
  running: ["●", "running", "running"],
  waiting_approval: ["◆", "waiting for you", "waiting"],
  waiting_input: ["◆", "waiting for you", "waiting"],
  queued: ["◌", "queued", "idle"],
  backing_off: ["↻", "backing off", "idle"],
  verifying: ["●", "verifying", "running"],
  compacting: ["●", "compacting", "running"],
};
const OF_STATUS = {
  failed: ["✗", "failed", "failed"],
  canceled: ["■", "canceled", "idle"],
  completed: ["✓", "done", "done"],
  waiting_approval: ["◆", "waiting for you", "waiting"],
};

export function statusOf(row) {
  if (row.waiting > 0 || row.waiting_below > 0 || row.pending_approvals?.length) return named(OF_ACTIVITY.waiting_approval);
  if (OF_ACTIVITY[row.activity]) return named(OF_ACTIVITY[row.activity]);
  return named(OF_STATUS[row.status] ?? ["○", "idle", "idle"]);
}

const named = ([shape, word, kind]) => ({ shape, word, kind });

export function statusNode(row) {
  const { shape, word, kind } = statusOf(row);
  return el("span", { class: "status", data: { kind } }, el("span", { aria: { hidden: "true" } }, `${shape} `), word);
}

/** "12 s", "4 min", "3 h", "2 d": how long ago. */
export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, (now - new Date(time)) / 1000);
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.floor(seconds)} s`;
}

export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
export const money = (usd) => (usd === null || usd === undefined ? "" : `$${usd !== 0 && usd < 0.1 ? usd.toFixed(3) : usd.toFixed(2)}`);
