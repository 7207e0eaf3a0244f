// The conversation on screen: a window of at most 300 rows over all that are known, pinned to the end until somebody scrolls.

import { el, framed } from "./dom.js";

const MOST = 300;
const STEP = 60;
const NEAR = 40;

export class Transcript {
  start = 0;
  end = 0;
  pinned = true;
  fresh = 0;
  #nodes = new Map();
  #loading = false;
  #touched = 0;

  constructor(conversation, drawing) {
    Object.assign(this, { conversation, drawing });
    this.list = el("div", { class: "rows", role: "feed", aria: { label: "Conversation" } });
    this.pill = el("button", { type: "button", class: "pill", hidden: true, onclick: () => this.toEnd() });
    this.words = el("p", { class: "empty late" }, "Opening …");
    this.box = el("div", { class: "transcript", tabindex: 0, aria: { label: "Conversation" } }, this.words, this.list);
    this.node = el("div", { class: "transcript-frame" }, this.box, this.pill);
    this.draw = framed(() => this.#draw());
    this.box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) this.box.addEventListener(kind, () => { this.#touched = Date.now(); }, { passive: true });
    this.observer = new ResizeObserver(() => { if (this.pinned) this.#bottom(); });
    this.observer.observe(this.list);
    this.observer.observe(this.box);
  }

  close() { this.observer.disconnect(); }

  /** Rows were added, or all are new. */
  rows({ all = false, added = 0 } = {}) {
    if (all) {
      this.#nodes.clear();
      this.list.replaceChildren();
      this.words.textContent = "Nothing was said yet.";
      this.end = this.conversation.rows.length;
      this.start = Math.max(0, this.end - STEP);
      this.pinned = true;
      this.fresh = 0;
    } else if (this.pinned) {
      this.end = this.conversation.rows.length;
      this.start = Math.max(this.start, this.end - MOST);
    } else {
      this.fresh += added;
      if (this.end - this.start < MOST) this.end = Math.min(this.conversation.rows.length, this.start + MOST);
    }
    this.draw();
  }

  /** One row looks different now. */
  row(row) {
    const old = this.#nodes.get(row.id);
    if (!old) return;
    const at = this.conversation.rows.indexOf(row);
    const focused = old.contains(document.activeElement) ? document.activeElement : null; // cards are taken over from the old node
    const node = this.drawing.row(row, this.conversation.rows[at - 1]);
    old.replaceWith(node);
    this.#nodes.set(row.id, node);
    this.#place(node, at);
    if (focused) this.#refocus(node, focused);
  }

  #draw() {
    const shown = this.conversation.rows.slice(this.start, this.end);
    const keep = new Set(shown.map((row) => row.id));
    for (const [id, node] of this.#nodes) if (!keep.has(id)) { node.remove(); this.#nodes.delete(id); }
    let at = this.list.firstChild;
    shown.forEach((row, index) => {
      let node = this.#nodes.get(row.id);
      if (!node) {
        node = this.drawing.row(row, shown[index - 1] ?? this.conversation.rows[this.start - 1]);
        this.#nodes.set(row.id, node);
        this.list.insertBefore(node, at);
      } else if (node === at) at = at.nextSibling;
      else this.list.insertBefore(node, at);
      this.#place(node, this.start + index);
    });
    if (this.words.hidden !== shown.length > 0) this.words.hidden = shown.length > 0;
    if (this.pinned) this.#bottom();
    this.#showPill();
  }

  /** Which of how many it is, as far as that is known. */
  #place(node, at) {
    const [place, all] = [String(at + 1), this.conversation.hasMore ? "-1" : String(this.conversation.rows.length)];
    if (node.getAttribute("aria-posinset") !== place) node.setAttribute("aria-posinset", place);
    if (node.getAttribute("aria-setsize") !== all) node.setAttribute("aria-setsize", all);
  }

  /** Drawing a row again leaves the focus where it was: on the same card, the button of the same name, or the row. */
  #refocus(node, focused) {
    const name = focused.getAttribute("aria-label");
    const same = focused.isConnected ? focused : [...node.querySelectorAll("button")].find((one) => name && one.getAttribute("aria-label") === name) ?? node;
    if (same === node) node.tabIndex = -1;
    same.focus({ preventScroll: true });
  }

  #bottom() { this.box.scrollTop = this.box.scrollHeight; }

  #showPill() {
    const words = this.fresh ? `${this.fresh} new ↓` : "To the end ↓";
    if (this.pill.hidden !== this.pinned) this.pill.hidden = this.pinned;
    if (this.pill.textContent !== words) this.pill.textContent = words;
  }

  toEnd() {
    this.pinned = true;
    this.fresh = 0;
    this.end = this.conversation.rows.length;
    this.start = Math.max(0, this.end - STEP);
    this.draw();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    const left = scrollHeight - scrollTop - clientHeight;
    const atEnd = this.end >= this.conversation.rows.length;
    const byHand = Date.now() - this.#touched < 1500;
    if (left <= NEAR && atEnd) { this.pinned = true; this.fresh = 0; } else if (byHand) this.pinned = false;
    if (scrollTop < 800 && !this.pinned) this.#backwards();
    if (left < 800 && !atEnd && !this.pinned) this.#move(() => { this.end = Math.min(this.conversation.rows.length, this.end + STEP); this.start = Math.max(this.start, this.end - MOST); });
    this.#showPill();
  }

  async #backwards() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      if (this.start < STEP && this.conversation.hasMore) {
        const came = await this.conversation.older();
        this.start += came;
        this.end += came;
      }
      if (this.start > 0) this.#move(() => { this.start = Math.max(0, this.start - STEP); this.end = Math.min(this.end, this.start + MOST); });
    } finally {
      this.#loading = false;
    }
  }

  /** Change the window and keep what is being looked at where it is. */
  #move(change) {
    const top = this.box.getBoundingClientRect().top;
    const anchor = [...this.list.children].find((node) => node.getBoundingClientRect().bottom > top);
    const before = anchor?.getBoundingClientRect().top;
    change();
    this.#draw();
    if (anchor?.isConnected) this.box.scrollTop += anchor.getBoundingClientRect().top - before;
  }

  /** The next or previous turn's heading gets the focus. */
  step(by) {
    const stops = [...this.list.querySelectorAll("article:not(.follows)")];
    const top = this.box.getBoundingClientRect().top;
    const at = stops.findIndex((node) => node.getBoundingClientRect().bottom > top + 8);
    const next = stops[Math.max(0, Math.min(stops.length - 1, at + by))];
    if (!next) return;
    this.#touched = Date.now();
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
  }

  foldAll() {
    const cards = [...this.list.querySelectorAll("details.call")];
    const open = cards.some((node) => !node.open);
    for (const node of cards) node.open = open;
  }
}
