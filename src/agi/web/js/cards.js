// Tool calls as cards: one line when all went well, open when not. What tools say is text, whatever it looks like.

import { el, fill, framed, setHtml } from "./dom.js";

const LINES = 200;
const SHAPES = { asked: ["◌", "waits", "idle"], running: ["●", "running", "running"], done: ["✓", "done", "done"], failed: ["✗", "failed", "failed"], blocked: ["■", "not run", "failed"] };

/** The card of a call; `card.update()` after the call has changed. */
export function card(call, app) {
  const head = el("summary", {});
  const body = el("div", { class: "card-body" });
  const live = el("pre", { class: "live", hidden: true, aria: { label: "Output so far" } });
  const node = el("details", { class: "call", data: { call: call.id } }, head, body);
  let drawn = "";
  let touched = false;
  head.addEventListener("click", () => { touched = true; });
  const showBody = () => { if (node.open) fill(body, ...inside(call, app), live); };
  node.addEventListener("toggle", showBody);
  node.update = () => {
    const [shape, word, kind] = SHAPES[call.state] ?? SHAPES.asked;
    if (drawn !== call.state) {
      drawn = call.state;
      node.dataset.state = call.state;
      fill(head,
        el("span", { class: "status", data: { kind } }, `${shape} `, el("span", { class: "unseen" }, `${word}: `)),
        el("b", {}, visible(call.name)), " ",
        el("code", { class: "about" }, visible(about(call))), " ",
        el("span", { class: "faint outcome" }, outcome(call)));
      if (!touched) node.open = call.state === "failed" || (call.state === "running" && Boolean(call.output));
      showBody();
    }
    live.hidden = call.state !== "running" || !call.output;
    if (!live.hidden && !live.textContent) node.stream();
  };
  node.stream = framed(() => {
    if (call.state !== "running") return;
    if (!node.open && !touched) { node.open = true; showBody(); }
    live.hidden = false;
    live.textContent = lastLines(call.output, LINES);
    live.scrollTop = live.scrollHeight;
  });
  node.update();
  return node;
}

/** What a call is about, in a few words. */
export function about({ input }) {
  if (!input || typeof input !== "object") return "";
  const named = input.command ?? input.path ?? input.file ?? input.pattern ?? input.query ?? input.url;
  const text = typeof named === "string" ? named : JSON.stringify(input);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

function outcome(call) {
  const parts = [];
  if (call.interrupted) parts.push("interrupted");
  const result = call.result?.result ?? {};
  if (typeof result.exit_code === "number") parts.push(`exit ${result.exit_code}`);
  if (call.result?.artifact?.summary) parts.push(counts(call.result.artifact.summary));
  if (call.ms !== null && call.state !== "blocked") parts.push(took(call.ms));
  return parts.join(" · ");
}

const took = (ms) => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`);

/** Lines that came and went. */
export const counts = ({ additions = 0, deletions = 0 }) => `+${additions} −${deletions}`;

function inside(call, app) {
  const parts = [];
  const { result } = call;
  const input = call.input ? el("pre", {}, visible(inputText(call.input))) : "";
  // A change is read as a diff; what was asked for, word by word, is there for who wants it.
  if (input && result?.artifact?.patch) parts.push(el("details", { class: "asked-for" }, el("summary", { class: "small" }, "Input"), input));
  else if (input) parts.push(el("h4", {}, "Input"), input);
  if (!result) return parts;
  if (result.error) parts.push(el("div", { class: "error" }, result.error));
  const patch = result.artifact?.patch;
  const said = (result.parts ?? []).map((part) => part.text ?? "").join("\n");
  if (patch) parts.push(el("h4", {}, "Change"), diff(patch, app));
  else if (said && said !== result.error) {
    const text = el("pre", {}, lastLines(said, LINES));
    parts.push(el("h4", {}, "Result"), text);
    const lines = said.split("\n").length;
    if (lines > LINES) parts.push(el("button", { type: "button", class: "quiet", onclick: (event) => { text.textContent = said; event.target.remove(); } }, `Show all ${lines} lines`));
  }
  for (const part of result.parts ?? []) if (part.type === "image") parts.push(picture(part, app));
  return parts;
}

export function inputText(input) {
  if (typeof input === "string") return input;
  const keys = Object.keys(input);
  if (keys.length === 1 && typeof input[keys[0]] === "string") return input[keys[0]];
  return keys.map((key) => `${key}: ${typeof input[key] === "string" ? input[key] : JSON.stringify(input[key], null, 2)}`).join("\n");
}

// Whatever has no shape of its own: controls, formats, spaces but the usual one, fillers, joiners, selectors of variants.
const HIDDEN = /(?![\t\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]/gu;

/** Text in which nothing hides and nothing turns the direction of writing. */
export const visible = (text) => text.replace(HIDDEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

/** A unified diff, line by line, sign and bar beside the colour; side by side where there is room for it. */
export function diff(patch, app) {
  const lines = visible(patch.replace(/\n$/, "")).split("\n").map((line) => {
    const kind = line.startsWith("@@") ? "at" : /^(---|\+\+\+|diff |index )/.test(line) ? "file" : line[0] === "+" ? "add" : line[0] === "-" ? "del" : "same";
    return el("span", { class: kind }, `${line}\n`);
  });
  const inline = el("pre", { class: "diff", tabindex: 0, aria: { label: "Change" } }, lines);
  if (!app || !matchMedia("(min-width: 1000px)").matches) return inline;
  const split = el("div", { class: "split", hidden: true });
  const toggle = el("button", { type: "button", class: "quiet small", aria: { pressed: "false" }, onclick: async () => {
    if (!split.childNodes.length) {
      try { setHtml(split, (await app.api.post("/v1/render", { text: patch, kind: "diff", view: "split" })).html); } catch (error) { fill(split, app.failure(error)); }
    }
    [inline.hidden, split.hidden] = [!inline.hidden, !split.hidden];
    toggle.setAttribute("aria-pressed", String(inline.hidden));
  } }, "Side by side");
  return el("div", {}, toggle, inline, split);
}

export function picture(part, app) {
  const name = visible(part.name || part.ref);
  const image = el("img", { class: "thumb", alt: part.name ? name : "picture" });
  const path = stored(part, app);
  if (!path) return el("span", {}, name);
  app.api.picture(path).then((url) => { image.src = url; }, () => image.replaceWith(name));
  return image;
}

/** A file that goes with a message, to be saved. */
export function file(part, app) {
  const name = visible(part.name || part.ref || part.type);
  const path = part.ref ? stored(part, app) : "";
  if (!path) return el("p", { class: "faint" }, `File: ${name}`);
  const save = async () => {
    try { el("a", { href: await app.api.picture(path), download: part.name || "file" }).click(); } catch (error) { app.warn(`${error.message} ${error.hint ?? ""}`); }
  };
  return el("p", {}, el("button", { type: "button", class: "file", aria: { label: `Save ${name}` }, onclick: save }, `↓ ${name}`));
}

/** Where a part of this session is kept; nowhere, if its name leads elsewhere. */
function stored(part, app) {
  const steps = part.ref.split("/");
  if (steps.some((step) => ["", ".", ".."].includes(step))) return "";
  const [folder, name] = steps.slice(-2);
  const path = folder === "attachments" || !name ? ["attachments", name ?? folder] : steps;
  return `/v1/sessions/${app.route[1]}/${path.map(encodeURIComponent).join("/")}`;
}

function lastLines(text, count) {
  const lines = text.split("\n");
  return lines.length > count ? `… ${lines.length - count} lines before\n${lines.slice(-count).join("\n")}` : text;
}
