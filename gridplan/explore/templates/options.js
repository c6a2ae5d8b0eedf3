// Options: the combinations of the axes that are compared, which of them may be chosen, and which nothing beats.

function comparedPlace(from) {
  return from.at.map((at, axis) => (from.compared[axis] ? [0, AXES[axis].labels.length] : [at, at + 1]));
}

const comparedCount = (from) => AXES.reduce((count, axis, at) => (from.compared[at] ? count * axis.labels.length : count), 1);
const tooMany = (count) =>
  `${countText(count, "combination")} are more than the ${grouped(ABOUT.mostOptions, 0)} that are compared at once: compare the labels of fewer axes`;

// What has to be known of an option beside what is compared.
const survivalColumns = () => ABOUT.survives.find((one) => one.name === state.survives)?.columns ?? [];
const choiceColumns = (names) => [...new Set([...names, ABOUT.leftOut, ...extra("capacity_source"), ...hidden(), ...survivalColumns()])];
const hidden = () => (ABOUT.priceFlag ? [ABOUT.priceFlag] : []);

// Why an option may not be chosen, or null: the reasons of `gridplan choose` in their order.
function whyNot(block, position, names, values) {
  const out = block.value(ABOUT.leftOut, position);
  if (out && out !== ABOUT.farAnchor) return out;
  const fallen = survivalColumns().find((name) => block.value(name, position) !== 1);
  if (fallen) return `${fallen} ${block.value(fallen, position) === null ? "null" : "false"}`;
  const missing = names.find((name, at) => values[at] === null);
  if (!missing) return out;
  const flag = ABOUT.priceFlag && columnOf.get(missing).unit.startsWith("USD") ? block.value(ABOUT.priceFlag, position) : null;
  return ABOUT.unpriced.includes(flag) ? flag : `${missing} null`;
}

// The options with values that may be chosen, in declared order, and why the others are left out. Where some are
// measured, others of the same point are not ranked against them.
function candidates(block, from, names) {
  const axes = AXES.map((axis, at) => at).filter((at) => from.compared[at]);
  const position = [...from.at];
  for (const axis of axes) position[axis] = 0;
  const rows = [];
  const leftOut = new Map();
  const leave = (why) => leftOut.set(why, (leftOut.get(why) ?? 0) + 1);
  for (let more = true; more; more = next(position, axes)) {
    const values = names.map((name) => block.value(name, position));
    const why = whyNot(block, position, names, values);
    if (why) leave(why);
    else rows.push({ position: [...position], values, source: block.has("capacity_source") ? block.value("capacity_source", position) : null });
  }
  if (!rows.some((row) => row.source === "measured")) return { rows, leftOut };
  for (const row of rows) if (row.source !== "measured") leave(`${row.source} beside measured`);
  return { rows: rows.filter((row) => row.source === "measured"), leftOut };
}

// The next combination, the last axis fastest; false after the last one.
function next(position, axes) {
  for (let at = axes.length - 1; at >= 0; at--) {
    position[axes[at]] += 1;
    if (position[axes[at]] < AXES[axes[at]].labels.length) return true;
    position[axes[at]] = 0;
  }
  return false;
}

const leftOutText = (found) =>
  [...found.leftOut].sort((a, b) => b[1] - a[1]).map(([why, count]) => `${why} ${grouped(count, 0)}`).join(", ");

// Marks the options that no other one beats: nowhere worse and somewhere better. Equal ones all stay.
function markFront(rows, names) {
  const cost = (row, at) => (ABOUT.more.includes(names[at]) ? -row.values[at] : row.values[at]);
  const order = [...rows].sort((a, b) => cost(a, 0) - cost(b, 0) || cost(a, 1) - cost(b, 1));
  let best = Infinity;
  let last = null;
  for (const row of order) {
    const same = last && cost(last, 0) === cost(row, 0) && cost(last, 1) === cost(row, 1);
    row.front = same ? last.front : cost(row, 1) < best;
    best = Math.min(best, cost(row, 1));
    last = row;
  }
  return order.filter((row) => row.front);
}

const MOST_DRAWN = 2000; // dominated options of a picture; the front is drawn whole

const paretoChannel = new Channel(async ({ from }) => {
  const names = [from.px, from.py];
  const count = comparedCount(from);
  if (count > ABOUT.mostOptions) {
    byId("pareto-caption").textContent = tooMany(count);
    drawFront(from, [], names);
    await drawPareto(from, [], names);
    return;
  }
  const found = candidates(await SOURCE.block(comparedPlace(from), choiceColumns(names), from.changes), from, names);
  const front = markFront(found.rows, names);
  const beaten = found.rows.filter((row) => !row.front);
  const step = Math.max(1, beaten.length / MOST_DRAWN);
  const drawn = Array.from({ length: Math.min(beaten.length, MOST_DRAWN) }, (_, at) => beaten[Math.floor(at * step)]);
  byId("pareto-caption").textContent = paretoText(from, count, found, front, beaten.length, drawn.length);
  drawFront(from, front, names);
  await drawPareto(from, [...drawn, ...front], names);
});

function askPareto() {
  if (state.px === null || !open.length || !ABOUT.leftOut) return;
  // Labels that are compared do not change what is compared, but they do change which option is ringed.
  const key = `${placeText(comparedPlace(state))} ${state.at} ${state.px} ${state.py} ${state.survives} ${changesKey()}`;
  paretoChannel.ask(key, { from: state });
}

function paretoText(from, count, found, front, beaten, drawn) {
  const axes = AXES.filter((axis, at) => from.compared[at]).map((axis) => axis.name);
  if (!axes.length) return "no axis is compared: tick `compare` beside one of them";
  const parts = [`${grouped(front.length, 0)} of ${countText(found.rows.length, "option")} of ${axes.join(" x ")} on the front`];
  if (drawn < beaten) parts.push(`grey: ${grouped(drawn, 0)} of ${grouped(beaten, 0)} dominated ones, evenly spaced`);
  if (found.leftOut.size) parts.push(`left out of ${grouped(count, 0)}: ${leftOutText(found)}`);
  return parts.join("; ");
}

function drawFront(from, front, names) {
  const axes = AXES.map((axis, at) => at).filter((at) => from.compared[at]);
  const rows = front.slice(0, MOST_ROWS).map((row) => {
    const labels = axes.map((at) => AXES[at].labels[row.position[at]]);
    const button = el("button", { type: "button", class: "plain", text: labels[0] ?? "this cell", onclick: () => setState({ at: row.position }) });
    const numbers = row.values.map((value, at) => el("td", { class: "n", text: quantityText(value, columnOf.get(names[at]).unit), "data-value": exact(value) }));
    return el("tr", {}, el("th", { scope: "row" }, button), ...labels.slice(1).map((text) => el("td", { text })), ...numbers);
  });
  const more = front.length > MOST_ROWS ? [`first ${MOST_ROWS} of ${grouped(front.length, 0)}`] : [];
  fillTable(byId("front"), [...(axes.length ? axes.map((at) => AXES[at].name) : ["option"]), ...names, ...more], rows);
}
