// Questions that wait, docked above the composer. A card shows exactly what would happen; what allows it counts only half a second
// after all of it was on screen, nothing is chosen beforehand, and it never takes the focus from where one writes.

import { el, fill } from "./dom.js";
import { Arming } from "./arming.js";
import { diff, inputText, visible } from "./cards.js";

const LONGER = { session: "For this session", workspace: "For this workspace" };
const RISKS = { low: "low risk", medium: "medium risk", high: "high risk" };

export class Approvals {
  #cards = new Map();

  /** With `split`, each change can be seen side by side in its place. */
  constructor(app, conversation, { split = false } = {}) {
    Object.assign(this, { app, conversation, splitBy: split ? app : null });
    this.node = el("section", { class: "dock", aria: { label: "Questions that wait for you" } });
  }

  /** What waits now; cards that are there already stay as they are. */
  show(pending) {
    const ids = new Set(pending.map((one) => one.tool_call_id));
    for (const [id, made] of this.#cards) if (!ids.has(id)) { made.node.remove(); this.#cards.delete(id); }
    pending.forEach((one, at) => {
      if (this.#cards.has(one.tool_call_id)) return;
      const made = this.#card(one);
      this.#cards.set(one.tool_call_id, made);
      this.node.append(made.node);
      this.app.warn(`${who(one)} asks to use ${visible(one.name)}. ${RISKS[one.risk]}.`);
    });
    pending.forEach((one, at) => { this.#cards.get(one.tool_call_id).place.textContent = pending.length > 1 ? `${at + 1} of ${pending.length}` : ""; });
  }

  /** The oldest question gets the focus, where a key could not yet answer it. */
  focus() {
    const first = this.node.querySelector(".approval");
    first?.focus();
    return Boolean(first);
  }

  #card(one) {
    const name = visible(one.name);
    const place = el("span", { class: "faint" });
    const picked = new Set(one.hunks.map((hunk) => hunk.id));
    const exact = el("div", { class: "exact", tabindex: 0, role: "group", aria: { label: "Exactly what would be done" } }, ...this.#shown(one, picked, () => showPicked()));
    const problem = el("div", { role: "alert" });
    const pieces = el("p", { class: "pieces small", role: "status" });
    const buttons = el("div", { class: "answers row" });
    const why = el("input", { type: "text", placeholder: "Why not (optional)", aria: { label: "Why not" }, class: "why", maxLength: 2000, hidden: true });
    const node = el("article", { class: "approval", tabindex: -1, data: { call: one.tool_call_id }, aria: { label: `${who(one)} asks to use ${name}` } },
      el("header", { class: "row" }, el("span", { class: "status", data: { kind: "waiting" } }, "◆ waiting for you"), el("b", {}, `${who(one)} wants to use ${name}`), el("span", { class: `risk ${one.risk}` }, RISKS[one.risk]), place),
      exact,
      el("p", { class: "small" }, `Why it is asked: ${visible(one.reason || one.rule)}`),
      one.remember ? el("p", { class: "small" }, "Would be remembered as: ", el("code", {}, visible(one.remember.text))) : "",
      one.hunks.length > 1 ? pieces : "", problem, why, buttons);
    const answer = async (action, remember) => {
      if (!arming.mayAnswer(action === "approve")) return;
      this.conversation.mine.add(one.tool_call_id);
      const some = one.hunks.length > 1 && picked.size < one.hunks.length ? { hunks: [...picked], remember: "once" } : {};
      const body = { client: "web", tool_call_id: one.tool_call_id, turn_id: one.turn_id, action, digest: one.digest, ...(action === "approve" ? { remember, ...some } : { reason: why.value }) };
      try {
        await arming.send(() => this.app.api.post(`/v1/sessions/${one.session_id || this.conversation.id}/approve`, body));
        this.app.say(`${name} ${action === "approve" ? "allowed" : "refused"}`);
        if (node.contains(document.activeElement)) document.getElementById("message")?.focus();
      } catch (error) {
        fill(problem, this.app.failure(error));
      }
      this.conversation.refresh();
    };
    const scopes = one.remember?.scopes ?? [];
    // The first click asks for a reason, and the button then says that it is the next one that counts.
    const askWhy = () => { why.hidden = false; deny.textContent = "Deny now"; why.focus(); };
    const deny = el("button", { type: "button", class: "deny", onclick: () => (why.hidden ? askWhy() : answer("deny")) }, "Deny");
    why.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); answer("deny"); } });
    const allow = (remember, text) => el("button", { type: "button", class: "allow", onclick: () => answer("approve", remember) }, text);
    const once = allow("once", "Allow once");
    const longer = Object.entries(LONGER).filter(([scope]) => scopes.includes(scope)).map(([scope, text]) => allow(scope, text));
    fill(buttons, once, longer, el("span", { class: "grow" }), deny);
    // A part of a change is allowed this once, and none of it is a refusal: the buttons say so.
    const showPicked = () => {
      const all = one.hunks.length, some = picked.size;
      pieces.textContent = `${some} of ${all} pieces ticked: ${some === all ? "the whole change is made" : some ? "only these are made, this once" : "nothing is left to allow"}`;
      once.disabled = all > 0 && !some;
      for (const button of longer) button.hidden = some < all;
    };
    showPicked();
    const arming = new Arming(node, exact, [...buttons.querySelectorAll(".allow")]);
    return { node, place };
  }

  #shown(one, picked, changed) {
    if (one.hunks.length > 1) return [this.#hunks(one, picked, changed)];
    if (one.preview) return [diff(one.preview, this.splitBy)];
    return [el("pre", {}, visible(one.shown || inputText(one.input)))];
  }

  #hunks(one, picked, changed) {
    return el("div", { class: "hunks" }, one.hunks.map((hunk) => {
      const box = el("input", { type: "checkbox", checked: true, onchange: () => { box.checked ? picked.add(hunk.id) : picked.delete(hunk.id); changed(); } });
      return el("div", { class: "hunk" }, el("label", { class: "row" }, box, el("b", {}, visible(hunk.path)), el("span", { class: "faint" }, visible(hunk.header))), diff(hunk.diff, this.splitBy));
    }));
  }
}

const who = (one) => (one.path?.length ? visible(one.path.join(" › ")) : "The agent");
