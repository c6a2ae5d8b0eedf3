// Elements and numbers as people read them. Every text enters the page as text, never as markup.

const ABOUT = JSON.parse(document.getElementById("about").textContent);
const byId = (id) => document.getElementById(id);

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// A number with thousands separated, rounded as it is and not as its shortest text is: 160.515 may lie below the half.
function grouped(number, digits) {
  const sign = number < 0 ? "-" : "";
  const [whole, part] = fixed(Math.abs(number), digits).split(".");
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
}

// As `toFixed`, but a half goes to the even digit, as everywhere else in gridplan.
function fixed(number, digits) {
  if (number >= 1e21) return BigInt(number).toString() + (digits ? `.${"0".repeat(digits)}` : "");
  const text = number.toFixed(digits);
  const rest = number.toFixed(digits + 25).slice(-25); // beyond these digits no double is nearer to a half
  const last = Number(text[text.length - 1]);
  return last % 2 && /^50*$/.test(rest) ? text.slice(0, -1) + String(last - 1) : text;
}

const LADDERS = {
  bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  "bytes/s": [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1, "B/s"]],
  "FLOP/s": [[1e15, "PFLOP/s"], [1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1, "FLOP/s"]],
  FLOP: [[1e15, "PFLOP"], [1e12, "TFLOP"], [1e9, "GFLOP"], [1, "FLOP"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]],
};
const BARE = ["1", "count", "label", "bool", ""];

function onLadder(number, ladder) {
  if (!number) return `0 ${ladder.find((step) => step[0] === 1)[1]}`;
  // Rounding first: 1023.999 MiB would print as 1024.00 MiB, but it is 1.00 GiB.
  const rounds = (step) => Number((Math.abs(number) / step[0]).toFixed(2)) >= 1;
  const last = ladder[ladder.length - 1];
  const step = ladder.find(rounds) || last;
  const scaled = number / step[0];
  const whole = step[0] === 1 && step === last && Number.isInteger(scaled);
  return `${grouped(scaled, whole ? 0 : 2)} ${step[1]}`;
}

function fourDigits(number) {
  const [digits, power] = number.toExponential(3).split("e");
  if (Number(power) >= -4) return String(Number(number.toPrecision(4)));
  return `${Number(digits)}e-${String(-Number(power)).padStart(2, "0")}`;
}

function plainNumber(number) {
  if (Number.isInteger(number) || Math.abs(number) >= 1e4) return grouped(number, 0);
  return Math.abs(number) >= 1 ? grouped(number, 2) : fourDigits(number);
}

// The same text as gridplan prints everywhere else for a value in a unit; `bare` leaves the unit of the column out.
function quantityText(value, unit, bare = false) {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return value;
  if (unit === "bool") return value ? "yes" : "no";
  if (LADDERS[unit]) return onLadder(value, LADDERS[unit]);
  const digits = unit.startsWith("USD") && Math.abs(value) >= 0.1 ? grouped(value, 2) : plainNumber(value);
  return bare || BARE.includes(unit) ? digits : `${digits} ${unit}`;
}

const unitText = (unit) => (BARE.includes(unit) ? "" : LADDERS[unit] ? "" : ` [${unit}]`);
const columnOf = new Map(ABOUT.columns.map((column) => [column.name, column]));
const isNumber = (column) => column.dtype === "int64" || column.dtype === "float64";
const columnTitle = (name) => {
  const column = columnOf.get(name);
  return column ? `${column.title}${unitText(column.unit)}` : name;
};
const exact = (value) => (value === null || value === undefined ? "" : String(value));

// Options of a list under the heads of their groups, in the order in which these come.
function underHeads(items, groupOf, optionOf) {
  const groups = new Map();
  for (const item of items) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), optionOf(item)]);
  return [...groups].map(([label, options]) => el("optgroup", { label }, ...options));
}

function countText(count, word) {
  return `${grouped(count, 0)} ${word}${count === 1 ? "" : "s"}`;
}
