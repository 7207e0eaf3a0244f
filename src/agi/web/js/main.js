// The start: sign in, show where we are, and mount the view the fragment names. Views know `app` and nothing of each other.

import { Api } from "./api.js";
import { $, el, fill } from "./dom.js";
import { clock } from "./status.js";

const VIEWS = {
  s: () => import("./chat.js"),
  new: () => import("./new.js"),
  dashboard: () => import("./dashboard.js"),
  inbox: () => import("./inbox.js"),
  resources: () => import("./resources.js"),
};
const THEMES = ["auto", "dark", "light"];

const api = new Api();
export const app = {
  api,
  state: { sessions: new Map(), project: "" },
  route: [],
  go(fragment) { location.hash = fragment; },
  say(text) { $("polite").textContent = text; },
  warn(text) { $("alert").textContent = text; },
  title(text) { document.title = text ? `${text} · agi` : "agi"; },
};

let unmount = () => {};
let mounting = 0;

async function show() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decoded).filter(Boolean);
  if (location.hash && !location.hash.startsWith("#/")) return;
  const turn = ++mounting;
  leave();
  app.route = parts;
  const place = parts[0] ?? "";
  document.body.dataset.page = place ? "main" : "list";
  for (const link of document.querySelectorAll("#places a")) {
    const here = link.dataset.place === (place && place !== "s" && place !== "new" ? place : "sessions");
    here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  app.title("");
  const root = el("div", { class: "root" });
  if (!Object.hasOwn(VIEWS, place)) {
    fill($("main"), el("p", { class: "empty" }, "Choose a session, or ", el("a", { href: "#/new" }, "begin a new one"), "."));
    return;
  }
  const opening = el("p", { class: "empty late" }, "Opening …");
  $("main").append(opening);
  try {
    const view = await VIEWS[place]();
    if (turn !== mounting) return;
    opening.replaceWith(root);
    const close = await view.mount(root, app);
    if (turn === mounting) unmount = close ?? unmount;
    else close?.();
  } catch (error) {
    if (turn === mounting) fill($("main"), failure(error));
  }
}

function leave() {
  unmount();
  unmount = () => {};
  fill($("main"));
  api.forgetPictures();
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** What went wrong and what to do, for any place. */
export function failure(error) {
  return el("div", { class: "error", role: "alert" }, el("b", {}, error.message || "Something went wrong."), error.hint ? ` ${error.hint}` : "");
}
app.failure = failure;

function signedOut(error) {
  leave();
  mounting += 1;
  document.body.classList.add("signed-out");
  delete document.body.dataset.page;
  app.title("Signed out");
  fill(
    $("main"),
    el("section", { class: "sign-in" },
      el("h1", {}, "Sign in"),
      error ? failure(error) : null,
      el("p", {}, "Run this in the project's folder; it opens this page with a code that works once:"),
      el("pre", {}, "agi open"),
      el("p", { class: "faint" }, "A restart of the daemon signs browsers out. What you had typed is kept.")),
  );
}

/** The code an address was opened with; it leaves the address bar at once. */
function takeCode() {
  const found = location.hash.match(/^#code=([\w-]+)(?:&to=(\/[\w/-]*))?$/);
  if (!found) return "";
  history.replaceState(null, "", `#${found[2] ?? "/"}`);
  return found[1];
}

let wasUp = true;

function showConnection() {
  const { up, since, retryAt } = api.connection;
  const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  fill($("connection"), el("span", { aria: { hidden: "true" } }, up ? "● " : "✗ "), up ? "connected" : "disconnected");
  $("connection").dataset.kind = up ? "running" : "failed";
  $("strip").hidden = up;
  const said = `Disconnected since ${clock(since)}. Your text is kept.`;
  if (!up) $("strip").textContent = `${said} Retrying${seconds ? ` in ${seconds} s` : ""}.`;
  if (up !== wasUp) app.say(up ? "Connected again" : said); // once; the seconds that count down are for the eye
  wasUp = up;
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("agi.theme", theme);
  $("theme").textContent = { auto: "◐", dark: "☾", light: "☀" }[theme];
  $("theme").setAttribute("aria-label", `Theme: ${theme}. Change it`);
}

async function start() {
  chooseTheme(THEMES.includes(localStorage.getItem("agi.theme")) ? localStorage.getItem("agi.theme") : "auto");
  $("theme").addEventListener("click", () => {
    chooseTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
  });
  for (const link of document.querySelectorAll("[data-skip]")) {
    link.addEventListener("click", (event) => { event.preventDefault(); $(link.dataset.skip).focus(); });
  }
  const code = takeCode();
  globalThis.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#code=")) location.reload();
    else if (!document.body.classList.contains("signed-out")) show();
  });
  globalThis.addEventListener("storage", (event) => { // another tab has signed in or out
    if (event.key !== "agi.key") return;
    if (!event.newValue) api.signedOut();
    else if (document.body.classList.contains("signed-out")) location.reload();
  });
  if (code && !(await api.isSignedIn())) { // a second pass would end the first one under other tabs
    try { await api.signIn(code); } catch (error) { return signedOut(error); }
  }
  if (!api.hasKey) return signedOut();
  api.addEventListener("signedout", () => signedOut());
  api.addEventListener("connection", showConnection);
  setInterval(() => { if (!api.connection.up) showConnection(); }, 1000);
  showConnection();
  show();
  (await import("./sessions.js")).mount($("list"), app);
  (await import("./keys.js")).install(app);
}

start();
