// The steps an agent proposes before it begins: edited, left out or refused in place; nothing runs before.

import { el, fill } from "./dom.js";
import { Arming } from "./arming.js";
import { visible } from "./cards.js";
import { money } from "./status.js";

const LONG = 60;

export class Preflight {
  constructor(app, conversation) {
    Object.assign(this, { app, conversation });
    this.node = el("section", { class: "dock", hidden: true, aria: { label: "Steps that wait for you" } });
  }

  show(pending) {
    if (pending?.digest === this.digest) return;
    this.digest = pending?.digest;
    this.node.hidden = !pending;
    fill(this.node);
    if (pending) { this.node.append(this.#card(pending)); this.app.warn(`The agent proposes ${pending.steps.length} steps.`); }
  }

  focus() {
    const card = this.node.querySelector(".approval");
    card?.focus();
    return Boolean(card);
  }

  #card(pending) {
    const rows = pending.steps.map((step) => this.#step(step));
    const problem = el("div", { role: "alert" });
    const answer = async (approved) => {
      if (!arming.mayAnswer(approved)) return;
      const changed = rows.some((row) => row.changed());
      const body = { approved, digest: pending.digest, ...(approved && changed ? { edited_steps: rows.map((row) => row.value()) } : {}) };
      try { await arming.send(() => this.app.api.post(`${this.conversation.path}/preflight/${pending.turn_id}`, body)); } catch (error) { fill(problem, this.app.failure(error)); }
      this.conversation.refresh();
    };
    const cost = pending.estimated_cost;
    const asked = el("div", {},
      el("ol", { class: "steps" }, rows.map((row) => row.node)),
      pending.required_permissions.length ? el("p", { class: "small" }, `Takes: ${visible(pending.required_permissions.join(", "))}`) : "",
      pending.warnings.map((text) => el("p", { class: "small" }, `⚠ ${visible(text)}`)));
    const go = el("button", { type: "button", class: "allow", onclick: () => answer(true) }, "Go ahead");
    const node = el("article", { class: "approval preflight", tabindex: -1, aria: { label: "Proposed steps" } },
      el("header", { class: "row" }, el("span", { class: "status", data: { kind: "waiting" } }, "◆ waiting for you"), el("b", {}, "These steps are proposed"),
        el("span", { class: "faint" }, cost.estimated_usd === null ? `about ${cost.input_tokens + cost.output_tokens} tokens` : `about ${money(cost.estimated_usd)}`)),
      asked, problem,
      el("div", { class: "answers row" }, go, el("span", { class: "grow" }), el("button", { type: "button", class: "deny", onclick: () => answer(false) }, "Do not")));
    const arming = new Arming(node, asked, [go]);
    return node;
  }

  #step(step) {
    const keep = el("input", { type: "checkbox", checked: true, aria: { label: `Do: ${step.description}` } });
    const said = el("input", { type: "text", class: "grow", value: step.description, aria: { label: "Step" } });
    const target = step.target ? el("input", { type: "text", class: "mono", value: step.target, aria: { label: `What ${step.tool_name} is about` } }) : null;
    const value = () => ({ id: step.id, description: said.value, skip: !keep.checked, ...(step.tool_name ? { tool_name: step.tool_name } : {}), ...(target ? { target: target.value } : {}) });
    const changed = () => !keep.checked || said.value !== step.description || (target !== null && target.value !== step.target);
    const node = el("li", {}, el("div", { class: "row" }, keep, said, el("span", { class: `risk ${step.risk}` }, `${visible(step.tool_name || "no tool")} · ${step.risk} risk${step.needs_approval ? " · would be asked" : ""}`)), target, written(step.description), written(step.target ?? ""));
    return { node, value, changed };
  }
}

/** What a field of one line would not show: where it is long, or hides something. */
function written(text) {
  const shown = visible(text);
  return shown !== text || text.length > LONG ? el("pre", { class: "written" }, shown) : "";
}
