// All projects and agents at a glance: who works for whom, what it costs, and whether the daemon is well.

import { el, fill, framed } from "./dom.js";
import { bars, cost, gauge, table, tokens } from "./charts.js";
import { ago, money, statusNode, statusOf } from "./status.js";

const SPANS = [[7, "7 days"], [30, "30 days"], [90, "90 days"]];
const LIVE = new Set(["running", "waiting"]);
const SHOWN = 60;
const PAUSE = 2000; // usage is asked for again at most this often, and only when something changed

export function mount(root, app) {
  app.title("Dashboard");
  let span = 30, timer = 0, asked = 0, gone = false;
  const places = {};
  for (const name of ["now", "tree", "usage", "health"]) places[name] = el("section", { class: "card tile" }, el("p", { class: "muted late" }, "Looking …"));
  for (const name of ["tree", "usage"]) places[name].classList.add("wide");
  fill(root, el("div", { class: "view" }, el("h1", {}, "Dashboard"), el("div", { class: "tiles" }, places.now, places.health, places.tree, places.usage)));

  const drawRows = framed(() => {
    if (gone) return;
    const rows = [...app.state.sessions.values()];
    fill(places.now, now(rows));
    keepFocus(places.tree, () => fill(places.tree, tree(rows)));
  });
  const askUsage = async () => {
    timer = 0;
    asked = Date.now();
    try {
      const told = await app.api.get(`/v1/usage?days=${span}&utc_offset=${-new Date().getTimezoneOffset()}`);
      if (!gone) keepFocus(places.usage, () => fill(places.usage, usage(told, span, choose)));
    } catch (error) {
      if (!gone) fill(places.usage, el("h2", {}, "Usage"), app.failure(error));
    }
  };
  const choose = (days) => { span = days; clearTimeout(timer); askUsage(); };
  const heard = () => {
    drawRows();
    if (!timer && !gone) timer = setTimeout(askUsage, Math.max(0, asked + PAUSE - Date.now()));
  };
  const askHealth = async () => {
    try {
      const told = await app.api.get("/v1/health");
      if (!gone) fill(places.health, health(told, app));
    } catch (error) {
      if (!gone) fill(places.health, el("h2", {}, "Health"), app.failure(error));
    }
  };
  (app.state.onRows ??= new Set()).add(heard);
  app.api.addEventListener("connection", askHealth);
  drawRows();
  askUsage();
  askHealth();
  const tick = setInterval(drawRows, 10_000);
  return () => {
    gone = true;
    clearTimeout(timer);
    clearInterval(tick);
    app.state.onRows.delete(heard);
    app.api.removeEventListener("connection", askHealth);
  };
}

/** Draw again without taking the focus away from what has the same key, nor closing what was opened. */
function keepFocus(node, draw) {
  const key = node.contains(document.activeElement) ? document.activeElement.dataset.key ?? document.activeElement.getAttribute("href") : null;
  const open = [...node.querySelectorAll("details")].map((one) => one.open);
  draw();
  [...node.querySelectorAll("details")].forEach((one, at) => { one.open = open[at] ?? false; });
  if (key) [...node.querySelectorAll("a, button")].find((one) => (one.dataset.key ?? one.getAttribute("href")) === key)?.focus();
}

function now(rows) {
  const kinds = rows.map((row) => statusOf(row).kind);
  const waiting = rows.reduce((sum, row) => sum + row.waiting, 0);
  const figure = (name, value, href) => el("div", {}, el("dt", {}, name), el("dd", {}, href ? el("a", { href }, String(value)) : String(value)));
  return [
    el("h2", {}, "Now"),
    el("dl", { class: "figures" },
      figure("Running", kinds.filter((kind) => kind === "running").length),
      figure("Waiting for you", waiting, waiting ? "#/inbox" : ""),
      figure("Workers and drafts", rows.filter((row) => row.kind !== "session" && row.is_open).length),
      figure("Queued messages", rows.reduce((sum, row) => sum + row.queued, 0)),
      figure("Background jobs", rows.reduce((sum, row) => sum + row.jobs, 0)),
      figure("Failed", rows.filter((row) => row.status === "failed").length),
      figure("Sessions", rows.length)),
  ];
}

/** Projects, in them the sessions that live or were touched last, below each those that work for it. */
function tree(rows) {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const below = new Map();
  for (const row of rows) {
    if (byId.has(row.parent_id)) below.set(row.parent_id, [...(below.get(row.parent_id) ?? []), row]);
  }
  const tops = new Map();
  const shown = rows.filter((row) => !byId.has(row.parent_id)).sort(byTime);
  let left = SHOWN;
  for (const row of [...shown.filter(isAlive), ...shown.filter((one) => !isAlive(one))]) {
    if (left-- <= 0) break;
    tops.set(row.project_path, [...(tops.get(row.project_path) ?? []), row]);
  }
  if (!tops.size) return [el("h2", {}, "Projects and agents"), el("p", { class: "empty" }, "No sessions yet. ", el("a", { href: "#/new" }, "Begin one"), ".")];
  return [
    el("h2", {}, "Projects and agents"),
    [...tops].map(([project, sessions]) => el("div", {},
      el("h3", { class: "muted" }, shorter(project)),
      el("ul", { class: "tree", aria: { label: `Sessions in ${project}` } }, sessions.map((row) => branch(row, below, 0))))),
    shown.length > SHOWN ? el("p", { class: "faint" }, `${shown.length - SHOWN} older sessions are in the list of sessions.`) : null,
  ];

  function branch(row, children, depth) {
    const own = depth < 8 ? (children.get(row.id) ?? []).sort((a, b) => (a.created_at < b.created_at ? -1 : 1)) : [];
    const role = row.kind === "session" ? null : el("span", { class: "role" }, `${row.role || row.agent} `);
    const kind = row.kind === "session" ? "" : row.kind;
    return el("li", {},
      el("div", { class: "line" },
        el("span", { class: "name" }, role, el("a", { href: `#/s/${row.id}` }, row.title || row.task_slug || "Untitled"), kind ? el("span", { class: "faint" }, ` ${kind}`) : null),
        statusNode(row),
        row.waiting ? el("a", { href: "#/inbox", class: "badge", aria: { label: `${row.waiting} waiting for you` } }, String(row.waiting)) : null,
        gauge(row.context_percent),
        el("span", { class: "small number" }, `${tokens(row.usage.input_tokens + row.usage.output_tokens)} tokens`),
        el("span", { class: "small number" }, row.usage.requests ? (row.usage.cost_usd === null ? "cost ?" : money(row.usage.cost_usd)) : ""),
        el("span", { class: "small" }, `${ago(row.updated_at)} ago`)),
      own.length ? el("ul", {}, own.map((one) => branch(one, children, depth + 1))) : null);
  }
}

const isAlive = (row) => LIVE.has(statusOf(row).kind) || row.is_open;
const byTime = (a, b) => (a.updated_at > b.updated_at ? -1 : 1);
const shorter = (path) => path.split("/").slice(-2).join("/");

function usage(told, span, choose) {
  const total = told.total;
  const days = everyDay(told, span);
  const point = (day) => ({ label: day.day.slice(5), value: day.priced_usd ?? 0, known: !day.unpriced, shown: `${cost(day)}, ${tokens(day.input_tokens + day.output_tokens)} tokens`, cells: cells(day, day.day) });
  const talk = (day) => ({ ...point(day), value: day.input_tokens + day.output_tokens, known: true });
  const anyPrice = days.some((day) => day.priced_usd > 0);
  // Bars are of cost where a price is known, else of tokens.
  const size = (one) => (anyPrice ? one.priced_usd ?? 0 : one.input_tokens + one.output_tokens);
  const ranked = (about, what, all, name) => table(about, COLUMNS(what), all.map((one) => cells(one, name(one))), { open: true, values: all.map(size) });
  return [
    el("div", { class: "row" }, el("h2", { class: "grow" }, "Usage"),
      el("div", { class: "choice", role: "group", aria: { label: "Time" } }, SPANS.map(([value, name]) =>
        el("button", { type: "button", data: { key: `span-${value}` }, aria: { pressed: String(value === span) }, onclick: () => choose(value) }, name)))),
    el("dl", { class: "figures" },
      el("div", {}, el("dt", {}, "Cost"), el("dd", {}, cost(total))),
      el("div", {}, el("dt", {}, "Tokens in"), el("dd", {}, tokens(total.input_tokens))),
      el("div", {}, el("dt", {}, "Tokens out"), el("dd", {}, tokens(total.output_tokens))),
      el("div", {}, el("dt", {}, "Requests"), el("dd", {}, String(total.requests)))),
    total.unpriced ? el("p", { class: "faint" }, `The price of ${total.unpriced} of ${total.requests} requests is not known.`) : null,
    el("h3", {}, "Cost by day"),
    anyPrice ? bars(days.map(point), `Cost by day, the last ${span} days`, COLUMNS("Day")) : el("p", { class: "muted" }, total.requests ? "No price is known for what was used." : "Nothing was used in this time."),
    el("h3", {}, "Tokens by day"),
    total.requests ? bars(days.map(talk), `Tokens by day, the last ${span} days`, COLUMNS("Day")) : el("p", { class: "muted" }, "Nothing was used in this time."),
    told.models.length ? [el("h3", {}, "By model"), ranked("Usage by model", "Model", told.models, (one) => el("span", {}, `${one.model} · ${one.provider}`))] : null,
    told.sessions.length ? [el("h3", {}, "By session"), ranked("Usage by session", "Session", told.sessions.slice(0, 20), (one) => el("a", { href: `#/s/${one.session_id}` }, one.title || "Untitled"))] : null,
  ];
}

const COLUMNS = (first) => [first, "Cost", "In", "Out", "Requests"];
const cells = (one, name) => [name, cost(one), tokens(one.input_tokens), tokens(one.output_tokens), String(one.requests)];

/** Each day of the time, also those on which nothing was used. */
function everyDay(told, span) {
  const known = new Map(told.days.map((day) => [day.day, day]));
  const last = new Date(new Date(told.until).getTime() - new Date().getTimezoneOffset() * 60_000 - 86_400_000);
  return Array.from({ length: span }, (_, at) => {
    const day = new Date(last.getTime() - (span - 1 - at) * 86_400_000).toISOString().slice(0, 10);
    return known.get(day) ?? { day, requests: 0, input_tokens: 0, output_tokens: 0, priced_usd: 0, unpriced: 0, cost_usd: null };
  });
}

function health(told, app) {
  const line = (name, kind, word, more) => el("li", {}, el("div", { class: "line" }, el("span", { class: "name" }, name),
    el("span", { class: "status", data: { kind } }, el("span", { aria: { hidden: "true" } }, kind === "done" ? "✓ " : kind === "failed" ? "✗ " : "○ "), word)),
    more?.length ? el("details", {}, el("summary", { class: "small" }, "What gets past it"), el("ul", { class: "small" }, more.map((text) => el("li", {}, text)))) : null);
  const box = told.sandbox;
  const confined = box && !box.warning;
  return [
    el("h2", {}, "Health"),
    el("ul", { class: "tree", aria: { label: "Health" } },
      line(`Daemon ${told.version}`, app.api.connection.up ? "done" : "failed", app.api.connection.up ? "connected" : "disconnected"),
      line("Sandbox", confined ? "done" : "failed", box ? `${box.rung}, network ${box.network}` : "unknown", box?.gaps),
      line("Storage", told.storage.mirror_ok ? "done" : "failed", told.storage.mirror_ok ? `${told.storage.sessions} session${told.storage.sessions === 1 ? "" : "s"}` : "mirror failed"),
      line("Workspace", told.trusted ? "done" : "idle", told.trusted ? "trusted" : "not trusted"),
      told.providers.filter((one) => one.enabled || one.configured).map((one) => line(one.name, one.configured ? "done" : "idle", one.configured ? "set up" : "no key")),
      line("Answers by default", told.default_model ? "done" : "failed", told.default_model ? `${told.default_model.model} · ${told.default_model.provider}` : "nobody")),
    told.warnings.length ? el("ul", {}, told.warnings.map((text) => el("li", { class: "muted" }, text))) : null,
  ];
}
