// What waits in line: each message can be edited, steered into the running turn, or dropped.

import { visible } from "./cards.js";
import { el, fill } from "./dom.js";

export class Queue {
  constructor(app, conversation) {
    Object.assign(this, { app, conversation });
    this.node = el("ul", { class: "queue", hidden: true, aria: { label: "Messages that wait" } });
  }

  show(queue) {
    this.node.hidden = !queue.length;
    const key = JSON.stringify([queue, queue.map((one) => this.conversation.waiting.get(one.message_id)?.parts)]);
    if (key === this.drawn || this.node.querySelector("textarea")) return;
    this.drawn = key;
    fill(this.node, queue.map((one) => this.#row(one)));
  }

  #row(one) {
    const message = this.conversation.waiting.get(one.message_id);
    const text = (message?.parts ?? []).map((part) => part.text ?? `[${visible(part.name ?? "file")}]`).join(" ");
    const path = `${this.conversation.path}/queue/${one.message_id}`;
    const act = (work) => async () => {
      try { await work(); } catch (error) { this.app.warn(`${error.message} ${error.hint}`); fill(problem, this.app.failure(error)); }
      this.conversation.refresh();
    };
    const problem = el("div", {});
    const row = el("li", { class: "row" },
      el("span", { class: "status" }, one.mode === "steer" ? "◌ steers at the next step" : "◌ queued"),
      el("span", { class: "grow said-short" }, text),
      one.retry_of || !message ? "" : el("button", { type: "button", class: "quiet", onclick: () => this.#edit(row, path, message.parts) }, "Edit"),
      one.mode === "steer" ? "" : el("button", { type: "button", class: "quiet", onclick: act(() => this.app.api.post(`${path}/steer`)) }, "Steer now"),
      el("button", { type: "button", class: "quiet", aria: { label: `Drop: ${text.slice(0, 60)}` }, onclick: act(() => this.app.api.del(path)) }, "×"),
      problem);
    return row;
  }

  /** Its text alone; the files that go with it stay. */
  #edit(row, path, parts) {
    const isText = (part) => part.type === "text";
    const text = parts.filter(isText).map((part) => part.text).join("\n\n");
    const files = parts.filter((part) => !isText(part));
    const box = el("textarea", { value: text, rows: 3, aria: { label: "The message that waits" } });
    const done = () => { this.drawn = ""; row.remove(); box.remove(); this.conversation.refresh(); };
    const save = async () => {
      try { await this.app.api.patch(path, { parts: [...(box.value.trim() || !files.length ? [{ type: "text", text: box.value }] : []), ...files] }); done(); } catch (error) { row.append(this.app.failure(error)); }
    };
    fill(row, box, files.length ? el("span", { class: "faint" }, `with ${files.map((part) => visible(part.name || "a file")).join(", ")}`) : "", el("button", { type: "button", class: "primary", onclick: save }, "Save"), el("button", { type: "button", onclick: done }, "Leave it"));
    box.focus();
  }
}
