// Pictures: stairs and the front, drawn by Vega from data of the page. Nothing is loaded, and no text is run as code.

const dark = matchMedia("(prefers-color-scheme: dark)");
// Watched, since to ask for it would lay the page out in the middle of a change.
let stairsWidth = 400;
new ResizeObserver(([entry]) => (stairsWidth = entry.contentRect.width || stairsWidth)).observe(byId("stairs"));

const drawn = new Map(); // of each picture: its specification as text, and its view

const specText = (spec) => JSON.stringify(dark.matches ? recoloured(spec) : spec);

// The colours of a dark page; labels and titles may look like colours and are none.
function recoloured(node) {
  if (typeof node === "string") return ABOUT.dark[node] ?? node;
  if (Array.isArray(node)) return node.map(recoloured);
  if (node === null || typeof node !== "object") return node;
  const kept = ["domain", "title", "sort"];
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, kept.includes(key) ? value : recoloured(value)]));
}

const noLoader = {
  load: () => Promise.reject(new Error("nothing is loaded")),
  sanitize: () => Promise.reject(new Error("nothing is loaded")),
};

const MOST_ELEMENTS = 300;

// What a mark says when it is pointed at; the same stands in the tables beside.
const sayMark = (id) => (handler, event, item) => {
  byId(id).title = item?.datum?.say ?? "";
};

// Draws rows; a specification that stands already gets new rows only, and where there are none nothing is drawn.
function draw(id, spec, rows, click) {
  const turn = (turns.get(id) ?? Promise.resolve()).then(() => drawNow(id, spec, rows, click));
  turns.set(id, turn.catch(() => null));
  return turn;
}

// One after another: two that begin at once would both find no picture and make one each.
const turns = new Map();

async function drawNow(id, spec, rows, click) {
  // Many marks are drawn sooner as one picture than as elements.
  const renderer = rows.length > MOST_ELEMENTS ? "canvas" : "svg";
  const text = `${renderer} ${specText(spec)}`;
  const old = drawn.get(id);
  if (old && old.text === text && rows.length) {
    old.click = click;
    await old.view.data("rows", rows).runAsync();
    return;
  }
  if (old) old.view.finalize();
  drawn.delete(id);
  byId(id).replaceChildren();
  if (!rows.length) return;
  const whole = JSON.parse(specText(spec));
  whole.data.values = rows;
  const options = { mode: "vega-lite", actions: false, renderer, ast: true, tooltip: sayMark(id), loader: noLoader, defaultStyle: false };
  const { view } = await window.vegaEmbed(byId(id), whole, options);
  const own = { text, view, click };
  drawn.set(id, own);
  view.addEventListener("click", (event, item) => {
    if (item && item.datum && own.click) own.click(item.datum);
  });
}

dark.addEventListener("change", () => {
  if (planeData) drawStairs();
  paretoChannel.last = null;
  askPareto();
});

// Numbers of a chart in the unit that suits the largest of them, and the title that says so.
function scaled(name, values) {
  const unit = columnOf.get(name)?.unit ?? "";
  if (!LADDERS[unit]) return { divide: 1, title: `${name}${unitText(unit)}` };
  const most = Math.max(...values.map(Math.abs), 0);
  const [divide, word] = LADDERS[unit].find((step) => most >= step[0]) ?? LADDERS[unit][LADDERS[unit].length - 1];
  return { divide, title: `${name} [${word}]` };
}

// The ends are those of all rows, with some room: a layer may have no row of its own.
function scaleOf(values) {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  if (low > 0 && high / low >= 20) {
    const room = (high / low) ** 0.05;
    return { type: "log", domain: [low / room, high * room], nice: false };
  }
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return { type: "linear", domain: [low >= 0 && low < room ? 0 : low - room, high + room], nice: false, zero: false };
}

// What a plan takes and costs is enough down to the rate before: steps; all else is known at labels alone.
const LEVEL = /^(replicas|nodes|gpus)|^usd_per_(hour|month)$/;

async function drawStairs() {
  const data = planeData;
  const { from, block, xs, ys } = data;
  const column = columnOf.get(from.measure);
  const chart = byId("stairs").closest("section");
  chart.hidden = from.x === null || !isNumber(column);
  if (chart.hidden) return;
  const colours = ABOUT.series;
  const known = (y) => {
    for (let x = xs[0]; x < xs[1]; x++) if (block.value(from.measure, placeAt(data, x, y)) !== null) return true;
    return false;
  };
  const whole = from.y === null ? [0] : Array.from({ length: ys[1] - ys[0] }, (_, at) => ys[0] + at);
  const all = whole.filter(known);
  const here = from.y === null ? 0 : state.at[from.y];
  const begin = Math.max(0, Math.min(all.indexOf(here) - Math.floor(colours / 2), all.length - colours));
  const series = all.slice(begin, begin + colours);
  const axis = AXES[from.x];
  const step = axis.name === "arrival_rate" && LEVEL.test(from.measure);
  const rows = [];
  for (const y of series) {
    for (let x = xs[0]; x < xs[1]; x++) {
      const value = block.value(from.measure, placeAt(data, x, y));
      if (value === null) continue;
      const name = from.y === null ? from.measure : AXES[from.y].labels[y];
      const say = `${from.y === null ? "" : `${name}, `}${axis.name}=${axis.labels[x]}: ${quantityText(value, column.unit)}`;
      rows.push({ say, x: axis.values ? axis.values[x] : axis.labels[x], y: value, series: name, step, here: y === here && x === state.at[from.x], at: [x, y] });
    }
  }
  const { divide, title } = scaled(from.measure, rows.map((row) => row.y));
  for (const row of rows) row.y /= divide;
  await draw("stairs", stairsSpec(axis, from, rows, data, series, title), rows, (datum) => {
    const at = [...state.at];
    at[from.x] = datum.at[0];
    if (from.y !== null) at[from.y] = datum.at[1];
    setState({ at });
  });
  byId("stairs-caption").textContent = stairsCaption(from, axis, series, all, rows, step);
}

function stairsSpec(axis, from, rows, data, series, title) {
  const spec = structuredClone(ABOUT.stairs);
  const { encoding } = spec;
  encoding.x.title = axis.title;
  if (axis.values) encoding.x.scale = scaleOf(axis.values.slice(...data.xs));
  else Object.assign(encoding.x, { type: "ordinal", sort: null, scale: { domain: axis.labels.slice(...data.xs) } });
  encoding.y.title = title;
  encoding.y.scale = scaleOf(rows.map((row) => row.y));
  // A colour belongs to a label, whether or not it has a plan here.
  const names = from.y === null ? [from.measure] : series.map((y) => AXES[from.y].labels[y]);
  for (const key of ["color", "shape"]) encoding[key].scale = { ...encoding[key].scale, domain: names };
  const longest = Math.max(...names.map((name) => name.length));
  spec.config.legend.columns = Math.max(1, Math.floor(stairsWidth / (40 + 7 * longest)));
  // The legend takes no room from the picture.
  spec.height += names.length > 1 ? 18 * Math.ceil(names.length / spec.config.legend.columns) : 0;
  if (names.length === 1) encoding.color.legend = encoding.shape.legend = null;
  return spec;
}

function stairsCaption(from, axis, series, all, rows, step) {
  const parts = [`${from.measure} over ${axis.name}${from.y === null ? "" : `, by ${AXES[from.y].name}`}`];
  parts.push(step ? "each plan is drawn down to the rate before it, for which it suffices" : "points are what is planned, and nothing stands between them");
  if (series.length < all.length) parts.push(`${series.length} of ${all.length} labels, around the chosen one`);
  if (!rows.length) parts.push("none of these cells has a value");
  return parts.join("; ");
}

async function drawPareto(from, rows, names) {
  const spec = structuredClone(ABOUT.pareto);
  const scales = names.map((name, at) => scaled(name, rows.map((row) => row.values[at])));
  ["x", "y"].forEach((key, at) => {
    spec.encoding[key].title = scales[at].title;
    spec.encoding[key].scale = scaleOf(rows.map((row) => row.values[at] / scales[at].divide));
  });
  const same = (position) => position.every((place, at) => place === from.at[at]);
  const compared = AXES.map((axis, at) => at).filter((at) => from.compared[at]);
  const points = rows.map((row) => {
    const labels = compared.map((at) => `${AXES[at].name}=${AXES[at].labels[row.position[at]]}`);
    const figures = names.map((name, at) => `${name} ${quantityText(row.values[at], columnOf.get(name).unit)}`);
    const [x, y] = row.values.map((value, at) => value / scales[at].divide);
    return { x, y, front: row.front, here: same(row.position), at: row.position, say: [...labels, ...figures].join(", ") };
  });
  await draw("pareto", spec, points, (datum) => setState({ at: [...datum.at] }));
}
