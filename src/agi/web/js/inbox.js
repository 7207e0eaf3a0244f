// Everything that waits for a person, in all sessions, answered from one place by the same cards that a session shows.

import { $, el, fill, setHtml } from "./dom.js";
import { Approvals } from "./approvals.js";
import { Preflight } from "./preflight.js";
import { visible } from "./cards.js";
import { ago } from "./status.js";

export function mount(root, app) {
  app.title("Inbox");
  const groups = new Map();
  let gone = false, asking = false, again = false, told = null;
  const heading = el("h1", { tabIndex: -1 }, "Inbox");
  const empty = el("p", { class: "empty" }, "Looking…");
  const list = el("div", { class: "tiles one", role: "list", aria: { label: "Questions that wait for you" } });
  const problem = el("div", {});
  fill(root, el("div", { class: "view" }, heading, problem, empty, list));

  const ask = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const found = await app.api.get("/v1/inbox");
      fill(problem);
      if (!gone) show(found);
    } catch (error) {
      if (!gone) fill(problem, app.failure(error));
    }
    asking = false;
    if (again && !gone) { again = false; ask(); }
  };

  function show({ items, total }) {
    const bySession = new Map();
    for (const item of items) bySession.set(item.session_id, [...(bySession.get(item.session_id) ?? []), item]);
    const hadFocus = list.contains(document.activeElement);
    for (const [id, group] of groups) if (!bySession.has(id)) { group.close(); groups.delete(id); }
    for (const [id, own] of bySession) {
      if (!groups.has(id)) {
        groups.set(id, new Group(app, own[0], ask));
        list.append(groups.get(id).node);
      }
      groups.get(id).show(own);
    }
    empty.hidden = items.length > 0;
    empty.textContent = "Nothing waits for you.";
    heading.textContent = total ? `Inbox: ${total} waiting for you` : "Inbox";
    if (hadFocus && !list.contains(document.activeElement)) (list.querySelector(".approval") ?? heading).focus();
  }

  const heard = () => { // at once, also in a tab that nobody looks at: what was answered must not stand there
    if (gone) return;
    const rows = [...app.state.sessions.values()].filter((row) => row.waiting > 0);
    const now = rows.map((row) => `${row.id}:${row.last_seq}`).sort().join();
    if (now !== told) { told = now; ask(); }
  };
  (app.state.onRows ??= new Set()).add(heard);
  heard();
  const tick = setInterval(() => groups.forEach((group) => group.age()), 10_000);
  return () => {
    gone = true;
    clearInterval(tick);
    app.state.onRows.delete(heard);
    groups.forEach((group) => group.close());
  };
}

/** The questions of one session, with who asks and for whom it works. */
class Group {
  constructor(app, first, refresh) {
    Object.assign(this, { app, first });
    const conversation = { id: first.session_id, path: `/v1/sessions/${first.session_id}`, mine: new Set(), refresh };
    this.approvals = new Approvals(app, conversation);
    this.preflight = new Preflight(app, conversation);
    this.when = el("span", { class: "small" });
    this.sides = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.#sideBySide() }, "Side by side");
    const who = visible(first.path.length ? first.path.join(" › ") : first.role || first.agent);
    this.node = el("section", { class: "card asker wide", role: "listitem", aria: { label: `${who} in ${first.title || "an untitled session"}` } },
      el("div", { class: "row" },
        el("h2", { class: "grow" }, el("a", { href: `#/s/${first.root_id}` }, first.title || "Untitled")),
        this.sides, this.when),
      el("p", { class: "small" }, el("span", { class: "who" }, who), ` · ${visible(first.workspace_path)}`),
      this.preflight.node, this.approvals.node);
  }

  show(items) {
    this.items = items;
    this.first = items[0];
    this.approvals.show(items.filter((one) => one.approval).map((one) => ({ ...one.approval, path: one.path, session_id: one.session_id })));
    this.preflight.show(items.find((one) => one.preflight)?.preflight);
    this.sides.hidden = !items.some((one) => one.approval?.preview || one.approval?.hunks.length);
    this.age();
  }

  age() { this.when.textContent = `asked ${ago(this.first.asked_at)} ago`; }

  /** The changes of this session with both sides next to each other, to be read only. */
  async #sideBySide() {
    const dialog = $("dialog");
    try {
      const { items } = await this.app.api.get("/v1/inbox?render=html&view=split");
      const shown = items.filter((one) => one.session_id === this.first.session_id && one.html).map((one) => {
        const node = el("div", {});
        setHtml(node, one.html, this.app.api.picture);
        return node;
      });
      fill(dialog, el("div", { class: "row" }, el("h2", { class: "grow" }, "Before and after"), el("button", { type: "button", onclick: () => dialog.close() }, "Close")),
        shown.length ? shown : el("p", { class: "muted" }, "It was answered meanwhile."));
      dialog.classList.add("wide-dialog");
      dialog.setAttribute("aria-label", "Before and after");
      dialog.addEventListener("close", () => { dialog.classList.remove("wide-dialog"); dialog.removeAttribute("aria-label"); }, { once: true });
      dialog.showModal();
    } catch (error) {
      this.app.warn(error.message);
    }
  }

  close() { this.node.remove(); }
}
