// What can be done with a session or one of its turns: retry, fork, revert with a preview, compact, rename, export.

import { $, el, fill } from "./dom.js";
import { counts, diff } from "./cards.js";

const EXPORTS = { markdown: ["Markdown", "md"], ndjson: ["events (NDJSON)", "ndjson"], cassette: ["a cassette", "agi-cassette"] };
const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

export class Actions {
  constructor(app, conversation) {
    Object.assign(this, { app, conversation });
    this.list = el("div", { class: "menu-list" });
    this.menu = el("details", { class: "menu" }, el("summary", { class: "button quiet", aria: { label: "More" } }, "⋯"), this.list);
    this.menu.addEventListener("focusout", (event) => { if (!this.menu.contains(event.relatedTarget)) this.menu.open = false; });
    this.menu.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.menu.open) { event.stopPropagation(); this.#fold(); } });
  }

  show(session) {
    if (this.menu.open && this.list.firstChild) return; // what one is about to choose from stays as it is
    const entry = (text, act) => el("button", { type: "button", class: "quiet", onclick: () => { this.#fold(); act(); } }, text);
    fill(this.list,
      entry("Rename", () => this.#rename(session)),
      entry("Fork", () => this.#fork({})),
      entry("Make shorter (compact)", () => this.#try(() => this.app.api.post(`${this.conversation.path}/compact`, {}), "The conversation is made shorter")),
      Object.entries(EXPORTS).map(([format, [name]]) => entry(`Export as ${name}`, () => this.#export(format))),
      entry("Export as JSON", () => this.#exportJson()),
      entry("Sign out", () => this.app.api.signOut()));
  }

  #fold() {
    this.menu.open = false;
    this.menu.firstChild.focus(); // what is hidden cannot keep the focus
  }

  /** The buttons of one message. */
  buttons(row) {
    const { message } = row;
    if (message.status === "pending" || message.origin) return "";
    const { turns, lastTurn } = this.conversation;
    const isUnanswered = (row.latest ?? row.turn) === lastTurn && ["failed", "canceled"].includes(turns.get(lastTurn)?.status);
    const isAnswer = message.parts.some((part) => part.type === "text" && part.text.trim());
    if (message.role === "assistant" && !isAnswer) return ""; // calls alone: there is nothing to copy, and the question takes the turn back
    const button = (text, about, act) => el("button", { type: "button", class: "quiet small", aria: { label: about }, onclick: act }, text);
    return el("span", { class: `turn-actions${message.role === "user" && isUnanswered ? " wanted" : ""}` },
      message.role === "user" && isUnanswered ? button("Retry", "Answer this message again", () => this.#try(() => this.app.api.post(`${this.conversation.path}/turns/${lastTurn}/retry`), "It is tried again")) : "",
      message.role === "user" ? button("Fork", "Fork before this message", () => this.#fork({ message_id: message.id, before: true })) : "",
      row.turn ? button("Revert", message.role === "user" ? "Take back this turn" : "Take back the turn of this answer", () => this.#revert(row.turn)) : "",
      message.role === "assistant" ? button("Copy", "Copy this answer", () => this.#copy(message)) : "");
  }

  async #try(work, said) {
    try {
      const result = await work();
      if (said) this.app.say(said);
      this.conversation.refresh();
      return result;
    } catch (error) {
      this.#dialog("That did not work", this.app.failure(error));
      return null;
    }
  }

  #copy(message) {
    const text = message.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
    return this.#try(() => navigator.clipboard.writeText(text), `${text.length} characters copied`);
  }

  async #fork(body) {
    const made = await this.#try(() => this.app.api.post(`${this.conversation.path}/fork`, body));
    if (made) this.app.go(`/s/${made.id}`);
  }

  #rename(session) {
    const name = el("input", { type: "text", value: session.title ?? "", maxLength: 200, aria: { label: "Title" } });
    const rename = async (event) => {
      event.preventDefault();
      $("dialog").close();
      await this.#try(() => this.app.api.patch(this.conversation.path, { title: name.value }));
    };
    this.#dialog("Rename", el("form", { class: "row", onsubmit: rename }, name, el("button", { class: "primary" }, "Rename")));
    name.select();
  }

  /** Shows what would be brought back before anything is. */
  async #revert(turnId) {
    const path = `${this.conversation.path}/revert`;
    const ask = (what) => this.#try(() => this.app.api.post(path, { to: turnId, what, preview: true }));
    const seen = await ask("both");
    if (!seen) return;
    const { files: changed = [], conflicts = [], unrestored = [], messages = 0 } = seen;
    const files = changed.map((file) => el("details", {}, el("summary", {}, `${file.path} (${file.status}) ${counts(file.artifact.summary ?? {})}`), file.artifact.patch ? diff(file.artifact.patch) : ""));
    const go = (what, name) => el("button", { type: "button", onclick: async () => {
      $("dialog").close();
      const plan = what === "both" ? seen : await ask(what);
      if (plan) await this.#try(() => this.app.api.post(path, { to: turnId, what, plan: plan.plan }), "Taken back");
      this.conversation.hear("gap");
    } }, name);
    const asked = this.conversation.saidFirst(turnId);
    this.#dialog("Take back this turn and what followed",
      asked ? el("blockquote", {}, asked) : "",
      el("p", {}, `${many(changed.length, "file")} would be as before; ${many(messages, "message")} would no longer count. Nothing is deleted from the log.`),
      conflicts.length ? el("p", { class: "error" }, `Changed by others since: ${conflicts.map((one) => one.path ?? one).join(", ")}`) : "",
      unrestored.length ? el("p", { class: "error" }, `Cannot be brought back: ${unrestored.map((one) => one.path ?? one).join(", ")}`) : "",
      files, el("div", { class: "row" }, go("both", "Both"), go("files", "Files only"), go("conversation", "Conversation only")));
  }

  /** A file of the daemon's making. */
  async #export(format) {
    const bytes = await this.#try(async () => (await this.app.api.raw(`${this.conversation.path}/export?format=${format}`)).blob());
    if (bytes) this.#save(bytes, EXPORTS[format][1]);
  }

  /** The messages alone, for programs. */
  async #exportJson() {
    const all = [];
    let before = "";
    for (;;) {
      const page = await this.#try(() => this.app.api.get(`${this.conversation.path}/messages?limit=1000${before}`));
      if (!page) return;
      all.unshift(...page.messages);
      if (!page.has_more) break;
      before = `&before=${page.messages[0].id}`;
    }
    this.#save(new Blob([JSON.stringify({ session: this.conversation.session, messages: all }, null, 2)]), "json");
  }

  #save(bytes, ending) {
    const url = URL.createObjectURL(bytes);
    el("a", { href: url, download: `${this.conversation.id}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  #dialog(name, ...content) {
    const dialog = $("dialog");
    fill(dialog, el("h2", {}, name), content, el("p", { class: "closing" }, el("button", { type: "button", onclick: () => dialog.close() }, "Close")));
    dialog.setAttribute("aria-label", name);
    dialog.showModal();
  }
}
