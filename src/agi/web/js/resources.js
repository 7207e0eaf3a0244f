// Repositories, knowledge and constitutions: folders and documents with a name, and a chat with the agent of each.

import { $, el, fill, setHtml } from "./dom.js";
import { ago, clock } from "./status.js";

const KINDS = {
  repositories: { title: "Repositories", one: "repository", about: "Folders with code." },
  knowledge: { title: "Knowledge", one: "knowledge artefact", about: "Folders and documents to be read and cited." },
  constitutions: { title: "Constitutions", one: "constitution", about: "Rules that stand in the context of the repositories they are bound to." },
};

export function mount(root, app) {
  const [, kind, name] = app.route;
  const missing = kind && !Object.hasOwn(KINDS, kind) ? "kind of resource" : name && !isName(name) ? "resource" : "";
  if (missing) {
    fill(root, el("div", { class: "view" }, el("h1", {}, "Resources"), el("p", { class: "empty" }, `There is no such ${missing}. `, el("a", { href: "#/resources" }, "All resources"))));
    return () => {};
  }
  return name ? one(root, app, kind, name) : all(root, app, kind);
}

const SHOWN = 200;
const isAnswer = (message) => message.role !== "user" && message.type === "text";
const isName = (text) => /^[A-Za-z0-9._-]{1,200}$/.test(text) && !/^\.+$/.test(text); // a path of dots leads elsewhere
const at = (kind, name) => `/api/${kind}/${encodeURIComponent(name)}`;
const link = (kind, name) => `#/resources/${kind}/${encodeURIComponent(name)}`;

function tabs(kind) {
  return el("nav", { class: "choice", aria: { label: "Kinds of resources" } },
    el("a", { class: "button", href: "#/resources", ...(kind ? {} : { "aria-current": "page" }) }, "All"),
    Object.entries(KINDS).map(([key, { title }]) => el("a", { class: "button", href: `#/resources/${key}`, ...(kind === key ? { "aria-current": "page" } : {}) }, title)));
}

/** The lists, and a form to register one more. */
function all(root, app, only) {
  app.title("Resources");
  let gone = false;
  const lists = el("div", { class: "tiles" }, el("p", { class: "muted late" }, "Looking …"));
  const form = el("section", { class: "card tile wide" });
  fill(root, el("div", { class: "view" }, el("h1", {}, "Resources"), tabs(only), lists, form));
  const load = async () => {
    const kinds = only ? [only] : Object.keys(KINDS);
    try {
      const found = await Promise.all(kinds.map((kind) => app.api.get(`/api/${kind}`)));
      if (gone) return;
      fill(lists, kinds.map((kind, n) => card(kind, found[n].resources)));
    } catch (error) {
      if (!gone) fill(lists, app.failure(error));
    }
  };
  fill(form, el("h2", {}, "Register one"), editor(app, { kind: only ?? "repositories", canChoose: !only, done: (kind, name) => { app.say(`${name} is registered`); app.go(link(kind, name).slice(1)); } }));
  load();
  return () => { gone = true; };
}

function card(kind, resources) {
  return el("section", { class: "card tile", aria: { label: KINDS[kind].title } },
    el("h2", {}, KINDS[kind].title), el("p", { class: "faint" }, KINDS[kind].about),
    resources.length
      ? el("ul", { class: "tree" }, resources.map((each) => el("li", {},
        el("div", { class: "line" }, el("span", { class: "name" }, el("a", { href: link(kind, each.name) }, each.title || each.name)), each.repositories ? el("span", { class: "small" }, `binds ${each.repositories.length || "none"}`) : null),
        el("div", { class: "small" }, each.path))))
      : el("p", { class: "muted" }, "None yet."));
}

/** The route would put the new one in the place of the old. */
async function refuseTaken(app, kind, name) {
  const { resources } = await app.api.get(`/api/${kind}`);
  if (resources.some((each) => each.name === name)) throw Object.assign(new Error(`There is a ${KINDS[kind].one} named ${name} already.`), { hint: "Choose another name, or open that one to change it." });
}

/** The fields of a resource; what is left out is not kept, as the route has it. */
function editor(app, { kind, canChoose = false, resource = null, done }) {
  const ids = { kind: "r-kind", name: "r-name", path: "r-path", title: "r-title", agent: "r-agent", bound: "r-bound" };
  const choice = el("select", { id: ids.kind }, Object.entries(KINDS).map(([key, each]) => el("option", { value: key, selected: key === kind }, each.one)));
  const name = el("input", { id: ids.name, required: true, maxLength: 200, pattern: "[A-Za-z0-9._\\-]+", title: "Letters, digits, dots, dashes and underscores", autocomplete: "off", value: resource?.name ?? "", readOnly: Boolean(resource) });
  const path = el("input", { id: ids.path, required: true, placeholder: "/an/absolute/path", autocomplete: "off", value: resource?.path ?? "" });
  const title = el("input", { id: ids.title, autocomplete: "off", value: resource?.title ?? "" });
  const agent = el("input", { id: ids.agent, placeholder: "the default agent", autocomplete: "off", value: resource?.agent ?? "" });
  const bound = el("input", { id: ids.bound, placeholder: "names, separated by commas", autocomplete: "off", value: (resource?.repositories ?? []).join(", ") });
  const boundLabel = el("label", { htmlFor: ids.bound }, "Bound to repositories");
  const problem = el("div", { class: "wide" });
  const current = () => (canChoose ? choice.value : kind);
  const showBound = () => { bound.hidden = boundLabel.hidden = current() !== "constitutions"; };
  choice.addEventListener("change", showBound);
  const save = async (event) => {
    event.preventDefault();
    const body = { path: path.value.trim() };
    if (title.value.trim()) body.title = title.value.trim();
    if (agent.value.trim()) body.agent = agent.value.trim();
    if (current() === "constitutions") body.repositories = bound.value.split(",").map((text) => text.trim()).filter(Boolean);
    try {
      if (!resource) await refuseTaken(app, current(), name.value.trim());
      await app.api.put(at(current(), name.value.trim()), body);
      fill(problem);
      done(current(), name.value.trim());
    } catch (error) {
      fill(problem, app.failure(error));
    }
  };
  const field = (id, text, input) => [el("label", { htmlFor: id }, text), input];
  const form = el("form", { class: "fields", onsubmit: save },
    canChoose ? field(ids.kind, "Kind", choice) : null,
    field(ids.name, "Name", name), field(ids.path, "Path", path), field(ids.title, "Title", title), field(ids.agent, "Agent", agent), boundLabel, bound,
    el("div", { class: "actions" }, el("button", { class: "primary" }, resource ? "Save" : "Register")), problem);
  showBound();
  return form;
}

/** One resource: what it is, the chat with its agent, its sessions. */
function one(root, app, kind, name) {
  app.title(name);
  let gone = false, chosen = "", sending = 0, timer = 0, seen = "";
  const unanswered = new Map(); // turn → session, of what was said here
  const rendered = new Map(); // part → HTML of the server's making
  const here = at(kind, name);
  const head = el("section", { class: "card tile wide" }), state = el("span", { class: "status", role: "status" });
  const sessions = el("ul", { class: "tree", aria: { label: "Sessions" } }), said = el("ol", { class: "said", aria: { label: "Conversation" } });
  const problem = el("div", {});
  const stop = el("button", { type: "button", hidden: true, onclick: () => act(() => app.api.post(`${here}/agent/cancel`), "Stopped.") }, "Stop");
  const box = el("textarea", { id: "r-message", rows: 3, required: true, maxLength: 1_000_000, placeholder: `Ask the agent of ${name}` });
  const send = el("button", { class: "primary" }, "Send");
  const form = el("form", { class: "talk", onsubmit: (event) => { event.preventDefault(); ask(); } },
    el("label", { htmlFor: "r-message", class: "unseen" }, "Message"), box, el("div", { class: "row" }, send, stop, state));
  box.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); } });
  fill(root, el("div", { class: "view" },
    el("p", {}, el("a", { href: `#/resources/${kind}` }, `‹ ${KINDS[kind].title}`)),
    head,
    el("div", { class: "tiles beside" },
      el("section", { class: "card tile" }, el("h2", {}, "Sessions"), el("button", { type: "button", class: "quiet", onclick: () => { chosen = ""; load(); box.focus(); } }, "Begin a new one"), sessions),
      el("section", { class: "card tile talk", aria: { label: "Chat" } }, el("h2", {}, "Chat"), said, problem, form))));

  async function act(work, words) {
    try { await work(); if (words) app.say(words); fill(problem); } catch (error) { if (!gone) fill(problem, app.failure(error)); }
    load();
  }

  async function ask() {
    const text = box.value.trim();
    if (!text) return;
    sending += 1;
    box.value = "";
    const pending = el("li", { data: { role: "user" } }, el("div", { class: "small" }, "You · sending"), el("div", { class: "text" }, text));
    said.append(pending);
    try {
      const asked = await app.api.post(`${here}/agent`, { message: text, wait: false, ...(chosen ? { sessionId: chosen } : {}) });
      unanswered.set(asked.turnId, chosen = asked.sessionId);
      fill(problem);
    } catch (error) {
      if (gone) return;
      fill(problem, app.failure(error));
      box.value ||= text;
    }
    sending -= 1;
    if (!gone) load();
  }

  async function load() {
    timer = 0;
    try {
      const [status, found] = await Promise.all([app.api.get(`${here}/agent/status`), app.api.get(`${here}/agent/sessions?limit=50`)]);
      if (gone) return;
      showStatus(status);
      if (!chosen && sending && status.sessionId) chosen = status.sessionId;
      fill(sessions, found.sessions.length ? found.sessions.map(sessionLine) : el("li", { class: "muted" }, "None yet."));
      if (!chosen) { if (!sending) fill(said, el("li", { class: "muted" }, "A new session begins with your message.")); return; }
      const history = await app.api.get(`${here}/agent/history?session_id=${encodeURIComponent(chosen)}`);
      const shown = history.messages.slice(-SHOWN);
      if (shown.some((one) => isAnswer(one) && !rendered.has(one.partId))) await render(chosen);
      if (!gone) fill(said, shown.map(line));
      await Promise.all([...unanswered].map(outcome));
    } catch (error) {
      if (!gone) fill(problem, app.failure(error));
    }
  }

  /** Answers as a session shows them: asked for once, when there is a new one. */
  async function render(session) {
    const { messages, html } = await app.api.get(`/v1/sessions/${session}/messages?limit=${SHOWN}&render=html`);
    for (const { id, parts } of messages) parts.forEach((part, n) => { if (html[id]?.[n]) rendered.set(part.id, html[id][n]); });
  }

  function prose({ partId, content }) {
    const node = el("div", { class: "prose" });
    if (rendered.has(partId)) setHtml(node, rendered.get(partId), app.api.picture);
    else fill(node, el("div", { class: "text" }, content));
    return node;
  }

  /** Whether a turn is over by now, and how it went. */
  async function outcome([turn, session]) {
    if (app.state.sessions.get(session)?.running_turn_id === turn) return;
    const ended = (await app.api.get(`/v1/sessions/${session}/messages?limit=20&render=html`)).turns[turn];
    if (gone || !ended || ["running", "queued"].includes(ended.status) || !unanswered.delete(turn)) return;
    if (ended.status === "failed") fill(problem, app.failure(ended.error));
    else app.say(ended.status === "completed" ? "The agent has answered." : "Stopped.");
  }

  function showStatus(status) {
    stop.hidden = !status.processing;
    const waits = status.waitingFor === "approval";
    state.dataset.kind = waits ? "waiting" : status.processing ? "running" : "idle";
    fill(state, waits ? ["◆ ", el("a", { href: "#/inbox" }, "waiting for you")] : status.processing ? `● working since ${clock(status.startedAt)}` : "○ idle");
  }

  function sessionLine(each) {
    const current = each.id === chosen;
    return el("li", {}, el("div", { class: "line" },
      el("button", { type: "button", class: "quiet name", aria: { pressed: String(current) }, onclick: () => { chosen = each.id; load(); } }, each.title || "Untitled"),
      el("span", { class: "small" }, `${ago(each.updated)} ago`), el("a", { class: "small", href: `#/s/${each.id}` }, "open")));
  }

  function line(message) {
    const tool = message.type !== "text";
    const who = message.role === "user" ? "You" : tool ? (message.type === "tool_use" ? "Call" : "Result") : "Agent";
    const time = message.timestamp ? ` · ${clock(message.timestamp)}` : "";
    return el("li", { data: { role: message.role } },
      tool ? el("details", {}, el("summary", { class: "small" }, `${who}: ${message.content.slice(0, 80)}`), el("pre", {}, message.content))
        : [el("div", { class: "small" }, who, time), isAnswer(message) ? prose(message) : el("div", { class: "text" }, message.content)]);
  }

  async function loadHead() {
    try {
      const resource = await app.api.get(here);
      if (gone) return;
      const edit = el("details", {}, el("summary", {}, "Change"), editor(app, { kind, resource, done: () => { app.say("Saved."); loadHead(); } }));
      fill(head,
        el("div", { class: "row" }, el("h1", { class: "grow" }, resource.title || resource.name), el("button", { type: "button", onclick: () => remove(resource) }, "Forget it")),
        el("p", { class: "muted" }, `${KINDS[kind].one} · ${resource.path}`, resource.agent ? ` · answered by ${resource.agent}` : ""),
        resource.repositories ? el("p", {}, "Bound to: ", resource.repositories.length ? resource.repositories.map((each, n) => [n ? ", " : "", el("a", { href: link("repositories", each) }, each)]) : "no repository") : null,
        edit);
    } catch (error) {
      if (!gone) fill(head, el("h1", {}, name), app.failure(error));
    }
  }

  function remove(resource) {
    const dialog = $("dialog");
    const wrong = el("div", {});
    fill(dialog, el("h2", {}, `Forget ${resource.title || resource.name}?`), el("p", {}, "Its name goes; sessions and files stay."), wrong,
      el("div", { class: "row" },
        el("button", { type: "button", onclick: async () => {
          try { await app.api.del(here); dialog.close(); app.say(`${name} is forgotten`); app.go(`/resources/${kind}`); } catch (error) { fill(wrong, app.failure(error)); }
        } }, "Forget"),
        el("button", { type: "button", onclick: () => dialog.close() }, "Keep")));
    dialog.showModal();
  }

  const heard = () => {
    if (gone) return;
    const now = [...app.state.sessions.values()].filter((row) => row.resource?.name === name || row.id === chosen).map((row) => `${row.id}:${row.last_seq}:${row.activity}`).join();
    if (now === seen) return;
    seen = now;
    timer ||= setTimeout(load, 400);
  };
  (app.state.onRows ??= new Set()).add(heard);
  loadHead();
  load();
  return () => { gone = true; clearTimeout(timer); app.state.onRows.delete(heard); };
}
