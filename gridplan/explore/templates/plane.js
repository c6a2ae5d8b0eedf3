// The plane: two axes, a measure in every cell, hatched where there is no plan.

const extra = (...names) => names.filter((name) => columnOf.has(name));
const WORDS = ABOUT.constraints;

// Labels of the drawn axes that stand on the page: all of them, or those around the chosen one.
function shownRange(at, most) {
  if (at === null) return [0, 1];
  const count = AXES[at].labels.length;
  const width = Math.min(count, most);
  const begin = Math.max(0, Math.min(state.at[at] - Math.floor(width / 2), count - width));
  return [begin, begin + width];
}

function planeWindow() {
  const across = state.x === null ? 1 : AXES[state.x].labels.length;
  const down = state.y === null ? 1 : AXES[state.y].labels.length;
  const most = ABOUT.mostShown;
  if (across * down <= most) return [shownRange(state.x, across), shownRange(state.y, down)];
  const columns = Math.min(across, Math.max(40, Math.floor(most / Math.min(down, 20))));
  return [shownRange(state.x, columns), shownRange(state.y, Math.floor(most / columns))];
}

// Lets the browser paint what stands before more is drawn.
const painted = () => new Promise((done) => setTimeout(done));

let planeData = null; // what was asked, with the cells as they are planned, and by the contract where that differs

const planeChannel = new Channel(async (question) => {
  const { place, names, from } = question;
  const changed = Object.keys(from.changes).length > 0;
  const [block, base] = await Promise.all([
    SOURCE.block(place, names, from.changes),
    changed ? SOURCE.block(place, names, {}) : null,
  ]);
  planeData = { ...question, block, base };
  drawPlane();
  drawTable();
  await painted();
  await drawStairs();
});

function askPlane() {
  const [xs, ys] = planeWindow();
  const place = state.at.map((at, axis) => (axis === state.x ? xs : axis === state.y ? ys : [at, at + 1]));
  const figures = byId("rows").open ? ABOUT.key : [];
  const fit = ABOUT.leftOut ? [ABOUT.leftOut] : [];
  const names = [...new Set([state.measure, ...extra("status", "binding_constraint", "infeasible_reason"), ...fit, ...figures])];
  const key = `${placeText(place)} ${names} ${changesKey()} ${state.x} ${state.y}`;
  planeChannel.ask(key, { key, place, names, xs, ys, from: state });
  if (planeData && planeData.key === key) redrawPlane();
}

// The same cells, another one of them chosen, or shown in another way.
function redrawPlane() {
  planeData.from = state;
  if (planeData.shown !== state.show) drawPlane();
  else markHere();
  busy(1);
  drawStairs().finally(() => busy(-1));
}

function placeAt(data, column, row) {
  const position = [...data.from.at];
  if (data.from.x !== null) position[data.from.x] = column;
  if (data.from.y !== null) position[data.from.y] = row;
  return position;
}

function markHere() {
  const { x, y } = planeData.from;
  const [here, row] = [x === null ? 0 : state.at[x], y === null ? 0 : state.at[y]];
  for (const old of byId("plane").querySelectorAll("[aria-selected=true], .here, td[tabindex='0']")) {
    old.classList.remove("here");
    if (old.tagName === "TD") {
      old.removeAttribute("aria-selected");
      old.tabIndex = -1;
    }
  }
  for (const head of byId("plane").querySelectorAll(`th[data-x="${here}"], th[data-y="${row}"]`)) head.classList.add("here");
  const td = byId("plane").querySelector(`td[data-x="${here}"][data-y="${row}"]`);
  if (!td) return;
  td.setAttribute("aria-selected", "true");
  td.tabIndex = 0;
  if (td !== revealed) requestAnimationFrame(() => reveal(td));
}

// Scrolls the plane, and not the page, to the chosen cell, where that has moved out of sight.
let revealed = null;
function reveal(td) {
  revealed = td;
  const room = byId("plane-scroll");
  const [left, top] = [td.parentElement.cells[0].offsetWidth, byId("plane").tHead.offsetHeight];
  const within = (now, low, high, size) => (low < now ? low : high > now + size ? high - size : now);
  room.scrollLeft = within(room.scrollLeft, td.offsetLeft - left, td.offsetLeft + td.offsetWidth, room.clientWidth);
  room.scrollTop = within(room.scrollTop, td.offsetTop - top, td.offsetTop + td.offsetHeight, room.clientHeight);
}

function chosenOnPlane(td) {
  const at = [...state.at];
  if (planeData.from.x !== null) at[planeData.from.x] = Number(td.dataset.x);
  if (planeData.from.y !== null) at[planeData.from.y] = Number(td.dataset.y);
  setState({ at });
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-1e9, 0], End: [1e9, 0] };

function planeKey(event) {
  const td = event.target.closest("td");
  if (!td || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") chosenOnPlane(td);
  else if (STEPS[event.key]) {
    const rows = byId("plane").tBodies[0].rows;
    const bound = (value, most) => Math.max(0, Math.min(value, most));
    const down = bound(td.parentElement.sectionRowIndex + STEPS[event.key][1], rows.length - 1);
    const across = bound(td.cellIndex - 1 + STEPS[event.key][0], rows[down].cells.length - 2);
    const next = rows[down].cells[across + 1];
    // At the edge of what is shown the plane moves on around its last cell.
    if (next === td) return void (event.preventDefault(), chosenOnPlane(td));
    td.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else return;
  event.preventDefault();
}
