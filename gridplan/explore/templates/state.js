// What the page shows, and the link that says so. A link that names what the cube lacks says which part was left out.

const AXES = ABOUT.axes;
const open = AXES.map((axis, at) => at).filter((at) => AXES[at].labels.length > 1);

function first(wanted, otherwise) {
  return open.find((at) => wanted(AXES[at])) ?? otherwise;
}

function startState() {
  const x = first((axis) => axis.name === "arrival_rate", open[open.length - 1] ?? null);
  const other = first((axis) => !axis.values && axis !== AXES[x], open.find((at) => at !== x) ?? null);
  const y = first((axis) => !axis.values && axis !== AXES[x] && axis.compared, other);
  const numbers = ABOUT.columns.filter((column) => isNumber(column) && column.role === "measure");
  const known = (...names) => names.find((name) => columnOf.has(name)) ?? numbers[0]?.name ?? null;
  return {
    at: AXES.map((axis) => (axis.values ? Math.floor((axis.labels.length - 1) / 2) : 0)),
    x,
    y,
    measure: known("usd_per_mtok_output", "usd_per_month", "gpus_deployed") ?? ABOUT.columns[0]?.name ?? null,
    show: "value",
    px: known("usd_per_mtok_output", "usd_per_month", "gpus"),
    py: known("tpot_s", "ttft_s", "replicas"),
    compared: AXES.map((axis) => axis.compared && axis.labels.length > 1),
    survives: "",
    changes: {},
  };
}

let state = startState();
const views = [];

function setState(patch) {
  state = { ...state, ...patch };
  for (const view of views) view();
  keepLink();
}

// Some browsers allow so many changes of the address in so many seconds: then the last one is made later.
let later = 0;
function keepLink() {
  clearTimeout(later);
  try {
    history.replaceState(null, "", `#${linkText(state)}`);
  } catch {
    later = setTimeout(keepLink, 1000);
  }
}

const axisNamed = (name) => AXES.findIndex((axis) => axis.name === name);
const nameOf = (at) => (at === null ? "" : AXES[at].name);

function linkText(from) {
  const parts = new URLSearchParams();
  for (const at of open) parts.set(`at.${AXES[at].name}`, AXES[at].labels[from.at[at]]);
  parts.set("x", nameOf(from.x));
  parts.set("y", nameOf(from.y));
  for (const key of ["measure", "show", "px", "py"]) parts.set(key, from[key] ?? "");
  if (from.survives) parts.set("survives", from.survives);
  parts.set("compared", AXES.filter((axis, at) => from.compared[at]).map((axis) => axis.name).join(","));
  for (const [name, value] of Object.entries(from.changes)) parts.set(`if.${name}`, value);
  return parts.toString();
}

function restored(text) {
  const from = startState();
  linkNotices = [];
  const leave = (what) => linkNotices.push(`the link names ${what.slice(0, 120)}, which is not here: left out`);
  for (const [key, value] of new URLSearchParams(text)) {
    if (key.startsWith("at.")) restoreLabel(from, key.slice(3), value, leave);
    else if (key.startsWith("if.")) restoreChange(from, key.slice(3), value, leave);
    else if (key === "x" || key === "y") restoreAxis(from, key, value, leave);
    else if (key === "compared") restoreCompared(from, value, leave);
    else if (key === "show") from.show = SHOWN.has(value) ? value : (leave(`show ${value}`), "value");
    else if (key === "survives") restoreSurvival(from, value, leave);
    else if (["measure", "px", "py"].includes(key)) restoreColumn(from, key, value, leave);
    else leave(key);
  }
  if (from.x === from.y) from.y = open.find((at) => at !== from.x) ?? null;
  return from;
}

const SHOWN = new Map([["value", "value"], ["change", "change to the contract"], ["percent", "change in %"]]);

function restoreLabel(from, name, label, leave) {
  const axis = axisNamed(name);
  const at = axis < 0 ? -1 : AXES[axis].labels.indexOf(label);
  if (at < 0) leave(`${name}=${label}`);
  else from.at[axis] = at;
}

function restoreChange(from, name, value, leave) {
  if (ABOUT.inputs.some((input) => input.name === name) && value.length <= 80) from.changes[name] = value;
  else leave(`a change of ${name}`);
}

function restoreAxis(from, key, name, leave) {
  const axis = axisNamed(name);
  if (open.includes(axis)) from[key] = axis;
  else if (name) leave(`the axis ${name}`);
}

function restoreCompared(from, value, leave) {
  const names = value.split(",").filter(Boolean);
  from.compared = AXES.map((axis) => names.includes(axis.name) && axis.labels.length > 1);
  for (const name of names) if (axisNamed(name) < 0) leave(`the axis ${name}`);
}

function restoreSurvival(from, name, leave) {
  if (ABOUT.survives.some((one) => one.name === name)) from.survives = name;
  else if (name) leave(`survives ${name}`);
}

function restoreColumn(from, key, name, leave) {
  const column = columnOf.get(name);
  if (column && (key === "measure" || isNumber(column))) from[key] = name;
  else if (name) leave(`the measure ${name}`);
}

const hasChanges = () => Object.keys(state.changes).length > 0;
const changesKey = () => JSON.stringify(state.changes);
