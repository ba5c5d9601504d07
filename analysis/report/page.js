"use strict";
for (const form of document.querySelectorAll("form.filter")) {
  const table = form.parentElement.querySelector("table.claims");
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const said = form.querySelector("output");
  const filter = () => {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = ["document", "recomputes", "holds"].map((name) => [name, form.elements[name].value]);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden =
        wanted.some(([name, value]) => value && row.dataset[name] !== value) ||
        words.some((word) => !texts[i].includes(word));
      shown += !row.hidden;
    });
    said.textContent = `${shown} of ${rows.length} shown`;
  };
  form.addEventListener("input", filter);
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
