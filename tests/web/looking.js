// What the tests ask of a page that is open in the browser: `look(page, "sideways")` calls one of these in it.
({
  /** What reaches beyond the page's width and cannot be scrolled by itself. */
  sideways() {
    const wide = document.documentElement.clientWidth;
    const scrolls = (node) => {
      for (let up = node.parentElement; up && up !== document.body; up = up.parentElement) {
        const fits = up.id !== "main" && up.getBoundingClientRect().right <= wide + 1;
        if (fits && /auto|scroll|hidden|clip/.test(getComputedStyle(up).overflowX)) return true;
      }
      return false;
    };
    const over = [...document.querySelectorAll("body *")].filter((node) => {
      const box = node.getBoundingClientRect();
      return box.width > 1 && box.right > wide + 1 && !node.closest(".skip, .unseen") && !scrolls(node) && node.checkVisibility();
    }).map((node) => `${node.tagName}.${node.className} to ${Math.round(node.getBoundingClientRect().right)} of ${wide}`);
    const main = document.getElementById("main");
    if (main.scrollWidth > main.clientWidth + 1) over.push(`main is ${main.scrollWidth} wide of ${main.clientWidth}`);
    if (document.documentElement.scrollWidth > wide) over.push("the page itself");
    return over;
  },

  /** Text on screen with less than 4.5 : 1 (3 : 1 where it is large) on what is really behind it. */
  faint() {
    const numbers = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const light = (colour) => colour.slice(0, 3).reduce((sum, value, at) => sum + linear(value / 255) * [0.2126, 0.7152, 0.0722][at], 0);
    const over = (top, under) => [0, 1, 2].map((at) => top[at] * (top[3] ?? 1) + under[at] * (1 - (top[3] ?? 1)));
    const ground = (node) => {
      const layers = [];
      for (let up = node; up; up = up.parentElement) {
        const found = numbers(getComputedStyle(up).backgroundColor);
        if ((found[3] ?? 1) > 0) layers.push(found);
        if ((found[3] ?? 1) === 1) break;
      }
      return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.data.trim(), node = walker.currentNode.parentElement;
      if (!text || node.closest(".unseen, noscript, svg, .skip") || !node.checkVisibility({ opacityProperty: true, contentVisibilityAuto: true })) continue;
      const style = getComputedStyle(node), behind = ground(node), ink = numbers(style.color);
      let opacity = ink[3] ?? 1;
      for (let up = node; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
      const [a, b] = [light(over([...ink.slice(0, 3), opacity], behind)), light(behind)].sort((x, y) => y - x);
      const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < (isLarge ? 3 : 4.5)) found.add(`${ratio.toFixed(2)} ${node.tagName}.${node.className}: ${text.slice(0, 40)}`);
    }
    return [...found];
  },

  /** What is to be hit with a finger and is smaller than this, in px. */
  small(least) {
    return [...document.querySelectorAll("button, a.button, summary, #places a, a.session, select, textarea, input")].filter((node) => {
      const target = node.matches("input[type=checkbox], input[type=radio]") ? node.closest("label") ?? node : node;
      const box = target.getBoundingClientRect();
      return node.checkVisibility() && node.type !== "file" && (box.height < least - 0.5 || box.width < least - 0.5);
    }).map((node) => {
      const box = node.getBoundingClientRect();
      return `${node.tagName}.${node.className} ${(node.textContent || node.ariaLabel || "").slice(0, 30)} ${Math.round(box.width)}×${Math.round(box.height)}`;
    });
  },

  /** What repeats an id, and what jumps the order of Tab. */
  misplaced() {
    const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
    const ahead = [...document.querySelectorAll("[tabindex]")].filter((node) => node.tabIndex > 0).map((node) => node.outerHTML);
    return [...ids.filter((id, at) => ids.indexOf(id) !== at), ...ahead];
  },

  /** From now on keep what the live regions that fit the selector say, in `window.heard`. */
  listen(selector) {
    window.heard = [];
    for (const node of document.querySelectorAll(selector)) {
      new MutationObserver(() => window.heard.push(node.textContent)).observe(node, { childList: true, characterData: true, subtree: true });
    }
  },

  /** The daemon is lost for a while, as far as the page knows; the seconds count down. */
  async lose() {
    const { app } = await import("/web/js/main.js");
    window.app = app;
    for (const left of [9000, 8000, 7000]) {
      app.api.lost(Date.now() + left);
      await new Promise(requestAnimationFrame);
    }
  },

  /** What has the focus: its name, and how its outline is drawn. */
  focus() {
    const node = document.activeElement, style = getComputedStyle(node);
    return { name: (node.ariaLabel ?? node.innerText ?? "").trim(), outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth) };
  },

  /** What moves, or would. */
  moving() {
    const slow = [...document.querySelectorAll("*")].filter((node) => parseFloat(getComputedStyle(node).transitionDuration) > 0);
    return [...slow.map((node) => node.className), ...document.getAnimations().map(String)];
  },

  /** Go back to the first message as fast as it goes; how many rows were there at most, and whether each knows its place. */
  async rewind() {
    const box = document.querySelector(".transcript"), list = document.querySelector(".rows");
    let most = 0;
    new MutationObserver(() => { most = Math.max(most, list.children.length); }).observe(list, { childList: true });
    for (let waited = 0; waited < 300;) {
      const before = list.firstChild.dataset.row;
      box.dispatchEvent(new WheelEvent("wheel", { deltaY: -5000 }));
      box.scrollTop = 0;
      box.dispatchEvent(new Event("scroll"));
      await new Promise(requestAnimationFrame);
      waited = list.firstChild.dataset.row === before ? waited + 1 : 0;
      if (list.firstChild.textContent.includes("Message 0:") && box.scrollTop === 0) break;
    }
    const placed = [...list.children].every((node, at) => node.ariaPosInSet === String(at + 1) && node.ariaSetSize === "10000");
    return { most, placed };
  },

  /** From now on count what changes in the conversation: within the growing text (`drawn`) and elsewhere (`outside`). */
  watch() {
    Object.assign(window, { outside: [], drawn: 0 });
    new MutationObserver((changes) => {
      for (const { target, type, attributeName } of changes) {
        const node = target.nodeType === 1 ? target : target.parentElement;
        if (node?.closest(".prose[aria-busy]")) window.drawn += 1;
        else window.outside.push(`${type} ${attributeName ?? ""} in ${node?.tagName}.${node?.className}`);
      }
    }).observe(document.querySelector(".transcript-frame"), { childList: true, characterData: true, attributes: true, subtree: true });
  },

  /** Drop a picture onto the conversation. */
  drop(bytes) {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "basket.png", { type: "image/png" }));
    document.querySelector(".chat").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  },

  /** The words of the last answer. */
  answer() {
    return [...document.querySelectorAll("article.assistant .prose")].at(-1).textContent.replace(/\s+/g, " ").trim();
  },
})
