"use strict";
const made = (tag, text, className = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = className;
  return element;
};

// what was chosen stands in the address, so that it can be sent: #goal=gap&llm=vendor/name&holds=weaker
const chosen = () => [...document.querySelectorAll("form.choose, form.filter")];
const remember = () => {
  const said = new URLSearchParams();
  for (const form of chosen()) {
    for (const field of form.querySelectorAll("[name]")) {
      const value = field.type === "checkbox" ? (field.checked ? "" : "no") : field.value;
      const first = field.tagName === "SELECT" ? field.options[0].value : "";
      if (value !== first) said.set(field.name, value);
    }
  }
  history.replaceState(null, "", `#${said}`);
};
const recall = () => {
  const text = location.hash.slice(1);
  if (!text.includes("=")) return;
  const said = new URLSearchParams(text);
  for (const form of chosen()) {
    for (const field of form.querySelectorAll("[name]")) {
      if (!said.has(field.name)) continue;
      if (field.type === "checkbox") field.checked = said.get(field.name) !== "no";
      else field.value = said.get(field.name);
    }
    form.dispatchEvent(new Event("recalled"));
  }
};

const choice = document.querySelector("form.choose");
if (choice) {
  choice.hidden = false;
  const choose = () => {
    const { goal, llm } = Object.fromEntries(["goal", "llm"].map((name) => [name, choice.elements[name].value]));
    for (const card of document.querySelectorAll(".card")) {
      let shown = 0;
      for (const said of card.querySelectorAll("[data-goal]")) {
        said.hidden = said.dataset.goal !== goal || said.dataset.llm !== llm;
        shown += !said.hidden;
      }
      card.querySelector(".unasked").hidden = shown > 0;
    }
    for (const domain of document.querySelectorAll("details.answers")) {
      const panels = [...domain.querySelectorAll(".panel")];
      for (const panel of panels) panel.hidden = llm !== "" && panel.dataset.llm !== llm;
      domain.hidden = panels.every((panel) => panel.hidden) && panels.length > 0;
      if (llm) domain.open = true;
    }
    choice.querySelector("output").textContent = "";
  };
  choice.addEventListener("input", () => {
    choose();
    remember();
  });
  choice.addEventListener("recalled", choose);
  choice.addEventListener("submit", (event) => event.preventDefault());
}

const texts = JSON.parse(document.getElementById("texts").textContent);
for (const panel of document.querySelectorAll(".panel[data-command]")) {
  const circles = [...panel.querySelectorAll("circle")];
  const opened = panel.querySelector(".opened");
  let at = -1;
  const open = (i) => {
    circles[at]?.classList.remove("at");
    at = (i + circles.length) % circles.length;
    const circle = circles[at];
    circle.classList.add("at");
    const row = circle.closest("g");
    const of = row.parentElement.dataset;
    const direction = row.classList[0];
    const under = direction === "none" ? "" : `, under a ${direction} anchor`;
    opened.replaceChildren(made("p", `${of.said}${under}. ${circle.querySelector("title").textContent}.`));
    const found = texts[panel.id]?.[at] ?? [];
    for (const text of found) {
      const quoted = made("q", text);
      quoted.dir = "auto";
      opened.append(quoted);
    }
    if (!found.length) opened.append(made("p", "No text of it was recorded, or there was no room for it."));
    const response = circle.dataset.key?.slice("value=".length);
    const [all, where] = panel.dataset.command.split(/ --where /);
    const rest = response ? ` --where ${where.replace("RESPONSE", response)}` : "";
    opened.append(made("p", "Its trials:"), made("code", `${all} ${of.option} --direction ${direction}${rest}`));
  };
  const drawing = panel.querySelector("svg");
  drawing.addEventListener("click", (event) => {
    // small dots lie under strokes and close to each other: the nearest one is meant
    const from = circles.map((circle) => {
      const box = circle.getBoundingClientRect();
      return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    });
    const nearest = from.indexOf(Math.min(...from));
    if (from[nearest] < 20) open(nearest);
  });
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || !circles.length) return;
    event.preventDefault();
    open(at < 0 && step < 0 ? circles.length - 1 : at + step);
  });
}

for (const table of document.querySelectorAll("table[data-table]")) {
  const button = made("button", "These rows as CSV", "csv");
  button.type = "button";
  button.addEventListener("click", () => {
    const cell = (one) => {
      const copy = one.cloneNode(true);
      for (const away of copy.querySelectorAll(".why, dl, button.copy")) away.remove();
      const text = copy.textContent.trim().replace(/\s+/g, " ").replace(/\u2212/g, "-");
      // what a spreadsheet would run is made text; a number such as -3.5, also with its interval, stays as it is
      const runs = /^[=@\uff1d\uff0b\uff0d\uff20]|^[+-](?!\d[\d.,]*( ?%| pp)?( \(-?\d[\d.,]* to -?\d[\d.,]*\))?$)/.test(text);
      return `"${runs ? "'" : ""}${text.replace(/"/g, '""')}"`;
    };
    const rows = [table.tHead.rows[table.tHead.rows.length - 1], ...[...table.tBodies[0].rows].filter((row) => !row.hidden)];
    const text = rows.map((row) => [...row.cells].map(cell).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`\ufeff${text}\r\n`], { type: "text/csv" }));
    link.download = `${table.dataset.table.match(/\w+\.\w+/)[0]}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  table.parentElement.after(button);
}

// a link to something inside a closed part, or to a claim that the filter hides, opens and shows it
const show = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return recall();
  target.hidden = false;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  const own = target.matches("tr") && target.querySelector("details");
  if (own) own.open = true;
  target.scrollIntoView({ block: "start" });
};
addEventListener("hashchange", show);

for (const form of document.querySelectorAll("form.filter")) {
  const table = form.parentElement.querySelector("table.claims");
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const said = form.querySelector("output");
  const only = form.elements.exceptions;
  only.closest("label").hidden = false;
  // the class of a cell says what is said of the claim
  const said_of = (row, at) => row.cells[at].className;
  const fine = (row) =>
    ["yes", "not_applicable"].includes(said_of(row, 2)) && ["holds", "not_applicable", ""].includes(said_of(row, 3));
  const value_of = (row, name) =>
    name === "document" ? row.cells[1].textContent.split(",")[0] : said_of(row, name === "recomputes" ? 2 : 3);
  const filter = () => {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = ["document", "recomputes", "holds"].map((name) => [name, form.elements[name].value]);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden =
        (only.checked && fine(row)) ||
        wanted.some(([name, value]) => value && value_of(row, name) !== value) ||
        words.some((word) => !texts[i].includes(word));
      shown += !row.hidden;
    });
    said.textContent = `${shown} of ${rows.length} shown`;
  };
  form.addEventListener("input", () => {
    filter();
    remember();
  });
  form.addEventListener("recalled", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  const heads = [...table.tHead.rows[0].cells];
  const number = (text) => {
    const found = text.replace(/\u2212/g, "-").replace(/,/g, "").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  };
  heads.forEach((head, at) => {
    head.querySelector("button").addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", other === head ? order : "none"));
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => {
        const text = (row.cells[at].querySelector("summary") ?? row.cells[at]).textContent.trim();
        return at < 4 ? text : number(text);
      };
      const keyed = rows.map((row) => [key(row), row]);
      keyed.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (at < 4 ? a.localeCompare(b, "en", { numeric: true }) : a - b);
      });
      table.tBodies[0].append(...keyed.map(([, row]) => row));
    });
  });
}

for (const claim of document.querySelectorAll("tr[id^=claim-]")) {
  claim.querySelector("details").addEventListener("toggle", (event) => {
    const list = event.target.querySelector("dl");
    if (list.querySelector(".copy")) return;
    const button = made("button", "Copy id, address and citation", "copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      const address = `${location.href.split("#")[0]}#${claim.id}`;
      const text = `${claim.dataset.key.split("=")[1]}\n${address}\nDocument ${claim.cells[1].textContent}: ${claim.querySelector("summary").textContent}`;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.replaceWith(made("pre", text));
      }
    });
    list.append(button);
  });
}
show();
