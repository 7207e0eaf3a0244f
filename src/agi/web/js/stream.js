// Text that grows: what is finished is HTML from the server, the open rest is a text node, drawn once a frame.

import { el, framed, parsed } from "./dom.js";

const PAUSE = 250;
const NODE = 2000; // characters

export class LiveText {
  #closed = 0;
  #drawn = 0;
  #asking = false;
  #final = false;
  #rewound = 0;

  constructor(api, text = "") {
    this.api = api;
    this.text = text;
    this.rest = document.createTextNode("");
    this.done = el("div", { class: "closed" });
    this.open = el("div", { class: "open" }, this.rest);
    this.node = el("div", { class: "prose", aria: { busy: "true" } }, this.done, this.open);
    this.draw = framed(() => this.#draw());
    this.draw();
  }

  /** The text as it is now; it only grows, unless a part of it was told again (`rewound` says how often). */
  set(text, rewound = 0) {
    if (rewound !== this.#rewound) [this.#rewound, this.#drawn] = [rewound, -1];
    this.text = text;
    this.draw();
  }

  #draw() {
    if (this.#final) return;
    if (this.#drawn < this.#closed) this.open.replaceChildren(this.rest = document.createTextNode(this.text.slice(this.#closed)));
    else if (this.text.length > this.#drawn) this.#append(this.text.slice(this.#drawn));
    this.#drawn = this.text.length;
    if (!this.#asking && this.text.indexOf("\n\n", this.#closed) > 0) this.#close();
  }

  /** A browser shapes a whole text node again when it grows; those that are full are left alone. */
  #append(text) {
    if (this.rest.length > NODE) this.open.append(this.rest = document.createTextNode(text));
    else this.rest.appendData(text);
  }

  /** Have the finished blocks rendered, a few times a second at most. */
  async #close() {
    this.#asking = true;
    const from = this.#closed;
    try {
      const { html, closed } = await this.api.post("/v1/render", { text: this.text.slice(from), growing: true });
      if (closed && from === this.#closed && !this.#final) {
        this.done.append(parsed(html, this.api.picture));
        this.#closed += closed;
        this.#drawn = -1;
        this.draw();
      }
    } catch { /* it stays text for now */ }
    setTimeout(() => { this.#asking = false; if (!this.#final) this.draw(); }, PAUSE);
  }

  /** The text is whole: rendered once more as one, since a later line can change what an earlier one means. */
  async finish(text = this.text) {
    if (this.#final) return;
    this.text = text;
    this.#draw();
    this.#final = true;
    this.node.removeAttribute("aria-busy");
    if (text.trim()) await this.#whole(text);
  }

  async #whole(text) {
    try {
      const { html } = await this.api.post("/v1/render", { text });
      this.done.replaceChildren(parsed(html, this.api.picture));
      this.open.remove();
    } catch (error) { // it stays text until the daemon is there again
      if (!error.status) this.api.addEventListener("connection", () => this.#whole(text), { once: true });
    }
  }
}
