// Presets: levers by what is least along those that are compared, uncertainties by their ends.

const PRESET_SAID = el("p", { class: "small", id: "preset-said", "aria-live": "polite" });

function makePresets() {
  const levers = el("div", { class: "buttons", role: "group", "aria-label": "Presets of the levers" });
  for (const preset of ABOUT.presets) {
    levers.append(el("button", { type: "button", text: preset.title, onclick: () => chooseLeast(preset.measure) }));
  }
  const said = PRESET_SAID;
  const survives = [["", "nothing"], ...ABOUT.survives.map((one) => [one.name, one.title])];
  const must = choice("a plan must survive", survives, () => state.survives, (name) => setState({ survives: name }));
  const chosen = ABOUT.leftOut && ABOUT.presets.length && AXES.some((axis) => axis.role === "lever" && axis.labels.length > 1);
  if (chosen) byId("levers").append(levers, said);
  if (chosen && ABOUT.survives.length) levers.before(el("div", { class: "control must" }, must));
  // What was said of a choice is of the state that it led to.
  views.push(() => {
    if (saidOf !== linkText(state)) said.textContent = "";
  });
  const numeric = open.filter((at) => AXES[at].role === "uncertainty" && AXES[at].values);
  const ends = el("div", { class: "buttons", role: "group", "aria-label": "Presets of the uncertainties" });
  for (const [text, share] of [["all low", 0], ["all in the middle", 0.5], ["all high", 1]]) {
    ends.append(el("button", { type: "button", text, onclick: () => setState({ at: movedTo(numeric, share) }) }));
  }
  if (numeric.length) byId("uncertainties").append(ends);
}

// Positions with the axes given at a share of their labels, from the least to the largest.
function movedTo(axes, share) {
  const at = [...state.at];
  for (const axis of axes) {
    const order = AXES[axis].values.map((value, place) => [value, place]).sort((a, b) => a[0] - b[0]);
    at[axis] = order[Math.floor((order.length - 1) * share)][1];
  }
  return at;
}

const presetChannel = new Channel(async ({ measure, from, then }) => {
  const said = PRESET_SAID;
  const options = comparedCount(from);
  if (options > ABOUT.mostOptions) {
    saidOf = linkText(state);
    said.textContent = tooMany(options);
    return;
  }
  const found = candidates(await SOURCE.block(comparedPlace(from), choiceColumns([measure]), from.changes), from, [measure]);
  let best = null;
  let ties = -1;
  // Within 1e-9 values are equal, and of equal ones the first in declared order counts, as where plans are chosen.
  const least = Math.min(...found.rows.map((row) => row.values[0]));
  for (const row of found.rows) {
    if (row.values[0] > least + 1e-9 * Math.abs(least)) continue;
    best ??= row;
    ties += 1;
  }
  // What was moved meanwhile stays where it was moved to.
  const at = best ? state.at.map((place, axis) => (from.compared[axis] ? best.position[axis] : place)) : state.at;
  saidOf = linkText({ ...state, at });
  said.textContent = presetText(measure, best, ties, options, found, from);
  setState({ at });
  if (then) then(best !== null);
});

let saidOf = "";

function presetText(measure, best, ties, options, found, from) {
  const axes = AXES.filter((axis, at) => from.compared[at]).map((axis) => axis.name);
  const over = axes.length ? `${countText(options, "combination")} of ${axes.join(", ")}` : "the one combination that is compared";
  if (!best) return `none of ${over} may be chosen: ${leftOutText(found)}`;
  const parts = [`least ${measure} of ${over}: ${quantityText(best.values[0], columnOf.get(measure).unit)}`];
  if (ties) parts.push(`${countText(ties, "other")} tied, and the first in order is chosen`);
  if (found.leftOut.size) parts.push(`left out: ${leftOutText(found)}`);
  return [...parts, ...cautions(from)].join("; ");
}

// What to know of a choice that nobody restricted, as `gridplan choose` warns.
function cautions(from) {
  const free = (key) => AXES.filter((axis, at) => from.compared[at] && axis[key]).map((axis) => axis.name);
  const said = [];
  if (free("precision").length) said.push(`${free("precision").join(" and ")} chosen freely: the cheapest tends to the lowest precision`);
  if (free("promise").length) said.push(`${free("promise").join(", ")} chosen freely: the cheapest promises least`);
  return said;
}

let presses = 0;
function chooseLeast(measure, then = null) {
  presses += 1;
  presetChannel.ask(String(presses), { measure, from: state, then });
}
