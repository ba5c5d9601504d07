// What a reader's eye finds in a page, for the tests in a browser: each function returns what is wrong, or what is seen.
window.eyes = (() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((v, i) => v * a + under[i] * (1 - a)).concat(1);
  const light = (colour) => colour.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3]) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((under, layer) => over(layer, under), rgba("Canvas"));
  };
  const opacity = (element) => {
    let all = 1;
    for (let at = element; at; at = at.parentElement) all *= +getComputedStyle(at).opacity;
    return all;
  };
  const isClipped = (element) => Boolean(element.closest(".unseen, .skip")) || (() => {
    for (let at = element; at; at = at.parentElement) if (getComputedStyle(at).clipPath.startsWith("inset(50%")) return true;
    return false;
  })();
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !isClipped(element);
  const host = () => document.querySelector("dialog[open]") ?? document.body;
  const named = (element) => `${element.tagName}.${element.getAttribute("class") ?? ""} ${(element.textContent ?? "").trim().slice(0, 40)}`;
  const texts = (root = host()) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || element.closest("script, style, title, option, svg .stamp") || !isShown(element)) continue;
      found.push(walker.currentNode);
    }
    return found;
  };
  const boxesOf = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()].filter((box) => box.width > 1);
  };
  // a line of text as its letters stand: without the room above and below them
  const letters = (box) => ({ left: box.left + 0.5, right: box.right - 0.5, top: box.top + box.height * 0.22, bottom: box.bottom - box.height * 0.22 });
  const meet = (a, b, by = 0.5) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  return {
    words: () => texts().map((node) => node.data.trim().replace(/\s+/g, " ")),
    labels: () => [...host().querySelectorAll("[data-label]")].filter(isShown).map((cell) => cell.dataset.label),
    count: (selector, without) => texts(document.querySelector("main")).filter((node) => node.parentElement.closest(selector) && !(without && node.parentElement.closest(without)))
      .join(" ").length && texts(document.querySelector("main")).filter((node) => node.parentElement.closest(selector) && !(without && node.parentElement.closest(without)))
      .flatMap((node) => node.data.trim().split(/\s+/)).length,
    pale: () => {
      const poor = new Set();
      for (const node of texts()) {
        const element = node.parentElement, style = getComputedStyle(element), isDrawn = Boolean(element.closest("svg"));
        const bar = element.closest(".bar g")?.querySelector("rect");
        const under = bar ? rgba(getComputedStyle(bar).fill) : behind(element);
        const [r, g, b, a] = rgba(isDrawn ? style.fill : style.color);
        const found = ratio(over([r, g, b, a * opacity(element)], under), under);
        if (found < 4.5) poor.add(`${named(element)} ${found.toFixed(2)}`);
      }
      return [...poor];
    },
    paleMarks: () => {
      const poor = new Set();
      let n = 0;
      for (const mark of host().querySelectorAll("svg .dot, svg .ring, svg .interval, svg .wide, svg .change, svg .beyond, .answers circle:last-child, .answers path, .answers .mean, .answers .own")) {
        if (!isShown(mark)) continue;
        n += 1;
        const style = getComputedStyle(mark), under = behind(mark), isFilled = style.fill !== "none" && !mark.matches("line, .ring");
        const [r, g, b, a] = rgba(isFilled ? style.fill : style.stroke);
        const share = a * opacity(mark) * (isFilled ? style.fillOpacity : style.strokeOpacity);
        const found = ratio(over([r, g, b, share], under), under);
        if (found < 3) poor.add(`${named(mark)} ${found.toFixed(2)}`);
      }
      return { n, poor: [...poor] };
    },
    small: () => [...new Set(texts().filter((node) => parseFloat(getComputedStyle(node.parentElement).fontSize) < 12).map((node) => named(node.parentElement)))],
    narrow: () => [...host().querySelectorAll("a, button, select, summary, label:has(input), [role=button]")].filter(isShown).filter((element) => {
      const { width, height } = element.getBoundingClientRect();
      return width < 24 || height < 23.95;
    }).map(named),
    struck: () => {
      const wrong = [];
      for (const drawing of host().querySelectorAll("svg")) {
        if (!isShown(drawing) || drawing.parentElement.closest("svg")) continue;
        const scope = drawing.closest(".cell, .key > span") ?? drawing;
        const labels = texts(scope).flatMap((node) => boxesOf(node).map((box) => [node.data, letters(box)]));
        labels.forEach(([a, one], i) => labels.slice(i + 1).forEach(([b, other]) => { if (meet(one, other)) wrong.push(`${a} on ${b}`); }));
        for (const line of drawing.querySelectorAll("line, .change, .dot, .ring, .beyond path, .answers circle:last-child, .answers path")) {
          if (!isShown(line) || ["none", "transparent"].includes(getComputedStyle(line).stroke) && getComputedStyle(line).fill === "none") continue;
          const box = line.getBoundingClientRect(), thick = line.matches("line") ? 0.8 : 0;
          const wide = { left: box.left - thick, right: box.right + thick, top: box.top - thick, bottom: box.bottom + thick };
          for (const [text, one] of labels) if (meet(one, wide)) wrong.push(`${text} struck by ${named(line)}`);
        }
      }
      return wrong;
    },
    crowded: () => { // labels of neighbouring cells on one another, in tables that are drawn in
      const labels = [...host().querySelectorAll("table.cells td, table.cells th")].filter(isShown)
        .map((cell) => [cell, texts(cell).flatMap((node) => boxesOf(node).map((box) => [node.data.trim(), letters(box)]))]);
      const wrong = [];
      for (const [cell, own] of labels) {
        const box = cell.getBoundingClientRect();
        for (const [text, one] of own) if (one.left < box.left - 1 || one.right > box.right + 1) wrong.push(`${text} leaves its cell`);
      }
      return wrong;
    },
    injected: () => document.querySelectorAll("img, iframe, object, embed, base, [onload], [onerror], script:not(#data):not(:last-of-type)").length,
    turned: () => /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(document.body.innerText + texts(document.documentElement).map((node) => node.data).join("")),
  };
})();
