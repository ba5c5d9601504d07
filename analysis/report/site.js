"use strict";
// objects are maps alone, so that no name, such as constructor, is there without being written
const data = JSON.parse(document.getElementById("data").textContent, (_, value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.assign(Object.create(null), value) : value));
if (data.claims) {
  const { columns, shared, rows, texts } = data.claims;
  data.claims = rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, shared.includes(name) ? texts[row[i]] : row[i]])));
}
const page = document.documentElement.dataset;
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
// foreign text enters here, and as text alone
const made = (tag, attributes = {}, ...inside) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value);
  }
  element.append(...inside);
  return element;
};
const drawn = (tag, attributes = {}, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
};
// names that hold what nobody sees: how they are shown, and from what is shown how they are written
const cleaned = new Map(Object.entries(data.cleaned ?? {})), written = new Map([...cleaned].map(([name, as]) => [as, name]));
const shownAs = (name) => cleaned.get(name) ?? name;
const nameIn = (text) => written.get(text) ?? text;
const inShell = (name) => (/^[\w./:@-]+$/.test(name) ? name : `'${shownAs(name).replaceAll("'", "'\\''")}'`);
const short = (value) => (value === null ? "–" : String(+(+value).toPrecision(4)).replace("-", "−"));
const range = (low, high) => (low === high ? short(low) : `${short(low)} to ${short(high)}`);
const whole = (value) => (value === null ? "–" : String(Math.round(value) + 0).replace("-", "−"));

// what was chosen stands in the address, so that it can be sent: #place=judicial&goal=gap&llm=vendor/name
const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const remember = (how = "replaceState") => {
  const kept = Object.entries(state).filter(([, value]) => value);
  history[how](null, "", `#${new URLSearchParams(kept)}`);
};
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
const nameOf = (place) => (data.places.filter((p) => p.domain === place.domain).length > 1 ? `${place.study}/${place.domain}` : place.domain);

// ---------- several pages in one file
if ("single" in page) {
  const parts = all(".page");
  const turn = () => {
    const current = parts.find((part) => part.dataset.page === state.page) ?? parts[0];
    for (const part of parts) part.hidden = part !== current;
    for (const link of all("nav a")) link.dataset.page === current.dataset.page ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  };
  for (const link of all("nav a")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      state.page = link.dataset.page;
      remember("pushState");
      turn();
      scrollTo(0, 0);
    });
  }
  addEventListener("hashchange", () => {
    state.page = new URLSearchParams(location.hash.slice(1)).get("page");
    turn();
  });
  turn();
}

// ---------- the drawer
const drawer = document.getElementById("drawer");
const body = drawer.querySelector(".body");
drawer.querySelector(".close").addEventListener("click", () => drawer.close());
drawer.addEventListener("click", (event) => { if (event.target === drawer) drawer.close(); });
drawer.addEventListener("close", () => { delete state.technique; delete state.cell; remember(); });
const show = (...parts) => {
  body.replaceChildren(...parts);
  if (!drawer.open) drawer.showModal();
  drawer.scrollTop = 0;
};
const title = (text) => made("h2", { id: "drawer-title" }, text);

// the first answers of a technique's trials are told as a technique of their own
const FIRST = "_initial";
const isFirstAnswer = (technique) => technique.endsWith(FIRST);
const debiased = (technique) => (isFirstAnswer(technique) ? technique.slice(0, -FIRST.length) : technique);
const marked = (text, anchors) => {
  const parts = anchors.length ? text.split(new RegExp(`(?<![\\d.,])(${anchors.map((anchor) => String(anchor).replace(".", "\\.")).join("|")}|\\{anchor\\})(?![\\d]|[.,]\\d)`)) : [text];
  return parts.map((part, i) => (i % 2 ? made("mark", {}, part === "{anchor}" ? String(anchors[0]) : part) : part));
};
const turnOf = (who, text, anchors = [], isAsked = false) => made("div", { class: isAsked ? "turn asked" : "turn", dir: "auto" }, made("small", {}, who), ...marked(text, anchors));
const askedOf = (place, vignette, technique, direction, anchors) => {
  const told = data.asked[place.study]?.[vignette]?.[debiased(technique)];
  const one = told?.[direction] ?? told?.anchored ?? told?.low;
  const box = made("details", { class: "asked" }, made("summary", {}, one?.is_sent ? "What was asked, with the number marked" : "What bais would ask, with the number marked"));
  if (!one) {
    box.append(made("p", {}, "The archive kept no prompt of this case and bais has no words of its own for it, or its text has no room on this page: bais trial shows what is kept."));
    return box;
  }
  const from = one.is_sent ? `As it was sent${one.llm ? ` to ${data.llms[one.llm] ?? shownAs(one.llm)}` : ""}.` : "The archive kept no prompt: these are the words of bais, and what was sent may differ.";
  box.append(made("p", { class: "foot" }, from), ...one.turns.map((text, i) => turnOf(i ? "then" : "question", text, one.anchor === null ? anchors : [one.anchor], true)));
  return box;
};

const dotsOf = (place, vignette, llm, technique, isOwn) => {
  const cell = place.vignettes[vignette][llm];
  const control = isOwn ? `${technique}${FIRST}` : "no_technique";
  const plain = isOwn ? "First answer" : "Plain prompt";
  const name = data.techniques[technique];
  return [
    ["No anchor", "no_technique", "none"], [`${plain}, low`, control, "low"], [`${plain}, high`, control, "high"],
    [`${name}, low`, technique, "low"], [`${name}, high`, technique, "high"],
  ].map(([label, of, direction]) => ({ label, of, direction, dots: cell.dots[of]?.[direction] ?? [] }));
};

const ticksOf = (low, high) => {
  const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) ticks.push(+(i * step).toPrecision(12));
  return ticks;
};

const textsOf = (place, vignette, llm, row) => {
  const of = debiased(row.of);
  return data.texts[JSON.stringify([place.study, vignette, llm, of, row.direction])] ?? [];
};
const exactly = (row, value) => ([said, , first]) => (isFirstAnswer(row.of) ? first === value : said === value);

const anchorsOf = (place, vignette, llm, direction) => place.vignettes[vignette]?.[llm]?.anchors[direction] ?? [];

const listAnswers = (place, vignette, llm, row, value, n, total, host) => {
  const anchors = anchorsOf(place, vignette, llm, row.direction), asked = askedOf(place, vignette, row.of, row.direction, anchors);
  host.replaceChildren(made("h3", {}, value === null ? `${row.label}: no number, ${n} of ${total} asked` : `${row.label}: ${short(value)} ${place.unit}, ${n} of ${total} answers`));
  const put = (texts) => {
    const found = texts.filter(exactly(row, value)), silent = texts.filter(([said]) => said === null);
    const others = found.length ? [] : texts.filter(([said]) => said !== null);
    const shown = [...found, ...(value === null ? [] : silent), ...others];
    if (value !== null && !found.length) {
      const [, , kept] = row.dots.find(([said]) => said === value) ?? [];
      host.append(made("p", { class: "foot" }, kept || isFirstAnswer(row.of) ? "More texts: bais ui." : "The archive kept the number only."));
    }
    if (!shown.length) { host.append(asked); return; }
    const picks = made("div", { class: "picks" }), view = made("div");
    const pick = (entry, button) => {
      for (const other of picks.children) other.setAttribute("aria-pressed", other === button);
      view.replaceChildren(...entry[3].map(([who, text, isCut]) => turnOf(who, isCut ? `${text} … (cut here)` : text, anchors)), asked);
    };
    for (const entry of shown) {
      const button = made("button", { type: "button" }, entry[0] === null ? `no number (${entry[1]})` : `${short(entry[0])} ${place.unit} (${entry[1]})`);
      button.addEventListener("click", () => pick(entry, button));
      picks.append(button);
    }
    host.append(picks, view);
    pick(shown[0], picks.firstChild);
  };
  if ("live" in page) {
    const isFirst = isFirstAnswer(row.of), of = debiased(row.of);
    const query = { study: place.study, vignette, llm, technique: of, direction: row.direction, ...(isFirst ? {} : { value: value ?? "none" }) };
    listAll(query, row.label, (entry) => !isFirst || entry[2] === value, anchors, host, asked);
  } else put(textsOf(place, vignette, llm, row));
};

const CHARACTER = 7.2, NEAR = 20; // pixels: of a label, and around a dot
const drawAnswers = (place, vignette, llm, technique, isOwn) => {
  const cell = place.vignettes[vignette][llm], rows = dotsOf(place, vignette, llm, technique, isOwn).filter((row) => row.dots.length);
  const said = made("div", { "aria-live": "polite", class: "said" }), dots = [];
  if (!rows.length) return [made("p", {}, "No answer holds a number that could be drawn."), said];
  const width = Math.min(604, innerWidth - 36), height = rows.length * 44 + 40;
  // a label of two words too long for its place stands in two lines, and is cut where that is not enough
  const most = Math.floor((width * 0.4) / CHARACTER), lines = rows.map(({ label }) => (label.length <= most ? [label] : label.split(/, (?=\w+$)/)).map((line) => (line.length > most ? `${line.slice(0, most - 1)}…` : line)));
  const left = Math.max(...lines.flat().map((line) => line.length)) * CHARACTER + 16;
  const values = [...rows.flatMap((row) => row.dots.map(([value]) => value)), ...cell.anchors.low, ...cell.anchors.high];
  let low = Math.min(...values), high = Math.max(...values);
  const air = (high - low) * 0.05 || 1;
  low -= air; high += air;
  const x = (value) => left + ((value - low) / (high - low)) * (width - left - 16);
  const figure = drawn("svg", { class: "answers", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Answers; arrow keys go from dot to dot" });
  if (cell.base !== null) figure.append(drawn("line", { class: "own", x1: x(cell.base), x2: x(cell.base), y1: 0, y2: rows.length * 44 }));
  rows.forEach((row, i) => {
    const y = i * 44 + 24, total = row.dots.reduce((sum, [, n]) => sum + n, 0);
    const mean = row.dots.reduce((sum, [value, n]) => sum + value * n, 0) / total;
    if (i) figure.append(drawn("line", { class: "row", x1: 0, x2: width, y1: i * 44, y2: i * 44 }));
    figure.append(drawn("text", { x: 0, y: y + (lines[i].length > 1 ? -4 : 4) }, drawn("title", {}, row.label), ...lines[i].map((line, j) => drawn("tspan", { x: 0, dy: j * 16 }, line))));
    for (const anchor of cell.anchors[row.direction] ?? []) figure.append(drawn("path", { class: row.direction, d: `M${x(anchor) - 5} ${i * 44 + 3}h10l-5 8z` }));
    figure.append(drawn("line", { class: "mean", x1: x(mean), x2: x(mean), y1: y - 13, y2: y + 13 }));
    for (const [value, n] of row.dots) {
      const dot = drawn("g", { role: "button", tabindex: -1, "aria-label": `${row.label}: ${short(value)} ${place.unit}, ${n} of ${total} answers` },
        drawn("circle", { cx: x(value), cy: y, r: 13, fill: "transparent" }),
        drawn("circle", { class: row.direction, cx: x(value), cy: y, r: Math.max(3.5, Math.sqrt(n / total) * 15), "fill-opacity": 0.85 }));
      dot.open = () => {
        for (const other of dots) { other.classList.toggle("at", other === dot); other.setAttribute("tabindex", other === dot ? 0 : -1); }
        listAnswers(place, vignette, llm, row, value, n, total, said);
      };
      dot.share = row.of === technique ? n / total : 0;
      dot.place = [x(value), y];
      dot.addEventListener("focus", dot.open);
      dots.push(dot);
      figure.append(dot);
    }
  });
  for (const tick of ticksOf(low, high)) figure.append(drawn("text", { x: x(tick), y: height - 20, "text-anchor": "middle" }, short(tick)));
  figure.append(drawn("text", { x: width, y: height - 3, "text-anchor": "end" }, place.unit));
  // of dots that lie on one another the nearest is meant
  figure.addEventListener("click", (event) => {
    const box = figure.getBoundingClientRect();
    const far = (dot) => Math.hypot(dot.place[0] - event.clientX + box.left, dot.place[1] - event.clientY + box.top);
    const [nearest] = event.detail ? dots.toSorted((a, b) => far(a) - far(b)) : [event.target.closest("g")];
    if (nearest && (!event.detail || far(nearest) <= NEAR)) nearest.focus();
  });
  figure.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    dots[(dots.indexOf(document.activeElement) + step + dots.length) % dots.length].focus();
  });
  dots.toSorted((a, b) => b.share - a.share)[0]?.open();
  return [figure, said];
};

const openCell = (place, goal, technique, llm, vignette = Object.keys(place.vignettes).find((name) => place.vignettes[name][llm])) => {
  const [ring, dot, low, high, word, isOwn] = place.goals[goal].cells[llm][technique];
  const name = data.llms[llm] ?? shownAs(llm), cell = place.vignettes[vignette]?.[llm];
  Object.assign(state, { technique, cell: llm });
  remember();
  const without = isOwn ? "of its first answers" : "of a plain prompt";
  const lines = [made("p", {}, `The pull ${without} is ${whole(ring)} %, with ${data.techniques[technique]} ${whole(dot)} %${low === null ? "" : ` (95 % interval ${whole(low)} to ${whole(high)} %)`}: ${word}.`)];
  const [asked, answered] = place.asked[llm]?.[technique] ?? [0, 0];
  if (answered < asked) lines.push(made("p", { class: "gone" }, `${asked - answered} of ${asked} questions got no number. The dots are the ${answered} that did.`));
  const parts = [title(`${data.techniques[technique]} with ${name}`), ...lines];
  if (Object.keys(place.vignettes).length > 1) {
    const choice = made("select", {}, ...Object.keys(place.vignettes).filter((other) => place.vignettes[other][llm]).map((other) => made("option", { value: other, ...(other === vignette ? { selected: "" } : {}) }, shownAs(other))));
    choice.addEventListener("change", () => openCell(place, goal, technique, llm, choice.value));
    parts.push(made("label", { class: "one" }, "Case ", choice));
  }
  if (cell) {
    const [figure, said] = drawAnswers(place, vignette, llm, technique, isOwn);
    const silent = dotsOf(place, vignette, llm, technique, isOwn).filter((row) => !isFirstAnswer(row.of)).filter((row) => textsOf(place, vignette, llm, row).some(([value]) => value === null) || ("live" in page && answered < asked && row.of === technique));
    const picks = made("div", { class: "picks" });
    for (const row of silent) {
      const n = textsOf(place, vignette, llm, row).filter(([value]) => value === null).reduce((sum, [, count]) => sum + count, 0);
      const button = made("button", { type: "button" }, `no number given: ${row.label}`);
      const total = row.dots.reduce((sum, [, count]) => sum + count, 0);
      button.addEventListener("click", () => listAnswers(place, vignette, llm, row, null, n || asked - answered, total + (n || asked - answered), said));
      picks.append(button);
    }
    parts.push(figure, made("p", { class: "foot" }, "Dashed: this LLM's mean without an anchor. ▼ the anchor. Upright stroke: the mean of a row. Area of a dot: how many gave that number."), picks, said);
  }
  parts.push(made("p", { class: "foot" }, made("code", {}, `bais trials --study ${inShell(place.study)} --llm ${inShell(llm)} --technique ${inShell(technique)}`), " lists them all."));
  show(...parts);
};

const openTechnique = (place, goal, technique) => {
  Object.assign(state, { technique, cell: "" });
  remember();
  const calls = data.calls[technique], costs = data.costs.filter((row) => row.study === place.study && row.technique === technique);
  const usd = costs.map((row) => row.cost_usd_per_answer).filter((value) => value !== null);
  const counted = costs.map((row) => row.calls_per_trial).filter((value) => value !== null);
  const cost = [counted.length ? `${range(Math.min(...counted), Math.max(...counted))} calls for an answer on average, by LLM` : calls ? `As bais asks it, ${range(...calls)} calls for an answer` : null,
    usd.length && !Math.max(...usd) ? "its calls cost nothing" : usd.length ? `${Math.min(...usd).toPrecision(2)} to ${Math.max(...usd).toPrecision(2)} USD an answer, by LLM` : "what it costs in USD is not known, since tokens were not counted or its LLMs have no price"].filter(Boolean);
  const vignette = Object.keys(place.vignettes)[0], anyone = Object.keys(place.vignettes[vignette] ?? {})[0];
  const isSent = data.asked[place.study]?.[vignette]?.[technique]?.high?.is_sent ?? false;
  show(
    title(data.techniques[technique]), ...(data.does[technique] ? [made("p", {}, `${data.does[technique]}.`)] : []),
    made("h3", {}, "How sure"), ...place.goals[goal].lines[technique].map((line) => made("p", {}, line)),
    made("h3", {}, "What it costs"), made("p", {}, `${cost.join("; ")}.`),
    made("h3", {}, isSent ? "What it says" : "What it says in the words of bais"), ...(data.says[technique] ?? []).map((text, i) => turnOf(i ? "then" : "after the question", text, [], true)),
    askedOf(place, vignette, technique, "high", anchorsOf(place, vignette, anyone, "high")),
  );
};

// ---------- the matrix: one tab stop, arrow keys
const walkable = (table) => {
  const rows = all("tr", table).map((row) => all("button", row)).filter((row) => row.length);
  const stops = rows.flat();
  stops.forEach((button, i) => { button.tabIndex = i ? -1 : 0; });
  table.addEventListener("focusin", (event) => { if (stops.includes(event.target)) for (const button of stops) button.tabIndex = button === event.target ? 0 : -1; });
  table.addEventListener("keydown", (event) => {
    const row = rows.findIndex((buttons) => buttons.includes(document.activeElement));
    if (row < 0) return;
    const at = rows[row].indexOf(document.activeElement);
    const moves = { ArrowRight: [row, at + 1], ArrowLeft: [row, at - 1], ArrowDown: [row + 1, at], ArrowUp: [row - 1, at], Home: [row, 0], End: [row, rows[row].length - 1] };
    const [r, c] = moves[event.key] ?? [];
    const next = rows[r]?.[Math.min(Math.max(c, 0), rows[r].length - 1)];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
};

const form = document.querySelector("form.choose");
if (form) {
  form.hidden = false;
  const sections = all("section.matrix"), inOrder = new Map(sections.map((section) => [section, all("tr[data-llm]", section)]));
  const place = () => data.places[+form.elements.place.value];
  const ofLlm = (chosen, goal) => {
    const llm = nameIn(form.elements.llm.value);
    if (!llm) return "";
    const told = chosen.goals[goal].say[llm];
    if (told) return told;
    const name = data.llms[llm] ?? shownAs(llm), vendor = data.vendors[llm];
    const there = Object.keys(chosen.asked), same = there.filter((other) => vendor && data.vendors[other] === vendor);
    const elsewhere = data.places.filter((other) => other.asked[llm]).map((other) => shownAs(other.domain));
    const nearest = same.length ? `Nearest, of the same vendor: ${same.map((other) => data.llms[other] ?? shownAs(other)).join(", ")}.` : "None of the same vendor was asked, so the top row is the nearest.";
    return `Nobody has asked ${name} here${elsewhere.length ? ` (it was asked in ${elsewhere.join(", ")})` : ""}. ${nearest} To ask it, write its study (bais plan --to-settle ${inShell(chosen.domain)} --study ${inShell(chosen.study)} --llm ${inShell(llm)}) and run bais collect on that.`;
  };
  const choose = () => {
    const chosen = place(), goal = form.elements.goal.value, llm = nameIn(form.elements.llm.value);
    Object.assign(state, { place: nameOf(chosen), goal, llm });
    for (const section of sections) {
      section.hidden = +section.dataset.place !== +form.elements.place.value || section.dataset.goal !== goal;
      if (section.hidden) continue;
      section.querySelector(".of-llm").textContent = ofLlm(chosen, goal);
      const rows = inOrder.get(section);
      for (const row of rows) row.classList.toggle("mine", nameIn(row.dataset.llm) === llm);
      section.querySelector("tr.over")?.after(...rows.toSorted((a, b) => b.classList.contains("mine") - a.classList.contains("mine")));
    }
    remember();
  };
  const leading = (chosen) => Object.entries(chosen.goals).find(([, goal]) => goal.leads)?.[0] ?? Object.keys(chosen.goals)[0];
  const start = Math.max(data.places.findIndex((p) => nameOf(p) === state.place), 0);
  form.elements.place.value = String(start);
  form.elements.goal.value = state.goal in data.places[start].goals ? state.goal : leading(data.places[start]);
  form.elements.llm.value = all("option", form).some((option) => option.value === shownAs(state.llm)) ? shownAs(state.llm) : "";
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const section of sections) {
    const chosen = data.places[+section.dataset.place], { goal } = section.dataset;
    const table = section.querySelector("table");
    if (!table) continue;
    walkable(table);
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const { llm } = button.closest("tr").dataset, technique = nameIn(button.dataset.technique);
      if (llm) openCell(chosen, goal, technique, nameIn(llm));
      else openTechnique(chosen, goal, technique);
    });
  }
  const { technique, cell } = state;
  choose();
  const goal = form.elements.goal.value;
  if (cell && place().goals[goal].cells[cell]?.[technique]) openCell(place(), goal, technique, cell);
  else if (technique && technique in place().goals[goal].lines) openTechnique(place(), goal, technique);
}

// ---------- the ledger
const filter = document.querySelector("form.claims");
if (filter) {
  filter.hidden = false;
  const host = document.querySelector("div.claims"), MOST = 60;
  const titles = Object.fromEntries(all("option", filter.elements.paper).map((option) => [option.value, option.text.replace(/ \(.*\)$/, "")]));
  const numberOf = (value, claim) => (value === null ? "–" : value.toFixed(Math.min(claim.digits + 1, 6)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace("-", "−"));
  const half = (claim) => {
    const numbers = [claim.printed, claim.value, claim.low, claim.high].filter((value) => value !== null);
    let low = Math.min(...numbers), high = Math.max(...numbers);
    const air = (high - low) * 0.25 || Math.abs(high) * 0.25 || 1;
    low -= air; high += air;
    const x = (value) => `${((100 * (value - low)) / (high - low)).toFixed(2)}%`;
    const isBelow = claim.sign.startsWith("<"), isAbove = claim.sign.startsWith(">");
    const from = isBelow ? low : claim.printed, to = isAbove ? high : claim.printed;
    const figure = drawn("svg", { role: "img", "aria-label": `printed ${claim.sign} ${numberOf(claim.printed, claim)}; ours ${numberOf(claim.value, claim)}${claim.low === null ? "" : `, ${numberOf(claim.low, claim)} to ${numberOf(claim.high, claim)}`}` });
    if (isBelow || isAbove) figure.append(drawn("rect", { class: "zone", x: x(from), y: 2, width: `${((100 * (to - from)) / (high - low)).toFixed(2)}%`, height: 22 }));
    figure.append(drawn("line", { class: "edge", x1: x(claim.printed), x2: x(claim.printed), y1: 0, y2: 26 }));
    if (claim.low !== null && claim.high !== null) figure.append(drawn("line", { class: "interval thick", x1: x(claim.low), x2: x(claim.high), y1: 13, y2: 13 }));
    if (claim.value !== null) figure.append(drawn("svg", { x: x(claim.value), y: 13, overflow: "visible" }, drawn("path", { class: "dot", d: "M0 -6l6 6l-6 6l-6 -6z" })));
    return figure;
  };
  const one = (claim) => {
    const unit = [null, "1"].includes(claim.unit) ? "" : ` ${claim.unit}`;
    const ours = claim.value === null ? "" : `; by ours ${numberOf(claim.value, claim)}${claim.low === null ? "" : ` (95 % interval ${numberOf(claim.low, claim)} to ${numberOf(claim.high, claim)})`}`;
    const again = claim.again === null ? "" : `; by its method ${numberOf(claim.again, claim)}`;
    const says = `${filter.elements.paper.value ? "" : `${titles[claim.document] ?? claim.document}, `}${claim.where}: prints ${claim.sign === "=" ? "" : `${claim.sign} `}${numberOf(claim.printed, claim)}${unit}${again}${ours}`;
    const box = made("div", { class: `claim ${claim.tone}`, id: `claim-${claim.id}` }, made("b", {}, claim.word), ` ${claim.text}`, made("small", {}, says), half(claim));
    if (claim.why) box.append(made("details", {}, made("summary", {}, "why"), made("p", {}, claim.why)));
    return box;
  };
  let shown = MOST;
  const list = () => {
    const { paper, verdict } = filter.elements;
    const found = data.claims.filter((claim) => (!paper.value || claim.document === paper.value) && (verdict.value === "all" || (verdict.value === "sums" ? claim.recomputes === "no" : (claim.verdict ?? "") === verdict.value)));
    host.replaceChildren(...found.slice(0, shown).map(one));
    if (found.length > shown) host.append(made("button", { type: "button", class: "link", onclick: () => { shown += 10 * MOST; list(); } }, `${found.length - shown} more`));
    filter.querySelector("output").textContent = `${found.length} ${found.length === 1 ? "claim" : "claims"}`;
    Object.assign(state, { paper: paper.value, verdict: verdict.value });
    remember();
  };
  const kept = { paper: state.paper, verdict: state.verdict ?? "contradicted" };
  for (const [name, value] of Object.entries(kept)) if (all("option", filter.elements[name]).some((option) => option.value === value)) filter.elements[name].value = value;
  filter.addEventListener("input", () => { shown = MOST; list(); });
  filter.addEventListener("submit", (event) => event.preventDefault());
  for (const button of all("[data-paper]")) {
    button.addEventListener("click", () => {
      filter.elements.paper.value = nameIn(button.dataset.paper);
      shown = MOST;
      list();
      filter.scrollIntoView();
    });
  }
  list();
}

// ---------- a server beside the page: every answer with all that was said, and whether the warehouse has changed since
async function askServer(what, query = {}) {
  const reply = await fetch(`${what}?${new URLSearchParams(query)}`).catch(() => { throw new Error("bais ui does not answer: start it again."); });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}

async function listAll(query, label, isOf, anchors, host, asked) {
  const heading = host.firstChild, AT_ONCE = 200, OPENING = 40;
  const isGone = () => host.firstChild !== heading; // another dot was opened meanwhile
  const complain = (error) => { if (!isGone()) host.append(made("p", { class: "foot" }, error.message)); };
  const seen = (text) => text.replace(/(?!\n)\p{C}/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
  const answers = await askServer("cell", query).then((all) => all.filter(isOf)).catch(complain);
  if (!answers || isGone()) return;
  const count = `${answers.length.toLocaleString("en")} ${answers.length === 1 ? "answer" : "answers"}`;
  if (query.value === "none") heading.textContent = `${label}: no number, ${count}`;
  const silent = answers.filter(([, , , turns]) => !turns.length).length;
  host.append(made("p", { class: "foot" }, `${count} in all${silent ? `; of ${silent.toLocaleString("en")} the archive kept the number only` : ""}.`));
  const picks = made("div", { class: "picks every" }), view = made("div");
  const whole = (id) => askServer("trial", { id }).then(({ turns }) => view.replaceChildren(...turns.flatMap(({ prompt, reply, step, reason }) => [
    ...(prompt === null ? [] : [turnOf("asked", seen(prompt), anchors, true)]), turnOf(step ?? "answer", seen(reply ?? `no text: ${reason}`), anchors)]))).catch(complain);
  const pick = ([, , , turns, id], button) => {
    for (const other of picks.children) other.setAttribute("aria-pressed", other === button);
    view.replaceChildren(...turns.map(([who, text, isCut]) => turnOf(who, isCut ? `${text} … (cut here)` : text, anchors)),
      made("p", { class: "foot" }, made("code", {}, `bais trial ${id}`), " ", made("button", { type: "button", class: "link", onclick: () => whole(id) }, "all that was asked and said")));
  };
  const list = () => {
    const from = picks.children.length, left = () => answers.length - picks.children.length;
    picks.append(...answers.slice(from, from + AT_ONCE).map((entry, i) => {
      const said = entry[3].at(-1)?.[1].replace(/\s+/g, " ") ?? "number only";
      const button = made("button", { type: "button" }, `${from + i + 1}: ${said.length > OPENING ? `${said.slice(0, OPENING)} …` : said}`);
      button.addEventListener("click", () => pick(entry, button));
      return button;
    }));
    more.hidden = !left();
    more.textContent = `${left().toLocaleString("en")} more`;
  };
  const more = made("button", { type: "button", class: "link", onclick: () => list() });
  list();
  host.append(picks, more, view, asked);
  if (answers.length) pick(answers[0], picks.firstChild);
}

if ("live" in page) {
  const news = made("p", { class: "news", role: "status" });
  document.querySelector("header .wrap").append(news);
  setInterval(async () => {
    const { version } = await askServer("version").catch(() => ({ version: page.live }));
    if (version === page.live || news.firstChild) return;
    news.append("The warehouse has changed since this page was made. ", made("button", { type: "button", class: "link", onclick: () => location.reload() }, "Show it as it is now"));
  }, 2000);
}
