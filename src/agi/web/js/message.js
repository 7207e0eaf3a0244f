// One message on screen: an article with a heading, its parts in order, and how its turn ended.

import { el, setHtml } from "./dom.js";
import { card, file, picture } from "./cards.js";
import { LiveText } from "./stream.js";
import { clock } from "./status.js";

const VERIFIED = { verified: ["✓", "verified", "done"], failing: ["✗", "not verified: checks fail", "failed"], pre_existing: ["○", "checks fail as before", "idle"], stale: ["○", "verification is out of date", "idle"] };

/** Draws rows; keeps the nodes of cards and growing texts, so that drawing a row again keeps what is open. */
export class Drawing {
  texts = new Map();
  cards = new Map();
  thoughts = new Map();

  constructor(conversation, app, actions) {
    Object.assign(this, { conversation, app, actions });
  }

  row(row, before) {
    if (row.note !== undefined) return el("p", { class: "note small", role: "article", data: { row: row.id, kind: row.kind ?? "" } }, el("time", { datetime: row.ts }, clock(row.ts)), " ", row.note);
    const { message } = row;
    const kind = message.role === "user" && message.origin ? "system" : message.role;
    const follows = before?.message && before.turn === row.turn && before.message.role === message.role;
    const node = el("article", { class: `message ${kind}${message.reverted ? " reverted" : ""}${follows ? " follows" : ""}`, data: { row: row.id }, aria: { label: `${this.#who(message)}, ${clock(row.ts)}` } });
    node.append(el("header", {},
      el("h2", { class: "who" }, this.#who(message)),
      el("time", { class: "faint", datetime: row.ts }, clock(row.ts)),
      this.#elsewhere(row),
      message.reverted ? el("span", { class: "faint" }, "taken back") : "",
      this.actions.buttons(row)));
    const parts = message.parts.length ? message.parts : [...row.parts.values()].map((part) => ({ type: part.kind, text: part.text, id: part.id, rewound: part.rewound }));
    parts.forEach((part, at) => node.append(this.#part(row, part, row.html?.[at])));
    const outcome = this.#outcome(row);
    if (outcome) node.append(outcome);
    return node;
  }

  #who(message) {
    if (message.role === "user") return message.origin ? `agi (${message.origin.replaceAll("_", " ")})` : "You";
    return message.agent || this.conversation.session?.agent || "agent";
  }

  #elsewhere(row) {
    const { role, origin, client } = row.message;
    if (role !== "user" || origin || this.conversation.mine.has(row.id)) return "";
    if (client && client !== "web") return el("span", { class: "faint" }, `from ${client}`);
    return row.live ? el("span", { class: "faint" }, client ? "from another tab" : "from another client") : "";
  }

  #part(row, part, html) {
    switch (part.type) {
      case "text": return row.message.origin === "context" ? this.#aside(part) : row.message.role === "user" ? el("div", { class: "prose said" }, part.text) : this.#text(row, part, html);
      case "reasoning": return this.#reasoning(row, part);
      case "tool_call": return this.card(part.content.id);
      case "image": return picture(part, this.app);
      case "error": return el("div", { class: "error" }, el("b", {}, part.content.message));
      case "tool_result": return "";
      default: return file(part, this.app);
    }
  }

  #text(row, part, html) {
    if (typeof html === "string" && !this.texts.has(part.id)) {
      const node = el("div", { class: "prose" });
      setHtml(node, html, this.app.api.picture);
      return node;
    }
    return this.live(row, part).node;
  }

  /** The growing text of a part. */
  live(row, part) {
    const key = part.id || `${row.id}`;
    if (!this.texts.has(key)) this.texts.set(key, new LiveText(this.app.api));
    const text = this.texts.get(key);
    text.set(part.text, part.rewound);
    if (row.message.status !== "pending") text.finish(part.text);
    return text;
  }

  #reasoning(row, part) {
    const key = part.id || row.id;
    if (!this.thoughts.has(key)) this.thoughts.set(key, el("details", { class: "reasoning", data: { part: part.id } }, el("summary", {}), el("div", { class: "prose thought" })));
    const node = this.thoughts.get(key);
    node.firstChild.textContent = row.message.status === "pending" && row.parts.size === 1 ? "Reasoning …" : "Reasoning";
    node.lastChild.textContent = part.text;
    return node;
  }

  /** What the harness told the model beside the conversation, such as a map: there for who wants to see it. */
  #aside(part) {
    const key = part.id;
    if (!this.thoughts.has(key)) {
      const lines = part.text.split("\n").length;
      this.thoughts.set(key, el("details", { class: "reasoning", data: { part: key } }, el("summary", {}, `Told the model about the workspace · ${lines} lines`), el("div", { class: "prose thought" }, part.text)));
    }
    return this.thoughts.get(key);
  }

  card(id) {
    if (!this.cards.has(id)) this.cards.set(id, card(this.conversation.call(id), this.app));
    return this.cards.get(id);
  }

  #outcome(row) {
    const id = row.latest ?? row.turn;
    const turn = this.conversation.turns.get(id);
    if (!turn || turn.status === "running" || turn.status === "queued" || !this.#isLast(row, id)) return null;
    const parts = [];
    if (turn.status === "failed") parts.push(el("div", { class: "error" }, el("b", {}, turn.error?.message ?? "The turn failed."), turn.error?.hint ? ` ${turn.error.hint}` : ""));
    if (turn.status === "canceled") parts.push(el("span", { class: "status" }, "■ canceled"));
    if (turn.note) parts.push(el("span", { class: "faint" }, turn.note));
    const badge = VERIFIED[turn.verification];
    if (badge) parts.push(el("span", { class: "status badge-verified", data: { kind: badge[2] } }, `${badge[0]} ${badge[1]}`));
    return parts.length ? el("footer", { class: "row" }, parts) : null;
  }

  #isLast(row, id) {
    return this.conversation.rows.findLast((one) => one.message && (one.latest ?? one.turn) === id) === row;
  }
}
