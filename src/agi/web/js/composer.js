// Where one writes. Enter sends (on a touch screen it is a new line); while a turn runs it queues; drafts are kept per session.

import { el, fill } from "./dom.js";
import { Attachments } from "./attach.js";

const touch = () => matchMedia("(pointer: coarse)").matches;

export class Composer {
  #stopAt = 0;
  #unsent = ""; // what is on its way
  #next = "";   // how what is in the box is to be sent then

  /** `send(parts, mode)` and `stop()` are the view's; `sessionId()` gives where files are stored. */
  constructor(app, key, { send, stop, sessionId }) {
    Object.assign(this, { app, key: `agi.draft.${key}`, send, stop });
    this.box = el("textarea", { id: "message", rows: 1, placeholder: "Message", aria: { label: "Message", describedby: "hint" }, value: localStorage.getItem(this.key) ?? "", enterKeyHint: touch() ? "enter" : "send" });
    this.files = new Attachments(app, sessionId, () => this.show());
    this.sendButton = el("button", { type: "button", class: "primary", onclick: () => this.submit("queue") });
    this.steerButton = el("button", { type: "button", hidden: true, title: "Taken up at the next step (Ctrl+S)", onclick: () => this.submit("steer") }, "Steer");
    this.stopButton = el("button", { type: "button", hidden: true, title: "Stop the running turn (Esc Esc)", onclick: () => this.stop() }, "Stop");
    this.interruptButton = el("button", { type: "button", hidden: true, title: "Stops the running turn, and is answered now", onclick: () => this.submit("interrupt") }, "Interrupt");
    this.problem = el("div", { role: "alert" });
    this.hint = el("span", { id: "hint", class: "faint" });
    const attach = el("button", { type: "button", class: "quiet", aria: { label: "Attach files" }, onclick: () => this.files.chooser.click() }, "+");
    this.node = el("div", { class: "composer" }, this.problem, this.files.node, this.files.chooser,
      el("div", { class: "composer-row" }, attach, this.box, this.steerButton, this.interruptButton, this.sendButton, this.stopButton), this.hint);
    this.box.addEventListener("input", () => { this.#grow(); this.#keep(); this.show(); });
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.box.addEventListener("paste", (event) => { if (this.files.take(event.clipboardData)) event.preventDefault(); });
    this.show({ busy: false });
    requestAnimationFrame(() => this.#grow());
  }

  /** What the buttons say they will do. */
  show({ busy = this.busy } = {}) {
    this.busy = busy;
    const empty = !this.box.value.trim() && !this.files.ready.length;
    fill(this.sendButton, busy ? "Queue" : "Send");
    this.sendButton.disabled = empty || this.files.isLoading;
    this.steerButton.hidden = this.interruptButton.hidden = !busy || empty;
    this.stopButton.hidden = !busy;
    this.hint.dataset.sending = this.sending ? "yes" : "no";
    this.hint.textContent = this.sending ? "Sending …" : touch() ? "" : busy ? "Enter queues · Ctrl+S steers · Esc Esc stops" : "Enter sends · Shift+Enter: new line · drop or paste files";
  }

  /** What was said leaves the box at once, so that what is written next is another message; if it cannot be sent, it comes back. */
  async submit(mode) {
    if (this.sending) { this.#next = mode; return; } // it goes when the one before it has gone
    const text = this.box.value;
    const parts = [...(text.trim() ? [{ type: "text", text }] : []), ...this.files.ready];
    if (!parts.length || this.files.isLoading) return;
    const files = this.files.hold();
    this.sending = true;
    this.#unsent = text;
    this.#next = "";
    this.#write("");
    fill(this.problem);
    const sent = await this.send(parts, this.busy ? mode : "queue").then(() => true, (error) => this.#back(text, files, error));
    this.sending = false;
    this.#unsent = "";
    this.#write(this.box.value);
    if (sent && this.#next) this.submit(this.#next);
  }

  #back(text, files, error) {
    fill(this.problem, this.app.failure(error));
    if (error.code === "unreachable") this.#untilBack();
    this.files.putBack(files);
    this.box.value = [text, this.box.value].filter(Boolean).join("\n\n");
    return false;
  }

  /** That nobody answers is true until somebody does. */
  #untilBack() {
    const { api } = this.app;
    const heard = () => {
      if (!api.connection.up) return;
      api.removeEventListener("connection", heard);
      fill(this.problem);
    };
    api.addEventListener("connection", heard);
  }

  #write(text) {
    if (this.box.value !== text) this.box.value = text;
    this.#grow();
    this.#keep();
    this.show();
  }

  #key(event) {
    if (event.isComposing) return;
    const control = event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && (control || (!event.shiftKey && !event.altKey && !touch()))) {
      event.preventDefault();
      this.submit("queue");
    } else if (control && event.key === "j") {
      event.preventDefault();
      this.box.setRangeText("\n", this.box.selectionStart, this.box.selectionEnd, "end");
      this.box.dispatchEvent(new Event("input"));
    } else if (control && event.key === "s") {
      event.preventDefault();
      this.submit("steer");
    }
  }

  /** Escape twice within a second stops; says so the first time. */
  escape() {
    if (!this.busy) return;
    if (Date.now() - this.#stopAt < 1000) { this.#stopAt = 0; this.stop(); return; }
    this.#stopAt = Date.now();
    this.hint.textContent = "Esc again to stop";
    this.app.say("Escape again to stop");
  }

  #keep() {
    const text = [this.#unsent, this.box.value].filter(Boolean).join("\n\n");
    if (text) localStorage.setItem(this.key, text);
    else localStorage.removeItem(this.key);
  }

  #grow() {
    this.box.rows = Math.min(12, Math.max(1, this.box.value.split("\n").length));
  }
}
