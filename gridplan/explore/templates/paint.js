// The plane painted: what a cell says, how strong its colour is, what binds and how often.

// What one cell of the plane holds: value as it is shown, constraint, reason; a change where changes are shown.
function cellOf(data, position) {
  const { block, base, from } = data;
  const measure = from.measure;
  const read = (which, name) => (which && which.has(name) ? which.value(name, position) : null);
  const value = read(block, measure);
  const before = base ? read(base, measure) : null;
  return {
    value,
    before,
    delta: base && isNumber(columnOf.get(measure)) && value !== null && before !== null ? value - before : null,
    binding: read(block, "binding_constraint"),
    reason: read(block, "infeasible_reason"),
    status: read(block, "status"),
    left: ABOUT.leftOut ? read(block, ABOUT.leftOut) : null,
  };
}

// Without a plan, or with one that may not be chosen: a fleet that does not hold it, a limit that is missed.
const hasNone = (cell) => cell.reason !== null || cell.status === "infeasible";
const isUnfit = (cell) => !hasNone(cell) && cell.left !== null;

function shownText(cell, column, show) {
  if (show === "value" || !isNumber(column)) return quantityText(cell.value, column.unit, true);
  if (cell.delta === null) return cell.value === cell.before ? "-" : cell.before === null ? "new" : "gone";
  if (show === "change") return signed(cell.delta, (size) => quantityText(size, column.unit, true));
  if (!cell.before) return cell.delta ? "-" : "0%";
  return signed((100 * cell.delta) / Math.abs(cell.before), (size) => `${plainNumber(size)}%`);
}

const signed = (number, text) => (number === 0 ? "0" : `${number > 0 ? "+" : "-"}${text(Math.abs(number))}`);

function drawPlane() {
  const data = planeData;
  const column = columnOf.get(data.from.measure);
  // How cells are shown may have changed while they were asked for.
  data.shown = state.show;
  const show = data.base ? state.show : "value";
  const rows = [];
  for (let y = data.ys[0]; y < data.ys[1]; y++) {
    const row = [];
    for (let x = data.xs[0]; x < data.xs[1]; x++) row.push(cellOf(data, placeAt(data, x, y)));
    rows.push(row);
  }
  fitPlane(data, rows, column, show);
  const walked = byId("plane").contains(document.activeElement);
  shapePlane(data);
  const strength = strengthOf(rows.flat(), column, show);
  const reasons = [...new Set(rows.flat().map((cell) => cell.reason).filter(Boolean))].sort();
  const body = byId("plane").tBodies[0];
  rows.forEach((row, y) => row.forEach((cell, x) => paint(body.rows[y].cells[x + 1], cell, column, show, strength, reasons)));
  byId("plane-caption").textContent = planeCaption(data, column);
  drawLegend(rows.flat(), reasons, strength);
  markHere();
  if (walked && !byId("plane").contains(document.activeElement)) byId("plane").querySelector("td[tabindex='0']")?.focus();
}

const axisHead = (axis) => `${axis.name}${BARE.includes(axis.unit) ? "" : ` [${axis.unit}]`}`;

// Columns as wide as their longest text, which is known: a browser that measures every cell takes several times as long.
let planeFit = "";
function fitPlane(data, rows, column, show) {
  const [xs, ys] = [data.xs, data.ys].map((range, at) => headsOf(at ? data.from.y : data.from.x, range));
  const longest = (texts) => Math.max(0, ...texts.map((text) => text.length));
  // Beside a number stands a letter, and on either side some room.
  const cells = Math.max(longest(rows.flat().map((cell) => shownText(cell, column, show))) + 4, longest(xs) + 2);
  const head = Math.min(26, Math.max(longest(ys), 12));
  // A little more or less is left as it is: all cells would be laid out again.
  const fit = `${Math.ceil(cells / 2) * 2}ch ${head + 2}ch ${xs.length}`;
  if (fit === planeFit) return;
  planeFit = fit;
  const [cell, first, count] = fit.split(" ");
  const table = byId("plane");
  table.style.setProperty("--cell", cell);
  table.style.setProperty("--head", first);
  table.style.width = `calc(${first} + ${count} * ${cell})`;
}

const headsOf = (axis, range) => (axis === null ? [""] : shortNumbers(AXES[axis]).slice(...range));
const cornerOf = (data) => [data.from.y, data.from.x].filter((axis) => axis !== null).map((axis) => axisHead(AXES[axis])).join(" \\ ");

// The table with its heads, built anew only when they differ.
let planeShape = "";
function shapePlane(data) {
  const shape = JSON.stringify([data.from.x, data.from.y, data.xs, data.ys]);
  if (shape === planeShape) return;
  planeShape = shape;
  const labels = (axis, [first, stop]) => (axis === null ? [""] : AXES[axis].labels.slice(first, stop));
  const head = el("tr", { role: "row" }, el("th", { scope: "col", text: cornerOf(data) }));
  const across = headsOf(data.from.x, data.xs);
  labels(data.from.x, data.xs).forEach((title, at) => head.append(el("th", { scope: "col", text: across[at], title, "data-x": data.xs[0] + at })));
  const body = el("tbody");
  const downwards = headsOf(data.from.y, data.ys);
  labels(data.from.y, data.ys).forEach((title, down) => {
    const row = el("tr", { role: "row" }, el("th", { scope: "row", text: downwards[down], title, "data-y": data.ys[0] + down }));
    for (let x = data.xs[0]; x < data.xs[1]; x++) {
      row.append(el("td", { role: "gridcell", tabindex: -1, "data-x": x, "data-y": data.ys[0] + down }, el("span"), el("span", { class: "b" })));
    }
    body.append(row);
  });
  byId("plane").replaceChildren(el("thead", {}, head), body);
}

// Numbers of an axis with five digits, where that tells them apart; the whole label is in the title.
function shortNumbers(axis) {
  if (!axis.values) return axis.labels;
  const short = axis.values.map((value) => String(Number(value.toPrecision(5))));
  return new Set(short).size === short.length ? short : axis.labels;
}

function paint(td, cell, column, show, strength, reasons) {
  const text = shownText(cell, column, show);
  const none = hasNone(cell);
  const binds = cell.binding && column.name !== "binding_constraint" ? WORDS[cell.binding]?.letter ?? "" : "";
  const letter = isUnfit(cell) ? `${binds}!` : binds;
  const kind = strength.kinds && cell.value !== null;
  const now = {
    text,
    letter,
    value: exact(cell.value),
    kind: none ? `none r${Math.max(0, Math.min(reasons.indexOf(cell.reason), 3))}` : `${kind ? "named" : ""} ${isUnfit(cell) ? "unfit" : ""}`.trim(),
    strength: none ? 0 : strength.of(cell).toFixed(3),
    colour: kind ? strength.kinds.get(cell.value) : "",
    title: titleOf(cell, none),
  };
  // What stays as it is is left alone: a browser takes longer to lay out than a plan takes to compute.
  const old = td.now ?? {};
  td.now = now;
  if (old.text !== text) td.firstChild.textContent = text;
  if (old.letter !== letter) td.lastChild.textContent = letter;
  if (old.value !== now.value) td.dataset.value = now.value;
  if (old.kind !== now.kind) td.className = now.kind;
  if (old.strength !== now.strength) td.style.setProperty("--strength", now.strength);
  if (old.colour !== now.colour) td.style.setProperty("--colour", now.colour);
  if (old.title !== now.title) td.title = now.title;
}

function titleOf(cell, none) {
  if (none) return `no plan: ${cell.reason ?? "infeasible"}`;
  const parts = cell.binding ? [`${WORDS[cell.binding]?.word ?? cell.binding} binds`] : [];
  if (isUnfit(cell)) parts.push(`may not be chosen: ${cell.left}`);
  return parts.join("; ");
}

// How strong the colour of a cell is: by its value, on a scale of ratios where values span more than a factor of 20.
function strengthOf(cells, column, show) {
  if (!isNumber(column)) {
    const kinds = [...new Set(cells.map((cell) => cell.value).filter((value) => value !== null))].sort();
    const colours = ABOUT.stairs.encoding.color.scale.range;
    return { kinds: new Map(kinds.map((kind, at) => [kind, WORDS[kind]?.colour ?? colours[at % colours.length]])), of: () => 0 };
  }
  const size = (cell) => (show === "value" ? cell.value : cell.delta === null ? null : Math.abs(cell.delta));
  const sizes = cells.filter((cell) => !hasNone(cell)).map(size).filter((value) => value !== null);
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  const turned = low > 0 && high / low >= 20 ? Math.log : (value) => value;
  const width = turned(high) - turned(low);
  const of = (cell) => (size(cell) === null ? 0 : width ? 0.06 + (0.42 * (turned(size(cell)) - turned(low))) / width : 0.2);
  return { of, low, high, known: sizes.length, ratios: turned === Math.log };
}

function planeCaption(data, column) {
  const { from } = data;
  const drawn = [from.x, from.y].filter((axis) => axis !== null);
  const parts = [`${column.name}: ${columnTitle(column.name)}`];
  if (data.shown !== "value" && data.base) parts.push(SHOWN.get(data.shown));
  const at = open.filter((axis) => !drawn.includes(axis)).map((axis) => `${AXES[axis].name}=${AXES[axis].labels[from.at[axis]]}`);
  if (at.length) parts.push(`at ${at.join(", ")}`);
  for (const [axis, [begin, stop]] of [[from.x, data.xs], [from.y, data.ys]]) {
    if (axis !== null && stop - begin < AXES[axis].labels.length) {
      parts.push(`labels ${begin + 1} to ${stop} of the ${grouped(AXES[axis].labels.length, 0)} of ${AXES[axis].name}, around the chosen one`);
    }
  }
  return parts.join("; ");
}

function countsOf(labels) {
  const found = new Map();
  for (const label of labels) found.set(label, (found.get(label) ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1]);
}

function drawLegend(cells, reasons, strength) {
  const counts = (name) => countsOf(cells.map((cell) => cell[name]).filter((label) => label !== null));
  const items = counts("binding").map(([name, count]) =>
    el("li", { "data-binding": name, "data-count": count }, el("b", { text: WORDS[name]?.letter ?? "?" }), `${WORDS[name]?.word ?? name} binds: ${grouped(count, 0)}`),
  );
  const binds = new Map(counts("reason"));
  for (const name of reasons) {
    items.push(el("li", { "data-reason": name, "data-count": binds.get(name) }, el("b", { text: "–" }), `no plan, ${name}: ${grouped(binds.get(name), 0)}`));
  }
  const unnamed = cells.filter((cell) => hasNone(cell) && cell.reason === null).length;
  if (unnamed) items.push(el("li", {}, el("b", { text: "–" }), `no plan: ${grouped(unnamed, 0)}`));
  for (const [name, count] of countsOf(cells.filter(isUnfit).map((cell) => cell.left))) {
    items.push(el("li", { "data-unfit": name, "data-count": count }, el("b", { text: "!" }), `may not be chosen, ${name}: ${grouped(count, 0)}`));
  }
  const column = columnOf.get(planeData.from.measure);
  if (strength.known) items.unshift(el("li", { text: `from ${quantityText(strength.low, column.unit)} (pale) to ${quantityText(strength.high, column.unit)}${strength.ratios ? ", by ratios" : ""}` }));
  byId("legend").replaceChildren(...items);
}
