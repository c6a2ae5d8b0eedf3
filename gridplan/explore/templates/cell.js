// The chosen cell: what it is, what binds, its figures, and how changes move them.

// What kind of number a plan rests on, and what is to be known of it.
const FACTS = ["capacity_source", "lambda_basis", "slo_basis", "latency_flag", "capacity_flag", "price_flag", "priced_by", "price_as_of", "price_kind"];

let cellData = null; // { from, block, base }

const cellChannel = new Channel(async ({ place, names, from }) => {
  const changed = Object.keys(from.changes).length > 0;
  const [block, base] = await Promise.all([
    SOURCE.block(place, names, from.changes),
    changed ? SOURCE.block(place, names, {}) : null,
  ]);
  cellData = { from, block, base };
  drawCell();
});

const cellPlace = () => state.at.map((at) => [at, at + 1]);

function askCell() {
  const all = ABOUT.columns.map((column) => column.name);
  const few = [...ABOUT.key, ...extra("status", "binding_constraint", "infeasible_reason", "binding_next", "margin_to_next", ...FACTS)];
  // A cube without any of these is asked for what it has.
  const names = byId("all").open || !few.length ? all : [...new Set(few)];
  const wanted = ABOUT.leftOut ? [...names, ABOUT.leftOut] : names;
  cellChannel.ask(`${placeText(cellPlace())} ${wanted.length} ${changesKey()}`, { place: cellPlace(), names: wanted, from: state });
}

function drawCell() {
  const { from, block, base } = cellData;
  byId("cell-place").textContent = AXES.map((axis, at) => `${axis.name}=${axis.labels[from.at[at]]}`).join(", ");
  const read = (name, which = block) => (which && which.has(name) ? which.value(name, from.at) : null);
  const status = byId("cell-status");
  const unfit = ABOUT.leftOut && read("infeasible_reason") === null && read("status") !== "infeasible" ? read(ABOUT.leftOut) : null;
  status.className = `decision ${unfit ? "unfit" : read("status") ?? ""}`;
  status.textContent = statusText(read, base) + (unfit ? `; it may not be chosen: ${unfit}` : "");
  byId("cell-facts").textContent = FACTS.filter((name) => read(name) !== null).map((name) => `${name} ${read(name)}`).join("; ");
  byId("tiles").replaceChildren(...ABOUT.key.map((name) => tile(name, read(name), base ? read(name, base) : undefined)));
  if (byId("all").open && ABOUT.columns.every((column) => block.has(column.name))) drawMeasures();
}

function statusText(read, base) {
  const said = (which) => {
    const reason = read("infeasible_reason", which);
    if (reason) return `no plan: ${reason}`;
    const binds = read("binding_constraint", which);
    if (binds) return `feasible: ${WORDS[binds]?.word ?? binds} binds${nextText(read, which)}`;
    const known = read("status", which);
    return known === "infeasible" ? "no plan" : known ?? "nothing is known of this cell";
  };
  const now = said(undefined);
  return base && said(base) !== now ? `${now} (by the contract ${said(base)})` : now;
}

function nextText(read, which) {
  const [next, margin] = [read("binding_next", which), read("margin_to_next", which)];
  if (next === null) return "";
  const further = margin === null ? "" : `, ${plainNumber(100 * margin)}% further`;
  return `, next is ${WORDS[next]?.word ?? next}${further}`;
}

// The limit of a latency, which says how much of it a plan uses.
function limitText(name) {
  const label = { tpot_s: "tpot", ttft_s: "ttft", e2e_s: "e2e" }[name];
  const stated = (ending) => state.changes[`${label}_${ending}`] ?? current[`${label}_${ending}`];
  const limit = label && stated("slo_s");
  const at = stated("slo_percentile");
  return limit ? `limit ${limit}${at ? ` (${at === "mean" ? at : `p${at}`})` : ""}` : "";
}

function tile(name, value, before) {
  const column = columnOf.get(name);
  const shown = el("dd", { text: quantityText(value, column.unit), "data-measure": name, "data-value": exact(value) });
  if (before !== undefined) shown.append(deltaText(value, before, column.unit));
  const note = value === null ? (column.null ? `null where ${column.null}` : "") : limitText(name);
  if (note) shown.append(el("span", { class: "delta", text: note }));
  return el("div", {}, el("dt", { text: `${column.title}`, title: name }), shown);
}

// A change with its direction in words of arithmetic, not in colour alone.
function deltaText(value, before, unit) {
  const made = (text, kind = "") => el("span", { class: `delta ${kind}`, "data-before": exact(before), text });
  if (value === before) return made("as in the contract");
  if (value === null || before === null) return made(`contract: ${quantityText(before, unit)}`);
  const share = before ? `, ${signed((100 * (value - before)) / Math.abs(before), (size) => `${plainNumber(size)}%`)}` : "";
  const change = signed(value - before, (size) => quantityText(size, unit));
  return made(`${change}${share} (contract: ${quantityText(before, unit)})`);
}

function drawMeasures() {
  const { from, block, base } = cellData;
  const head = ["measure", "value", ...(base ? ["by the contract"] : []), "what it is", "formula"];
  const rows = ABOUT.columns.map((column) => {
    const value = block.value(column.name, from.at);
    const cells = [
      el("th", { scope: "row", text: column.name }),
      el("td", { class: "n", text: quantityText(value, column.unit), "data-measure": column.name, "data-value": exact(value) }),
    ];
    if (base) cells.push(el("td", { class: "n", text: quantityText(base.value(column.name, from.at), column.unit) }));
    const why = value === null && column.null ? `${column.title}; null where ${column.null}` : column.title;
    return el("tr", {}, ...cells, el("td", { text: why }), el("td", { text: column.formula }));
  });
  fillTable(byId("measures"), head, rows);
}
