// Presets: levers by what is least along those that are compared, uncertainties by their ends.

function makePresets() {
  const levers = el("div", { class: "buttons", role: "group", "aria-label": "Presets of the levers" });
  for (const preset of ABOUT.presets) {
    levers.append(el("button", { type: "button", text: preset.title, onclick: () => chooseLeast(preset.measure) }));
  }
  const said = el("p", { class: "small", id: "preset-said", "aria-live": "polite" });
  if (ABOUT.presets.length && AXES.some((axis) => axis.role === "lever" && axis.labels.length > 1)) byId("levers").append(levers, said);
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
  const said = byId("preset-said");
  const options = comparedCount(from);
  if (options > ABOUT.mostOptions) throw new Error(tooMany(options));
  const names = [measure, ABOUT.leftOut, ...extra("capacity_source")];
  const block = await SOURCE.block(comparedPlace(from), names, from.changes);
  const found = candidates(block, from, [measure]);
  let best = null;
  // Within 1e-9 values are equal, and of equal ones the first in declared order counts, as where plans are chosen.
  const least = Math.min(...found.rows.map((row) => row.values[0]));
  for (const row of found.rows) if (!best && row.values[0] <= least + 1e-9 * Math.abs(least)) best = row;
  if (said) said.textContent = presetText(measure, best, options, found, from);
  // What was moved meanwhile stays where it was moved to.
  if (best) setState({ at: state.at.map((place, axis) => (from.compared[axis] ? best.position[axis] : place)) });
  if (then) then(best !== null);
});

function presetText(measure, best, options, found, from) {
  const axes = AXES.filter((axis, at) => from.compared[at]).map((axis) => axis.name);
  const over = axes.length ? `${countText(options, "combination")} of ${axes.join(", ")}` : "the one combination that is compared";
  if (!best) return `none of ${over} may be chosen: ${leftOutText(found)}`;
  const rest = found.leftOut.size ? `; left out: ${leftOutText(found)}` : "";
  return `least ${measure} of ${over}: ${quantityText(best.values[0], columnOf.get(measure).unit)}${rest}`;
}

let presses = 0;
function chooseLeast(measure, from = state, then = null) {
  presses += 1;
  presetChannel.ask(String(presses), { measure, from, then });
}
