// A session: its conversation, the questions that wait, what is queued, and where one writes.

import { el, fill, framed } from "./dom.js";
import { Actions } from "./actions.js";
import { Approvals } from "./approvals.js";
import { Composer } from "./composer.js";
import { Conversation } from "./model.js";
import { Drawing } from "./message.js";
import { Preflight } from "./preflight.js";
import { Queue } from "./queue.js";
import { Transcript } from "./transcript.js";
import { inField } from "./keys.js";
import { money, statusNode, statusOf } from "./status.js";

const BUSY = new Set(["running", "waiting_approval", "waiting_input", "queued", "backing_off", "verifying", "compacting"]);

const SESSION = /^sess_[0-9a-f]{32}$/;

export function mount(root, app) {
  const id = app.route[1] ?? "";
  if (!SESSION.test(id)) {
    fill(root, el("div", { class: "view" }, el("h1", {}, "No such session"), el("p", { class: "empty" }, "There is no session by that name. ", el("a", { href: "#/" }, "All sessions"))));
    return () => {};
  }
  const conversation = new Conversation(app.api, id, hear);
  const actions = new Actions(app, conversation);
  const drawing = new Drawing(conversation, app, actions);
  const transcript = new Transcript(conversation, drawing);
  const approvals = new Approvals(app, conversation, { split: true });
  const preflight = new Preflight(app, conversation);
  const queue = new Queue(app, conversation);
  const composer = new Composer(app, id, { send, stop, sessionId: () => id });
  const title = el("h1", { class: "title", tabindex: -1 });
  const facts = el("span", { class: "facts row small" });
  root.classList.add("chat");
  fill(root,
    el("header", { class: "chat-head row" }, el("a", { class: "back button quiet", href: "#/", aria: { label: "All sessions" } }, "‹"), title, facts, actions.menu),
    transcript.node, approvals.node, preflight.node, queue.node, composer.node);

  let known = 0;
  let begun = Promise.resolve();
  function hear(what, subject, part) {
    if (what === "rows") {
      const count = conversation.rows.length;
      transcript.rows({ added: Math.max(0, count - known) });
      known = count;
    } else if (what === "row") transcript.row(subject);
    else if (what === "text") text(subject, part);
    else if (what === "call") drawing.card(subject.id).update();
    else if (what === "output") drawing.card(subject.id).stream();
    else if (what === "session") session();
    else if (what === "gap") restart();
    else if (what === "ended") ended(subject);
  }

  function text(row, part) {
    if (part.kind === "text") drawing.live(row, part);
    else { thoughts.set(part.id, part); drawThoughts(); }
  }

  const thoughts = new Map();
  const drawThoughts = framed(() => {
    for (const part of thoughts.values()) {
      const body = transcript.list.querySelector(`details[data-part="${CSS.escape(part.id)}"] .thought`);
      if (body) body.textContent = part.text;
    }
    thoughts.clear();
  });

  function ended({ status, verification }) {
    const said = { completed: "Answer finished", failed: "The turn failed", canceled: "The turn was canceled" }[status];
    app.say(verification === "verified" ? `${said}, verified` : said);
  }

  function session() {
    const now = conversation.session;
    title.textContent = now.title || "untitled";
    const row = app.state.sessions.get(id);
    const share = row?.context_percent;
    fill(facts, statusNode(now),
      share ? el("span", {}, `Context ${Math.round(share)}%`) : now.context_tokens ? el("span", {}, `${Math.round(now.context_tokens / 1000)}k tokens`) : "",
      [money(now.usage.cost_usd), [now.agent, now.model].filter(Boolean).join(" · ")].filter(Boolean).map((text) => el("span", {}, text)));
    composer.show({ busy: BUSY.has(now.activity) });
    approvals.show(now.pending_approvals);
    preflight.show(now.pending_preflight);
    queue.show(now.queue);
    actions.show(now);
    app.title(`${statusOf(now).kind === "waiting" ? "◆ " : ""}${now.title || "untitled"}`);
  }

  async function send(parts, mode) {
    const posted = await app.api.post(`${conversation.path}/messages`, { parts, mode, client: "web" });
    conversation.mine.add(posted.message_id);
    const row = conversation.byId.get(posted.message_id);
    if (row) transcript.row(row);
    transcript.toEnd();
  }

  async function stop() {
    const turn = conversation.running || conversation.session?.queue[0]?.turn_id; // never all of them: what waits is kept
    try { await app.api.post(`${conversation.path}/cancel`, turn ? { turn_id: turn } : {}); } catch (error) { app.warn(`${error.message} ${error.hint}`); }
    conversation.refresh();
  }

  async function begin(snapshot) {
    conversation.hasMore = true;
    await conversation.begin(snapshot);
    known = conversation.rows.length;
    transcript.rows({ all: true });
    transcript.box.dataset.ready = "yes";
  }

  // A position in no log is answered with how everything stands, and then with whatever follows it.
  let stream = follow(), again = 0;
  function follow() {
    const here = app.api.follow(id, (type, event) => {
      if (type === "resync") begun = begin(event).catch(() => { if (here === stream) again = setTimeout(restart, 1000); });
      else if (type === "refused" || type === "error") fill(root, app.failure(event));
      else begun = begun.then(() => { if (here === stream) conversation.apply(type, event); });
    }, "1@0");
    return here;
  }
  function restart() { stream.close(); stream = follow(); }

  const keys = (event) => {
    const control = event.ctrlKey || event.metaKey;
    if (event.key === "Escape" && !document.getElementById("dialog").open) composer.escape();
    else if (control && event.key === "y") { event.preventDefault(); if (!approvals.focus() && !preflight.focus()) app.go("/inbox"); }
    else if (control && event.key === "o") { event.preventDefault(); transcript.foldAll(); }
    else if (inField(event.target) || control || event.altKey || localStorage.getItem("agi.letters") === "off") return;
    else if (event.key === "End") transcript.toEnd();
    else if (event.key === "j" || event.key === "k") transcript.step(event.key === "j" ? 1 : -1);
  };
  const drag = (event) => event.preventDefault();
  const drop = (event) => { event.preventDefault(); composer.files.take(event.dataTransfer); };
  document.addEventListener("keydown", keys);
  root.addEventListener("dragover", drag);
  root.addEventListener("drop", drop);
  const rows = () => {
    const row = app.state.sessions.get(id);
    const below = (row?.waiting_below ?? 0) + (row?.waiting ?? 0);
    if (conversation.session && below !== (conversation.seenWaiting ?? 0)) { conversation.seenWaiting = below; conversation.refresh(); }
  };
  (app.state.onRows ??= new Set()).add(rows);
  if (matchMedia("(pointer: fine)").matches) composer.box.focus();
  return () => {
    stream.close();
    clearTimeout(again);
    transcript.close();
    document.removeEventListener("keydown", keys);
    app.state.onRows.delete(rows);
  };
}
