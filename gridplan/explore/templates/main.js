// The page begins: controls, then the state of the link, or the cheapest cell in the middle of what may happen.

function begin() {
  const cells = AXES.reduce((count, axis) => count * axis.labels.length, 1);
  byId("size").textContent = `${countText(cells, "cell")} (${AXES.map((axis) => `${axis.labels.length} ${axis.name}`).join(" x ") || "no axes"})`;
  if (matchMedia("(max-width: 860px)").matches) byId("axes").open = false;
  makeControls();
  makePresets();
  const table = byId("plane");
  table.addEventListener("click", (event) => event.target.closest("td") && chosenOnPlane(event.target.closest("td")));
  table.addEventListener("keydown", planeKey);
  byId("all").addEventListener("toggle", askCell);
  byId("rows").addEventListener("toggle", () => (askPlane(), drawTable()));
  byId("chain-open").addEventListener("toggle", askChain);
  // Questions are answered in the order in which they come: first what is looked at most.
  views.push(askPlane, askCell, askPareto, askChain);
  makeWhatIf();
  addEventListener("hashchange", () => setState(restored(location.hash.slice(1))));
  const linked = location.hash.length > 1;
  setState(linked ? restored(location.hash.slice(1)) : state);
  showNotices();
  if (!linked && ABOUT.presets.length) startAtPlan(ABOUT.presets[0].measure);
}

// Where nothing that is compared has a plan, the other levers move too: a page that begins with nothing says little.
function startAtPlan(measure) {
  const all = AXES.map((axis) => axis.role === "lever" && axis.labels.length > 1);
  const few = (compared) => comparedCount({ compared }) <= ABOUT.mostOptions;
  const wider = () => few(all) && chooseLeast(measure, { ...state, compared: all });
  if (few(state.compared)) chooseLeast(measure, state, (found) => found || wider());
  else wider();
}

begin();
