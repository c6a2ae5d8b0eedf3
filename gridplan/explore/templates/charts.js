// Pictures: stairs and the front, drawn by Vega from data of the page. Nothing is loaded, and no text is run as code.

const dark = matchMedia("(prefers-color-scheme: dark)");
// Watched, since to ask for it would lay the page out in the middle of a change.
let stairsWidth = 400;
new ResizeObserver(([entry]) => (stairsWidth = entry.contentRect.width || stairsWidth)).observe(byId("stairs"));

const drawn = new Map(); // of each picture: its specification as text, and its view

function specText(spec) {
  let text = JSON.stringify(spec);
  if (dark.matches) for (const [light, other] of Object.entries(ABOUT.dark)) text = text.replaceAll(light, other);
  return text;
}

const noLoader = {
  load: () => Promise.reject(new Error("nothing is loaded")),
  sanitize: () => Promise.reject(new Error("nothing is loaded")),
};

const MOST_ELEMENTS = 300;

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
  const options = { mode: "vega-lite", actions: false, renderer, ast: true, tooltip: false, loader: noLoader, defaultStyle: false };
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

const titled = (name) => `${name}${unitText(columnOf.get(name)?.unit ?? "")}`;

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
  const all = from.y === null ? [0] : Array.from({ length: ys[1] - ys[0] }, (_, at) => ys[0] + at);
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
      rows.push({ x: axis.values ? axis.values[x] : axis.labels[x], y: value, series: name, step, here: y === here && x === state.at[from.x], at: [x, y] });
    }
  }
  await draw("stairs", stairsSpec(axis, from, rows, data, series), rows, (datum) => {
    const at = [...state.at];
    at[from.x] = datum.at[0];
    if (from.y !== null) at[from.y] = datum.at[1];
    setState({ at });
  });
  byId("stairs-caption").textContent = stairsCaption(from, axis, series, all, rows, step);
}

function stairsSpec(axis, from, rows, data, series) {
  const spec = structuredClone(ABOUT.stairs);
  const { encoding } = spec;
  encoding.x.title = axis.title;
  if (axis.values) encoding.x.scale = scaleOf(axis.values.slice(...data.xs));
  else Object.assign(encoding.x, { type: "ordinal", sort: null, scale: { domain: axis.labels.slice(...data.xs) } });
  encoding.y.title = titled(from.measure);
  encoding.y.scale = scaleOf(rows.map((row) => row.y));
  // A colour belongs to a label, whether or not it has a plan here.
  const names = from.y === null ? [from.measure] : series.map((y) => AXES[from.y].labels[y]);
  for (const key of ["color", "shape"]) encoding[key].scale = { ...encoding[key].scale, domain: names };
  const longest = Math.max(...names.map((name) => name.length));
  spec.config.legend.columns = Math.max(1, Math.floor(stairsWidth / (40 + 7 * longest)));
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
  ["x", "y"].forEach((key, at) => {
    spec.encoding[key].title = titled(names[at]);
    spec.encoding[key].scale = scaleOf(rows.map((row) => row.values[at]));
  });
  const same = (position) => position.every((place, at) => place === from.at[at]);
  const points = rows.map((row) => ({ x: row.values[0], y: row.values[1], front: row.front, here: same(row.position), at: row.position }));
  await draw("pareto", spec, points, (datum) => setState({ at: [...datum.at] }));
}
