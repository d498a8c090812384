"use strict";
// Tables sort by a click on a column's name, or by Enter or the space bar on it.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  // What a value is, for cards on a narrow screen.
  for (const row of body.rows) heads.forEach((head, column) => { row.cells[column].dataset.name = head.textContent; });
  const words = new Intl.Collator("en", { numeric: true });
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(other => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => {
      const cell = row.cells[column];
      return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
    };
    const order = (a, b) => {
      const x = key(a), y = key(b);
      // What was not measured stays at the end.
      if (x === "" || y === "") return (x === "") - (y === "");
      const sign = typeof x === "number" && typeof y === "number" ? x - y : words.compare(x, y);
      return up ? sign : -sign;
    };
    body.append(...[...body.rows].sort(order));
  }));
}
// What a mark of a plot is, beside the pointer, or where it is touched.
const tip = document.getElementById("tip");
for (const mark of document.querySelectorAll("svg .tip")) {
  const title = mark.querySelector("title");
  mark.dataset.tip = title.textContent;
  title.remove();
}
const show = event => {
  const mark = event.target.closest ? event.target.closest("svg .tip") : null;
  tip.hidden = !mark;
  if (!mark) return;
  if (tip.textContent !== mark.dataset.tip) tip.textContent = mark.dataset.tip;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - box.width - 6);
  const below = event.clientY + 16;
  const top = below + box.height > innerHeight ? event.clientY - box.height - 10 : below;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
};
for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, show);
document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
document.addEventListener("keydown", event => { if (event.key === "Escape") tip.hidden = true; });
