// Rows of the plane as a table, sorted by any of its columns.

const MOST_ROWS = 200;
let sorting = { column: null, falling: false };

function fillTable(table, head, rows, sort = null) {
  const heads = head.map((text, at) => {
    if (!sort) return el("th", { scope: "col", text });
    const now = sort.now === at ? (sort.falling ? "descending" : "ascending") : "none";
    return el("th", { scope: "col", "aria-sort": now }, el("button", { type: "button", class: "plain", text, onclick: () => sort.by(at) }));
  });
  // Who walks by keyboard stays where they were.
  const held = [...table.querySelectorAll("button")].indexOf(document.activeElement);
  table.replaceChildren(el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  const buttons = table.querySelectorAll("button");
  if (held >= 0 && buttons.length) buttons[Math.min(held, buttons.length - 1)].focus();
}

function drawTable() {
  if (!byId("rows").open || !planeData) return;
  const { from, block, xs, ys } = planeData;
  const names = planeData.names.filter((name) => columnOf.has(name));
  const axes = [from.y, from.x].filter((axis) => axis !== null);
  const rows = [];
  for (let y = ys[0]; y < ys[1]; y++) {
    for (let x = xs[0]; x < xs[1]; x++) {
      const position = placeAt(planeData, x, y);
      rows.push({ position, cells: [...axes.map((axis) => AXES[axis].values?.[position[axis]] ?? AXES[axis].labels[position[axis]]), ...names.map((name) => block.value(name, position))] });
    }
  }
  if (sorting.column !== null) rows.sort((a, b) => compared(a.cells[sorting.column], b.cells[sorting.column]));
  const head = [...axes.map((axis) => axisHead(AXES[axis])), ...names.map((name) => `${name}${unitText(columnOf.get(name).unit)}`)];
  fillTable(byId("table"), head, rows.slice(0, MOST_ROWS).map((row) => tableRow(row, axes, names)), {
    now: sorting.column,
    falling: sorting.falling,
    by(at) {
      sorting = { column: at, falling: sorting.column === at && !sorting.falling };
      drawTable();
    },
  });
  const more = rows.length > MOST_ROWS ? `the first ${MOST_ROWS} of ${countText(rows.length, "row")}` : countText(rows.length, "row");
  byId("table-note").textContent = more;
}

function compared(a, b) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // nothing stands last, either way
  const order = a < b ? -1 : a > b ? 1 : 0;
  return sorting.falling ? -order : order;
}

function tableRow(row, axes, names) {
  const chosen = () => setState({ at: row.position });
  const cells = row.cells.map((value, at) => {
    if (at < axes.length) {
      const label = AXES[axes[at]].labels[row.position[axes[at]]];
      return el("th", { scope: "row" }, at ? label : el("button", { type: "button", class: "plain", text: label, onclick: chosen }));
    }
    const column = columnOf.get(names[at - axes.length]);
    return el("td", { class: isNumber(column) ? "n" : "", text: quantityText(value, column.unit, true), "data-value": exact(value) });
  });
  return el("tr", {}, ...cells);
}
