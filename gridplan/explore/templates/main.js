// The page begins: controls, then the state of the link, or the cheapest cell in the middle of what may happen.

function begin() {
  busy(1);
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
  addEventListener("hashchange", () => follow(location.hash.slice(1)));
  if (location.hash.length > 1) follow(location.hash.slice(1));
  else {
    setState(state);
    if (ABOUT.presets.length && ABOUT.leftOut) startAtPlan(ABOUT.presets[0].measure);
  }
  busy(-1);
}

// Goes where a link leads; changes that the contract refuses are said and left out.
async function follow(text) {
  busy(1);
  const from = restored(text);
  if (Object.keys(from.changes).length) {
    try {
      await tryChanges(from.changes, from.at);
    } catch (error) {
      linkNotices.push(`the changes of the link are left out: ${error.message}`);
      Object.assign(from, { changes: {}, show: "value" });
    }
  }
  setState(from);
  showNotices();
  busy(-1);
}

// Where nothing that is compared has a plan, the nearest combination of the other levers that has one is gone to first:
// a page that begins with nothing says little.
function startAtPlan(measure) {
  const all = AXES.map((axis) => axis.role === "lever" && axis.labels.length > 1);
  const few = (compared) => comparedCount({ compared }) <= ABOUT.mostOptions;
  const nearest = async () => {
    const from = { ...state, compared: all };
    const found = candidates(await SOURCE.block(comparedPlace(from), choiceColumns([measure]), {}), from, [measure]);
    const moved = (row) => row.position.filter((place, at) => !state.compared[at] && place !== state.at[at]).length;
    const best = found.rows.reduce((one, other) => (one && moved(one) <= moved(other) ? one : other), null);
    if (!best) return;
    setState({ at: best.position });
    chooseLeast(measure);
  };
  const otherwise = (found) => {
    if (found || !few(all)) return;
    busy(1);
    nearest().finally(() => busy(-1));
  };
  if (few(state.compared)) chooseLeast(measure, otherwise);
}

begin();
