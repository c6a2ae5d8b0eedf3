// One control for every axis, and the choices of what is drawn.

const MOST_LISTED = 500; // labels of a list; more of them get a slider

function axisControl(at) {
  const axis = AXES[at];
  const id = `axis-${at}`;
  const box = el("div", { class: "control" });
  if (axis.labels.length === 1) {
    box.append(el("div", { class: "head" }, el("span", { text: axis.title }), el("span", { class: "value", text: axis.labels[0] })));
    return box;
  }
  const slides = axis.values || axis.labels.length > MOST_LISTED;
  const shown = slides ? el("output", { for: id }) : "";
  const moved = () => setState({ at: state.at.with(at, Number(control.value)) });
  const control = slides
    ? el("input", { id, type: "range", min: 0, max: axis.labels.length - 1, step: 1, oninput: moved })
    : el("select", { id, onchange: moved }, ...axis.labels.map((text, value) => el("option", { value, text })));
  const compare = el("input", {
    type: "checkbox",
    "aria-label": `compare the labels of ${axis.name}`,
    id: `compare-${at}`,
    onchange: () => setState({ compared: state.compared.with(at, compare.checked) }),
  });
  const head = el("div", { class: "head" }, el("label", { for: id, text: axis.title }), shown);
  head.append(el("label", { class: "compare", for: `compare-${at}`, title: "its labels are options of presets and of Pareto" }, compare, "compare"));
  box.append(head, control);
  const short = shortNumbers(axis);
  views.push(() => {
    const label = axis.labels[state.at[at]];
    control.value = state.at[at];
    if (slides) shown.textContent = short[state.at[at]];
    if (slides) control.setAttribute("aria-valuetext", `${label}${axis.unit === "label" ? "" : ` ${axis.unit}`}`);
    compare.checked = state.compared[at];
  });
  return box;
}

function choice(label, options, read, write) {
  const made = options.map((one) => (Array.isArray(one) ? el("option", { value: one[0], text: one[1] }) : one));
  const select = el("select", { onchange: () => write(select.value) }, ...made);
  views.push(() => {
    select.value = read();
  });
  return el("label", {}, label, select);
}

const columnOptions = (wanted) => {
  const option = ({ name, title, unit }) => el("option", { value: name, text: `${name}: ${title}${unitText(unit)}` });
  return underHeads(ABOUT.columns.filter(wanted), (column) => column.group, option);
};
const axisOptions = () => open.map((at) => [String(at), AXES[at].title]);

function drawAxis(key, value) {
  const other = key === "x" ? "y" : "x";
  const at = Number(value);
  setState(state[other] === at ? { [key]: at, [other]: state[key] } : { [key]: at });
}

function makeControls() {
  for (const [id, role] of [["levers", "lever"], ["uncertainties", "uncertainty"]]) {
    const room = byId(id);
    const own = AXES.map((axis, at) => at).filter((at) => AXES[at].role === role);
    if (!own.length) room.append(el("p", { class: "small", text: "none is an axis here" }));
    room.append(...own.map(axisControl));
  }
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
  const plane = byId("plane-controls");
  if (open.length) plane.append(choice("across", axisOptions(), () => String(state.x), (value) => drawAxis("x", value)));
  if (open.length > 1) plane.append(choice("down", axisOptions(), () => String(state.y), (value) => drawAxis("y", value)));
  plane.append(choice("colour and numbers", columnOptions(() => true), () => state.measure, (measure) => setState({ measure })));
  const show = choice("shown", [...SHOWN], () => state.show, (value) => setState({ show: value }));
  plane.append(show);
  views.push(() => {
    show.hidden = !hasChanges();
  });
  const pareto = byId("pareto-controls");
  const numbers = () => columnOptions((column) => isNumber(column) && column.role === "measure");
  pareto.append(choice("across", numbers(), () => state.px, (px) => setState({ px })));
  pareto.append(choice("up", numbers(), () => state.py, (py) => setState({ py })));
  byId("pareto").closest("section").hidden = !open.length || !ABOUT.leftOut;
  byId("link").addEventListener("click", copyLink);
}

async function copyLink() {
  const button = byId("link");
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The address bar has it";
  }
  setTimeout(() => (button.textContent = said), 2000);
}
