// The lookups of this session: a table, with a button in each row that shows its result again.
function render({ model, el }) {
  const scroll = document.createElement("div");
  scroll.className = "svc-scroll";
  el.append(scroll);
  function draw() {
    const rows = model.get("rows");
    const held = el.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    scroll.replaceChildren();
    if (!rows.length) return;
    const table = document.createElement("table");
    table.className = "svc-table svc-history";
    table.createCaption().textContent = model.get("caption");
    const head = table.createTHead().insertRow();
    for (const name of model.get("heads")) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      if (row.number === model.get("shown")) line.setAttribute("aria-current", "true");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "svc-native";
      button.dataset.row = row.number;
      button.textContent = "Show";
      button.setAttribute("aria-label", `Show ${row.cells.slice(0, -1).join(", ")} again`);
      button.addEventListener("click", () => model.send({ event: "show", number: row.number }));
      line.insertCell().append(button); // first: it stays in sight where the page is narrow
      for (const text of row.cells) line.insertCell().textContent = text;
      if (held === String(row.number)) queueMicrotask(() => button.focus());
    }
    scroll.append(table);
  }
  for (const name of ["rows", "shown"]) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of ["rows", "shown"]) model.off(`change:${name}`, draw);
  };
}

export default { render };
