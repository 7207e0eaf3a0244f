// Small charts of our own: SVG with a title and a description in words, and a table behind them for whoever wants numbers.

import { el } from "./dom.js";
import { money } from "./status.js";

const SVG = "http://www.w3.org/2000/svg";
let count = 0;

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Money as far as it is known: a sum with calls of unknown price says so. Unknown is a question mark, never 0. */
export function cost(sum) {
  if (!sum || !sum.requests) return "–";
  if (sum.cost_usd !== null && sum.cost_usd !== undefined) return money(sum.cost_usd);
  return sum.priced_usd > 0 ? `${money(sum.priced_usd)} + ?` : "?";
}

export function tokens(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(1)}M`;
  return number >= 1e4 ? `${Math.round(number / 1e3)}k` : number.toLocaleString("en");
}

/** A bar for each point {label, value, known, shown}; `about` names the chart, and a table tells all of it. */
export function bars(points, about, columns) {
  const id = `chart-${++count}`;
  const width = 640, base = 96;
  const most = Math.max(...points.map((one) => one.value), 1e-9);
  const step = width / Math.max(points.length, 1);
  const top = points.reduce((best, one) => (one.value > best.value ? one : best), points[0] ?? { value: 0, label: "", shown: "" });
  const words = points.length ? `${points.length} bars, from ${points[0].label} to ${points.at(-1).label}. The highest is ${top.label}: ${top.shown}.` : "Nothing yet.";
  const drawn = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${base + 1}`, preserveAspectRatio: "none", role: "img", "aria-labelledby": `${id}-t ${id}-d` });
  const title = svg("title", { id: `${id}-t` }), description = svg("desc", { id: `${id}-d` });
  title.textContent = about;
  description.textContent = words;
  drawn.append(title, description, svg("line", { class: "axis", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }));
  points.forEach((one, at) => {
    const tall = one.value > 0 ? Math.max(2, (one.value / most) * (base - 8)) : one.known ? 0 : 6;
    if (!tall) return;
    const bar = svg("rect", { class: one.known ? "bar" : one.value > 0 ? "bar partly" : "bar unknown", x: at * step + step * 0.12, y: base - tall, width: step * 0.76, height: tall, rx: 1.5 });
    const tip = svg("title");
    tip.textContent = `${one.label}: ${one.shown}`;
    bar.append(tip);
    drawn.append(bar);
  });
  const ends = points.length ? el("div", { class: "row ends small", aria: { hidden: "true" } }, el("span", {}, points[0].label), el("span", { class: "most" }, top.value > 0 ? `most: ${top.shown} (${top.label})` : ""), el("span", {}, points.at(-1).label)) : null;
  return el("div", {}, drawn, ends, table(about, columns, points.map((one) => one.cells)));
}

/** How much of the most there is: a bar beside numbers that say the same. */
function share(value, most) {
  return svg("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar", x: 0, y: 0, width: value > 0 ? Math.max(1, (value / most) * 100) : 0, height: 8 }));
}

/** The same as numbers, folded away unless `open`; with `values`, each row has a bar as long as its own is large. */
export function table(about, columns, rows, { open = false, values = null } = {}) {
  const most = Math.max(...(values ?? []), 1e-9);
  const beside = (cell, at) => (values ? [cell, share(values[at], most)] : cell);
  const head = el("tr", {}, columns.map((name, at) => el("th", { scope: "col", class: at ? "number" : "" }, name)));
  const body = rows.map((cells, row) => el("tr", {}, cells.map((cell, at) => (at ? el("td", { class: "number" }, cell) : el("th", { scope: "row" }, beside(cell, row))))));
  const grid = el("div", { class: "scroll", tabIndex: 0, role: "region", aria: { label: about } },
    el("table", { class: "bars" }, el("caption", { class: "unseen" }, about), el("thead", {}, head), el("tbody", {}, body)));
  if (open) return grid;
  return el("details", { class: "figures-table" }, el("summary", {}, "As a table"), grid);
}

/** How full a model's window is: the number first, then a bar. Unknown is a question mark. */
export function gauge(percent) {
  if (percent === null || percent === undefined) return el("span", { class: "gauge faint" }, el("span", {}, "Context ?"));
  const drawn = svg("svg", { viewBox: "0 0 60 8", "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 0, width: 60, height: 8, rx: 2 }),
    svg("rect", { class: "used", x: 0, y: 0, width: Math.min(60, percent * 0.6), height: 8, rx: 2 }));
  return el("span", { class: "gauge", data: { level: percent >= 85 ? "high" : "" } }, el("span", {}, `Context ${Math.round(percent)}%`), drawn);
}
