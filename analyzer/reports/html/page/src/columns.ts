// What a row has in each column of a window of time.
import { after, type LineRow, type LinkRow, type Memory, type Row, placeCount } from "./data";

/** Width of a column, in pixels: fine ones only where pieces are wide enough to be seen. */
export const columnWidth = (pieces: number, width: number) => (pieces > width / 2 ? 4 : pieces > width / 4 ? 2 : 1);

export const firstPiece = (row: Row, time: number) => after(row.pieces!.end, time);
export function countIn(row: Row, from: number, until: number): number {
  if (!row.pieces) return Infinity;
  return Math.max(0, after(row.pieces.begin, until) - firstPiece(row, from));
}
export function pieceAt(row: Row, time: number): number {
  if (!row.pieces) return -1;
  const i = firstPiece(row, time);
  return i < row.pieces.count && row.pieces.begin[i] <= time ? i : -1;
}

/** Adds to each column that [begin, end) meets its covered part, in columns. */
function cover(begin: number, end: number, from: number, scale: number, columns: number, add: (column: number, part: number) => void) {
  const low = Math.max(0, (begin - from) * scale), high = Math.min(columns, (end - from) * scale);
  for (let column = Math.floor(low); column < high; column++) add(column, Math.min(column + 1, high) - Math.max(column, low));
}

/** Shares of the states, column by column. */
export function shares(row: Row, states: number, from: number, until: number, columns: number, span: number): Float32Array {
  const result = new Float32Array(columns * states), scale = columns / (until - from);
  if (row.pieces) {
    const { begin, end, state, count } = row.pieces;
    for (let i = firstPiece(row, from); i < count && begin[i] < until; i++)
      cover(begin[i], end[i], from, scale, columns, (column, part) => { result[column * states + state[i]] += part; });
    return result;
  }
  const { bins, shares: binned } = row.bins!;
  binnedShares(result, binned, states, bins, from, until, columns, span);
  return result;
}

function binnedShares(result: Float32Array, binned: Uint8Array[], states: number, bins: number, from: number, until: number, columns: number, span: number) {
  const scale = columns / (until - from), length = span / bins;
  const first = Math.max(0, Math.floor(from / length)), last = Math.min(bins, Math.ceil(until / length));
  for (let bin = first; bin < last; bin++)
    cover(bin * length, (bin + 1) * length, from, scale, columns, (column, part) => {
      for (let state = 0; state < states; state++) result[column * states + state] += (part * binned[state][bin]) / 255;
    });
}

/** Time by state, ns. */
export function total(row: Row, states: number, from: number, until: number, span: number): Float32Array {
  return shares(row, states, from, until, 1, span).map((share) => share * (until - from));
}

export const allParts = () => true;

export function stayCount(line: LineRow, from: number, until: number): number {
  if (!line.stays) return Infinity;
  return after(line.stays.begin, until) - after(line.stays.begin, from - line.stays.longest);
}

/** Where the bytes of a line's allocations are, as shares of each column. A column in which none lives is empty. */
export function placeShares(line: LineRow, of: (part: number) => boolean, from: number, until: number, columns: number, span: number): Float32Array {
  const result = new Float32Array(columns * placeCount), scale = columns / (until - from);
  if (!line.stays) {
    binnedShares(result, line.bins!.shares, placeCount, line.bins!.bins, from, until, columns, span);
    return result;
  }
  const { begin, end, kind, part, kinds, longest } = line.stays;
  const weights = new Float32Array(columns), alive = new Float32Array(columns);
  for (let i = after(begin, from - longest - 1); i < begin.length && begin[i] < until; i++) {
    if (end[i] <= from || !of(part[i])) continue;
    const bytes = line.parts[part[i]].bytes, at = kind[i] * placeCount;
    cover(begin[i], end[i], from, scale, columns, (column, covered) => {
      weights[column] += covered * bytes;
      alive[column] += covered;
      for (let place = 0; place < placeCount; place++) result[column * placeCount + place] += (covered * bytes * kinds[at + place]) / 255;
    });
  }
  for (let column = 0; column < columns; column++) {
    const factor = weights[column] > 0 ? Math.min(1, alive[column]) / weights[column] : 0;
    for (let place = 0; place < placeCount; place++) result[column * placeCount + place] *= factor;
  }
  return result;
}

export function moveRange(line: LineRow, from: number, until: number): [number, number] {
  return line.moves ? [after(line.moves.time, from - 1e-6), after(line.moves.time, until)] : [0, 0];
}

/** Bytes moved by cause, column by column. */
export function moveBytes(line: LineRow, of: (part: number) => boolean, from: number, until: number, columns: number, span: number, causes: number): Float64Array {
  const result = new Float64Array(columns * causes), scale = columns / (until - from);
  if (line.moves) {
    const [first, last] = moveRange(line, from, until);
    for (let i = first; i < last; i++) {
      if (!of(line.moves.part[i])) continue;
      const column = Math.min(columns - 1, Math.max(0, Math.floor((line.moves.time[i] - from) * scale)));
      result[column * causes + (line.moves.flags[i] >> 1)] += line.moves.bytes[i];
    }
    return result;
  }
  line.moveBins?.forEach((binned, cause) => {
    const length = span / binned.length;
    const first = Math.max(0, Math.floor(from / length)), last = Math.min(binned.length, Math.ceil(until / length));
    for (let bin = first; bin < last; bin++)
      cover(bin * length, (bin + 1) * length, from, scale, columns, (column, part) => { result[column * causes + cause] += (binned[bin] * part) / (length * scale); });
  });
  return result;
}

/** Bytes that crossed the link, column by column. */
export function linkBytes(link: LinkRow, from: number, until: number, columns: number): Float64Array {
  const result = new Float64Array(columns), scale = columns / (until - from);
  // Pieces may overlap a little; what began long before still counts.
  for (let i = Math.max(0, after(link.begin, from) - 64); i < link.begin.length && link.begin[i] < until; i++) {
    const length = Math.max(1e-9, link.end[i] - link.begin[i]);
    cover(link.begin[i], link.end[i], from, scale, columns, (column, part) => { result[column] += (link.bytes[i] * part) / scale / length; });
  }
  return result;
}

/** Bytes in use at the end of each column, the most of it. */
export function memoryUse(memory: Memory, from: number, until: number, columns: number): { allocated: Float64Array; resident: Float64Array } {
  const allocated = new Float64Array(columns), resident = new Float64Array(columns);
  let i = Math.max(0, after(memory.time, from) - 1);
  for (let column = 0; column < columns; column++) {
    const end = from + ((column + 1) * (until - from)) / columns;
    while (i < memory.time.length && memory.time[i] <= end) {
      allocated[column] = Math.max(allocated[column], memory.allocated[i]);
      resident[column] = Math.max(resident[column], memory.resident[i]);
      if (i + 1 < memory.time.length && memory.time[i + 1] <= end) i++;
      else break;
    }
  }
  return { allocated, resident };
}
