// The list of sessions: kept current by one stream, waiting ones first, filtered as one types.

import { $, arrange, el, fill, framed } from "./dom.js";
import { Search } from "./search.js";
import { ago, statusNode, statusOf } from "./status.js";

const SHOWN = 200;
const ALIVE = new Set(["queued", "backing_off"]); // they go on by themselves, as those that run
const WHOLE = 8; // letters and digits of an id; fewer are in nearly every one
const TICK = 20_000; // how long ago something was is told anew
const GROUPS = [["waiting", "Waiting for you"], ["running", "Running"], ["today", "Today"], ["before", "Earlier"]];

export function mount(root, app) {
  const rows = app.state.sessions;
  const filter = el("input", { type: "search", placeholder: "Search sessions", aria: { label: "Search sessions" }, id: "filter", autocomplete: "off" });
  const found = el("div", { class: "sessions", role: "list", aria: { label: "Sessions" } });
  const count = el("p", { class: "unseen", role: "status" });
  fill(root,
    el("div", { class: "list-head" },
      el("a", { class: "button primary-link", href: "#/new" }, "+ New session"),
      filter),
    found, count);
  const nodes = new Map();
  const headings = Object.fromEntries(GROUPS.map(([kind, name]) => [kind, el("h2", { class: "group" }, name)]));
  let shownWaiting = 0;
  const draw = framed(() => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = [...rows.values()].filter((row) => fits(row, words));
    const groups = grouped(fitting);
    const parts = [];
    for (const [kind] of GROUPS) {
      if (!groups[kind]?.length) continue;
      parts.push(headings[kind]);
      for (const row of groups[kind].slice(0, SHOWN)) parts.push(item(row, nodes, app));
    }
    parts.push(...search.nodes());
    if (!parts.length) parts.push(el("p", { class: "empty" }, words.length ? "Nothing fits." : "No sessions yet."));
    arrange(found, parts);
    const waiting = [...rows.values()].reduce((sum, row) => sum + (row.waiting ?? 0), 0);
    if (waiting === shownWaiting) return;
    shownWaiting = waiting;
    $("waiting").hidden = !waiting;
    fill($("waiting"), String(waiting), el("span", { class: "unseen" }, " waiting for you"));
  });
  const search = new Search(app, draw);
  // Others hear of it at once, once for all that came together: a tab nobody looks at draws nothing, but must not fall behind.
  let telling = false;
  const tell = () => {
    if (telling) return;
    telling = true;
    queueMicrotask(() => { telling = false; app.state.onRows?.forEach((hear) => hear()); });
  };
  filter.addEventListener("input", () => { search.look(filter.value); draw(); count.textContent = ""; });
  filter.addEventListener("change", () => { count.textContent = `${found.querySelectorAll("a").length} sessions`; });
  const arrows = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const links = [...found.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    (links[at + step] ?? (step < 0 ? filter : links.at(-1)))?.focus();
    event.preventDefault();
  };
  root.addEventListener("keydown", arrows);
  globalThis.addEventListener("hashchange", draw);
  const stream = app.api.follow("", (type, data) => {
    if (type === "snapshot") {
      rows.clear();
      for (const row of data.sessions) rows.set(row.id, row);
    } else if (type === "session") {
      tellChange(rows.get(data.id), data, app);
      rows.delete(data.id);
      rows.set(data.id, data);
    } else if (type === "removed") {
      rows.delete(data.id);
      nodes.delete(data.id);
    } else if (type === "refused") {
      fill(found, app.failure(data));
      return;
    }
    draw();
    tell();
  });
  const tick = setInterval(draw, TICK);
  return () => { stream.close(); clearInterval(tick); globalThis.removeEventListener("hashchange", draw); };
}

function fits(row, words) {
  if (row.kind === "worker") return false;
  const text = `${row.title ?? ""} ${row.agent} ${row.role ?? ""} ${row.project_path} ${statusOf(row).word}`.toLowerCase();
  return words.every((word) => text.includes(word) || (word.length >= WHOLE && row.id.includes(word)));
}

function grouped(rows) {
  const day = new Date().toDateString();
  const groups = {};
  for (const row of rows.sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))) {
    const kind = statusOf(row).kind;
    const group = kind === "waiting" ? kind : kind === "running" || ALIVE.has(row.activity) ? "running" : new Date(row.updated_at).toDateString() === day ? "today" : "before";
    (groups[group] ??= []).push(row);
  }
  return groups;
}

/** A row's node is made anew only when it looks different now. */
function item(row, nodes, app) {
  const chosen = app.route[0] === "s" && app.route[1] === row.id;
  const known = nodes.get(row.id);
  const age = ago(row.updated_at);
  const looks = JSON.stringify([row.title, statusOf(row).word, row.role || row.agent, age, chosen]);
  if (known?.looks === looks) return known.node;
  const node = el("div", { role: "listitem" },
    el("a", { class: "session", href: `#/s/${row.id}`, aria: chosen ? { current: "page" } : {} },
      el("span", { class: "name", title: row.title ?? "" }, row.title || "untitled"),
      el("span", { class: "row small" }, statusNode(row), el("span", {}, row.role || row.agent), el("span", {}, age))));
  nodes.set(row.id, { looks, node });
  return node;
}

/** A session elsewhere that now needs somebody, or has finished, is said once. */
function tellChange(before, after, app) {
  if (!before || app.route[1] === after.id) return;
  const now = statusOf(after);
  if (now.word !== statusOf(before).word && ["waiting", "failed"].includes(now.kind)) app.say(`${after.title || "A session"}: ${now.word}`);
}
