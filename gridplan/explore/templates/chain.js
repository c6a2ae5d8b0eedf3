// The chain of the chosen cell: every formula with its numbers, and where the inputs came from.

const chainChannel = new Channel(async ({ place, from }) => {
  if (!SOURCE.explain) return drawFormulas(from);
  drawChain(await SOURCE.explain(place, from.changes));
});

function askChain() {
  if (!byId("chain-open").open) return;
  chainChannel.ask(`${placeText(cellPlace())} ${changesKey()}`, { place: cellPlace(), from: state });
}

function drawChain(found) {
  const parts = [el("p", { class: `decision ${found.status}`, text: found.verdict })];
  for (const text of found.warnings) parts.push(el("p", { class: "note warning", text }));
  let section = null;
  for (const line of found.chain) {
    if (line.section !== section) parts.push(el("h3", { text: line.section }));
    section = line.section;
    const symbol = line.symbol ? ` (${line.symbol})` : "";
    const shown = el("div", { class: "line", "data-measure": line.name, "data-value": exact(line.value) }, el("span", { title: line.long_name, text: `${line.name}${symbol} = ` }), el("strong", { text: line.text }));
    if (line.formula) shown.append(el("p", { class: "code", text: line.formula }));
    if (line.formula && line.numbers !== line.formula) shown.append(el("p", { class: "code", text: `= ${line.numbers}` }));
    parts.push(shown);
  }
  const table = el("table");
  const rows = found.inputs.map((input) =>
    el("tr", {}, el("th", { scope: "row", text: input.name }), el("td", { class: "n", text: input.text }), ...[input.class, input.from, input.source, input.as_of].map((text) => el("td", { text: text || "" }))),
  );
  fillTable(table, ["input", "value", "class", "from", "source", "date"], rows);
  parts.push(el("h3", { text: "inputs" }), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Inputs of the chain" }, table));
  byId("chain").replaceChildren(...parts);
}

// Without a server: the formulas with the results that stand in this page.
async function drawFormulas(from) {
  const block = await SOURCE.block();
  const written = (axis, place) => (axis.written ?? axis.labels)[from.at[place]].replaceAll(",", "\\,");
  const at = AXES.map((axis, place) => `${axis.name}=${written(axis, place)}`).join(",");
  const command = `gridplan explain CONTRACT${at ? ` --at '${at.replaceAll("'", "'\\''")}'` : ""}`; // for a shell: no label is run
  const parts = [el("p", { class: "small", text: `Results and formulas of this page; with every number: ${command}` })];
  for (const [section, names] of Object.entries(ABOUT.chain)) {
    const own = names.filter((name) => block.has(name));
    if (own.length) parts.push(el("h3", { text: section }));
    for (const name of own) {
      const column = columnOf.get(name);
      const value = block.value(name, from.at);
      const line = el("div", { class: "line", "data-measure": name, "data-value": exact(value) }, `${name} = `, el("strong", { text: quantityText(value, column.unit) }));
      if (column.formula) line.append(el("p", { class: "code", text: column.formula }));
      parts.push(line);
    }
  }
  byId("chain").replaceChildren(...parts);
}
