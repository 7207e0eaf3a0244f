// Making what is on screen. Text goes in as text; HTML only from the server's own rendering, here and nowhere else.

const policy = globalThis.trustedTypes?.createPolicy("agi", { createHTML: (html) => html });

/** An element: properties by name, `on…` listeners, `data` and `aria` groups, then children (text, nodes, arrays). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  append(node, children);
  return node;
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "data") for (const [key, one] of Object.entries(value)) node.dataset[key] = one;
  else if (name === "aria") for (const [key, one] of Object.entries(value)) node.setAttribute(`aria-${key}`, one);
  else if (name === "class") node.className = value;
  else if (name === "style") throw new Error("styles live in css/");
  else if (name in node && name !== "list" && name !== "form") node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

export function append(node, children) {
  for (const child of children.flat(9)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}

/** Replace what is in a node. */
export function fill(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

/** Make these a node's children. What stays in its place is not touched; the focus stays on what leads to the same place. */
export function arrange(node, children) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const keep = new Set(children);
  for (const child of [...node.childNodes]) if (!keep.has(child)) child.remove();
  let next = node.firstChild;
  for (const child of children) {
    if (child === next) next = next.nextSibling;
    else node.insertBefore(child, next);
  }
  if (!focused || document.activeElement === focused) return;
  const same = focused.isConnected ? focused : [...node.querySelectorAll("a")].find((link) => link.href === focused.href);
  same?.focus({ preventScroll: true });
}

/** Put HTML that this daemon rendered and sanitised into a node. Pictures are fetched with the page's own credential. */
export function setHtml(node, trustedFromServer, load) {
  node.replaceChildren(parsed(trustedFromServer, load));
}

export function parsed(trustedFromServer, load) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(trustedFromServer) : trustedFromServer;
  for (const image of template.content.querySelectorAll("img")) {
    const path = image.getAttribute("src") ?? image.dataset.src ?? "";
    image.removeAttribute("src");
    if (load && path.startsWith("/v1/")) load(path).then((url) => { image.src = url; }, () => image.remove());
  }
  return template.content;
}

export const $ = (id) => document.getElementById(id);

/** Call at most once a frame; not at all while the tab is hidden, but then as soon as it is shown. */
export function framed(draw) {
  let waiting = false;
  const run = () => { waiting = false; draw(); };
  return () => {
    if (waiting) return;
    waiting = true;
    if (!document.hidden) requestAnimationFrame(run);
    else document.addEventListener("visibilitychange", run, { once: true });
  };
}
