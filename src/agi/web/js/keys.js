// Keys that work anywhere, and the page that lists them. Single letters only outside of fields, and they can be switched off.

import { $, el, fill } from "./dom.js";

export const KEYS = [
  ["Enter", "send; while a turn runs: queue (on a touch screen: a new line)"],
  ["Shift+Enter, Ctrl+J", "a new line"],
  ["Ctrl+Enter", "send, always"],
  ["Ctrl+S", "steer: say it at the next step of the running turn"],
  ["Esc Esc", "stop the running turn"],
  ["Ctrl+Y", "go to the oldest question that waits for you"],
  ["Ctrl+K", "filter the sessions"],
  ["Ctrl+O", "open or fold every tool's output"],
  ["Home, End, PgUp, PgDn", "move through the conversation; End follows it again"],
  ["g s · g i · g d · g r", "sessions, inbox, dashboard, resources"],
  ["j · k", "next and previous turn"],
  ["n", "a new session"],
  ["?", "this page"],
];

export function install(app) {
  let first = "";
  const letters = () => localStorage.getItem("agi.letters") !== "off";
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k") {
      event.preventDefault();
      document.body.dataset.page === "list" || matchMedia("(min-width: 800px)").matches ? $("filter")?.focus() : app.go("/");
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || inField(event.target) || $("dialog").open || !letters()) return;
    const pair = first + event.key;
    first = event.key === "g" ? "g" : "";
    const place = { gs: "/", gi: "/inbox", gd: "/dashboard", gr: "/resources", n: "/new" }[pair];
    if (place) { event.preventDefault(); app.go(place); }
    else if (event.key === "?") { event.preventDefault(); help(letters); }
  });
  $("keys").addEventListener("click", () => help(letters));
}

export const inField = (node) => Boolean(node?.closest?.("input, textarea, select, [contenteditable]"));

function help(letters) {
  const dialog = $("dialog");
  const box = el("input", { type: "checkbox", checked: letters(), onchange: () => localStorage.setItem("agi.letters", box.checked ? "on" : "off") });
  fill(dialog,
    el("h2", {}, "Keys"),
    el("table", {}, el("tbody", {}, KEYS.map(([key, does]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, key)), el("td", {}, does))))),
    el("p", {}, el("label", { class: "row" }, box, "Single letters work outside of fields")),
    el("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close"));
  dialog.setAttribute("aria-label", "Keys");
  dialog.showModal();
}
