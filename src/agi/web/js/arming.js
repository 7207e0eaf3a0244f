// When an answer counts. What allows something: half a second after the end of what is asked was on screen. What refuses it: half a
// second after it appeared. Neither within half a second of the window getting the focus, and none while another is on its way.

import { el } from "./dom.js";

const WAIT = 500;
let focusedAt = 0;
globalThis.addEventListener("focus", () => { focusedAt = Date.now(); });

export class Arming {
  #since = Date.now();
  #seen = false;
  #sending = false;

  /** `card` says in `data-ready` whether it can be allowed; the end of `asked` must have been seen; `guarded` are the buttons that allow. */
  constructor(card, asked, guarded) {
    Object.assign(this, { card, guarded });
    this.#show();
    const end = el("span", { class: "end" });
    asked.append(end);
    let timer = 0;
    const watcher = new IntersectionObserver((seen) => {
      clearTimeout(timer);
      if (!seen.at(-1).isIntersecting) return;
      timer = setTimeout(() => { watcher.disconnect(); this.#seen = true; this.#show(); }, WAIT);
    }, { threshold: 1 });
    watcher.observe(end);
  }

  mayAnswer(allows) {
    const counts = allows ? this.#seen : Date.now() - this.#since > WAIT;
    return counts && !this.#sending && Date.now() - focusedAt >= WAIT;
  }

  /** Send an answer; if that fails, it is as if it had not been tried. */
  async send(work) {
    this.#sending = true;
    this.#show();
    try { return await work(); } finally { this.#sending = false; this.#show(); }
  }

  #show() {
    const ready = this.#seen && !this.#sending;
    this.card.dataset.ready = ready ? "yes" : "no";
    for (const button of this.guarded) ready ? button.removeAttribute("aria-disabled") : button.setAttribute("aria-disabled", "true");
  }
}
