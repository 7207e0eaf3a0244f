// Files for the next message: dropped, pasted or chosen; stored with the session, shown small until they are sent.

import { el, fill } from "./dom.js";

const LARGEST = 20 * 1024 * 1024;

export class Attachments {
  parts = [];

  constructor(app, sessionId, changed) {
    Object.assign(this, { app, sessionId, changed });
    this.node = el("ul", { class: "attachments", hidden: true, aria: { label: "Attached files" } });
    this.chooser = el("input", { type: "file", multiple: true, hidden: true, onchange: () => { this.add(this.chooser.files); this.chooser.value = ""; } });
  }

  /** Take files from a drop or a paste; says whether there were any. */
  take(transfer) {
    const files = [...(transfer?.files ?? [])];
    if (files.length) this.add(files);
    return files.length > 0;
  }

  /** Store files one after the other; all of them count as being stored from the start, so that none is left behind. */
  async add(files) {
    // The chooser's own list is emptied while the first one is on its way.
    const entries = [...files].map((file) => ({ file, state: "loading", part: null, error: "" }));
    this.parts.push(...entries);
    this.#show();
    for (const entry of entries) {
      if (this.parts.includes(entry)) await this.#store(entry);
    }
  }

  async #store(entry) {
    const { file } = entry;
    try {
      if (file.size > LARGEST) throw Object.assign(new Error("It is larger than 20 MiB."), { hint: "" });
      const id = await this.sessionId();
      const stored = await this.app.api.upload(`/v1/sessions/${id}/attachments`, file);
      const kind = stored.mime_type.split("/")[0];
      const type = kind === "image" || kind === "audio" ? kind : "file";
      Object.assign(entry, { state: "stored", part: { type, ref: stored.ref, mime_type: stored.mime_type, name: file.name || stored.filename } });
      this.app.say(`${file.name || "Picture"} attached`);
    } catch (error) {
      Object.assign(entry, { state: "failed", error: `${error.message} ${error.hint ?? ""}` });
    }
    this.#show();
  }

  /** What goes with the message. */
  get ready() { return this.parts.filter((one) => one.part).map((one) => one.part); }
  get isLoading() { return this.parts.some((one) => one.state === "loading"); }

  /** These go now; what is attached from here on goes with the next message. */
  hold() {
    const held = this.parts;
    this.parts = [];
    this.#show();
    return held;
  }

  putBack(held) {
    this.parts = [...held, ...this.parts];
    this.#show();
  }

  #show() {
    this.node.hidden = !this.parts.length;
    fill(this.node, this.parts.map((one) => this.#chip(one)));
    this.changed();
  }

  #chip(one) {
    const name = one.file.name || "pasted picture";
    const isPicture = /^image\/(png|jpeg|gif|webp)$/.test(one.file.type);
    if (isPicture) one.thumb ??= thumbnail(one.file);
    return el("li", { class: "chip", data: { state: one.state } },
      one.thumb ?? "",
      el("span", {}, name, one.state === "loading" ? " (being stored …)" : ""),
      one.error ? el("span", { class: "error" }, one.error) : "",
      el("button", { type: "button", class: "quiet", aria: { label: `Remove ${name}` }, onclick: () => { this.parts = this.parts.filter((other) => other !== one); this.#show(); } }, "×"));
  }
}

/** Made once and shown again: its address is given back when it was read, and not while it is being read. */
function thumbnail(file) {
  const url = URL.createObjectURL(file);
  const done = () => URL.revokeObjectURL(url);
  return el("img", { class: "thumb", src: url, alt: "", onload: done, onerror: done });
}
