// What was said and done in any session, by its words: asked for when typing pauses, shown below the sessions that fit.

import { el } from "./dom.js";
import { ago } from "./status.js";

const PAUSE = 250;
const SHORTEST = 3;

export class Search {
  #timer = 0;
  #asked = "";

  /** `hear()` is called when there is something else to show. */
  constructor(app, hear) {
    Object.assign(this, { app, hear, hits: [] });
  }

  /** Look for these words, unless others follow soon. */
  look(text) {
    clearTimeout(this.#timer);
    const words = text.trim();
    if (words.length < SHORTEST) { this.#asked = ""; this.hits = []; return; }
    this.#timer = setTimeout(() => this.#ask(words), PAUSE);
  }

  async #ask(words) {
    this.#asked = words;
    let hits = [];
    try { hits = (await this.app.api.get(`/v1/search?limit=10&q=${encodeURIComponent(words)}`)).hits; } catch { /* half a phrase is no search yet */ }
    if (this.#asked !== words) return; // something else is asked for by now
    this.hits = hits;
    this.hear();
  }

  nodes() {
    if (!this.hits.length) return [];
    return [el("h2", { class: "group" }, "Said and done"), ...this.hits.map((hit) => el("div", { role: "listitem" },
      el("a", { class: "session", href: `#/s/${hit.session_id}` },
        el("span", { class: "name" }, hit.title || "untitled"),
        el("span", { class: "small hit" }, ...marked(hit)),
        el("span", { class: "faint small hit" }, [hit.tool ?? hit.role ?? hit.kind, ago(hit.ts)].join(" · ")))))];
  }
}

function marked({ snippet, marks }) {
  const letters = [...snippet];
  const parts = [];
  let at = 0;
  for (const [start, end] of marks) {
    parts.push(letters.slice(at, start).join(""), el("mark", {}, letters.slice(start, end).join("")));
    at = end;
  }
  return [...parts, letters.slice(at).join("")];
}
