// What if: policies and prices in place of those of the contract; every number of the page is planned anew.

let current = {}; // inputs of the chosen cell by the contract, as text
const inputOf = new Map(ABOUT.inputs.map((input) => [input.name, input]));

const nowChannel = new Channel(async ({ place }) => {
  current = await SOURCE.now(place);
  drawCurrent();
  if (cellData) drawCell();
});

function makeWhatIf() {
  const room = byId("changes");
  if (!ABOUT.inputs.length) {
    room.append(el("p", { class: "small", text: ABOUT.noWhatIf || "no policy or price can be changed here" }));
    return;
  }
  // Numbers that the contract states come first: they are what people turn.
  const rank = (input) => (input.stated ? 0 : 2) + (input.labels ? 1 : 0);
  const order = [...ABOUT.inputs].sort((a, b) => rank(a) - rank(b));
  const options = underHeads(order, (input) => input.group, (input) => el("option", { value: input.name, text: `${input.name}: ${input.title}` }));
  const form = el("form", { class: "row", autocomplete: "off", onsubmit: (event) => (event.preventDefault(), setChange()) });
  form.append(
    el("label", {}, "policy or price", el("select", { id: "if-name", onchange: shapeValue }, ...options)),
    el("div", { class: "field", id: "if-value" }),
    el("button", { id: "if-set", text: "Plan with this value" }),
  );
  const said = (id) => el("span", { id });
  const hints = el("p", { class: "small", id: "if-hint" }, said("if-now"), said("if-bounds"));
  const problem = el("p", { class: "note warning", id: "if-problem", role: "alert" });
  room.append(form, hints, problem, el("div", { id: "if-list", "aria-live": "polite" }));
  shapeValue();
  views.push(drawChanges);
}

function shapeValue() {
  const input = inputOf.get(byId("if-name").value);
  const parts = [input.unit !== "label" && `in ${input.unit}`, input.bounds, input.units && `or with a unit: ${input.units}`];
  const field = input.labels
    ? el("select", { id: "if-field" }, ...input.labels.map((text) => el("option", { value: text, text })))
    : el("input", { id: "if-field", type: "text", maxlength: 80, "aria-describedby": "if-hint" });
  byId("if-value").replaceChildren(el("label", { for: "if-field", text: "value" }), field);
  byId("if-bounds").textContent = input.labels ? "" : `; a value ${parts.filter(Boolean).join(", ")}`;
  drawCurrent();
}

function drawCurrent() {
  const name = byId("if-name").value;
  byId("if-now").textContent = `by the contract in the chosen cell: ${current[name] ?? "no value"}`;
}

// Raises what is wrong with changes: a page plans with nothing that the contract refuses.
async function tryChanges(changes, at) {
  const probe = extra("status")[0] ?? ABOUT.columns[0].name;
  await SOURCE.block(at.map((place) => [place, place + 1]), [probe], changes);
}

async function setChange() {
  const value = byId("if-field").value.trim();
  const changes = { ...state.changes, [byId("if-name").value]: value };
  const said = byId("if-problem");
  said.textContent = "";
  if (!value) return;
  busy(1);
  try {
    await tryChanges(changes, state.at);
    setState({ changes });
  } catch (error) {
    said.textContent = error.message;
  }
  busy(-1);
}

function dropChange(name) {
  const changes = { ...state.changes };
  delete changes[name];
  setState({ changes, show: Object.keys(changes).length ? state.show : "value" });
  byId("if-set").focus();
}

function drawChanges() {
  const rows = Object.entries(state.changes).map(([name, value]) =>
    el("li", {}, `${name} = ${value} `, el("button", { type: "button", class: "plain", text: `undo`, "aria-label": `undo the change of ${name}`, onclick: () => dropChange(name) })),
  );
  byId("if-list").replaceChildren(...(rows.length ? [el("h3", { text: "All numbers are planned with" }), el("ul", {}, ...rows)] : []));
  nowChannel.ask(placeText(cellPlace()), { place: cellPlace() });
}
