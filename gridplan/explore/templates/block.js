// Cells as they come: a header in JSON, then arrays of numbers, little-endian, each at a multiple of 8.

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

class Block {
  constructor(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    this.start = header.start;
    this.size = header.size;
    const heap = Math.ceil((4 + length) / 8) * 8;
    this.columns = new Map(header.columns.map((column) => [column.name, read(buffer, heap, column)]));
  }

  has(name) {
    return this.columns.has(name);
  }

  // What a column holds at positions of the whole cube: a number, a text, or null.
  value(name, position) {
    const { strides, values, table, labels } = this.columns.get(name);
    let at = 0;
    for (let axis = 0; axis < strides.length; axis++) at += strides[axis] * (position[axis] - this.start[axis]);
    if (labels) return values[at] < labels.length ? labels[values[at]] : null;
    const number = table ? table[values[at]] : values[at];
    return Number.isNaN(number) ? null : number;
  }
}

function read(buffer, heap, column) {
  const strides = new Array(column.size.length);
  let count = 1;
  for (let axis = column.size.length - 1; axis >= 0; axis--) {
    strides[axis] = column.size[axis] === 1 ? 0 : count;
    count *= column.size[axis];
  }
  const values = new KINDS[column.kind](buffer, heap + column.at, count);
  const table = column.table === undefined ? null : new Float64Array(buffer, heap + column.table, column.count);
  return { strides, values, table, labels: column.labels || null };
}
