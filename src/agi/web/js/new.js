// A new session: who answers, and the first message.

import { el, fill } from "./dom.js";
import { Composer } from "./composer.js";

export async function mount(root, app) {
  let made = null;
  const agent = el("select", { aria: { label: "Agent" } });
  const plan = el("input", { type: "checkbox" });
  const begin = async () => {
    made ??= await app.api.post("/v1/sessions", agent.value ? { agent: agent.value } : {});
    return made.id;
  };
  const send = async (parts) => {
    const id = await begin();
    await app.api.post(`/v1/sessions/${id}/messages`, { parts, client: "web", ...(plan.checked ? { preflight: true } : {}) });
    app.go(`/s/${id}`);
  };
  const composer = new Composer(app, "new", { send, stop() {}, sessionId: begin });
  root.classList.add("chat", "fresh");
  fill(root,
    el("div", { class: "view grow" }, el("h1", {}, "New session"), el("p", { class: "muted" }, "Say what is to be done. The agent works in the daemon's project."),
      el("p", { class: "row" }, el("label", { class: "row" }, "Agent", agent), el("label", { class: "row" }, plan, "Show me the steps first"))),
    composer.node);
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("drop", (event) => { event.preventDefault(); composer.files.take(event.dataTransfer); });
  app.title("New session");
  composer.box.focus();
  const { agents, default: usual } = await app.api.get("/v1/agents");
  fill(agent, agents.map((one) => el("option", { value: one.name, selected: one.name === usual }, one.name)));
}
