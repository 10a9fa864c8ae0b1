// What the analyzer has put into the page: names as JSON, rows as numbers (LEB128) in one deflated block.

/** A time axis's row: pieces in exact order, or even bins of the run with the share of each state. */
export interface Pieces {
  readonly count: number;
  readonly begin: Float64Array; // ns
  readonly end: Float64Array;
  readonly state: Uint8Array;
  readonly name: Uint32Array;
}
export interface Bins {
  readonly bins: number;
  readonly shares: Uint8Array[]; // by state, of 255
}
export type Row = { pieces: Pieces; bins?: undefined } | { bins: Bins; pieces?: undefined };

export interface Part { number: number; begin: number; end: number; bytes: number; moved: number }
export interface Stays { begin: Float64Array; end: Float64Array; kind: Uint32Array; part: Uint32Array; kinds: Uint8Array; longest: number }
export interface Moves { time: Float64Array; bytes: Float64Array; part: Uint32Array; flags: Uint8Array }
export interface LineRow {
  parts: Part[];
  stays?: Stays;
  bins?: Bins;
  moves?: Moves;
  moveBins?: Float64Array[]; // bytes, by cause
  launches: { begin: Float64Array; end: Float64Array };
}
export interface LinkRow { begin: Float64Array; end: Float64Array; bytes: Float64Array }
export interface Memory { time: Float64Array; allocated: Float64Array; resident: Float64Array }
export interface Steps { begin: Float64Array; end: Float64Array; text: Uint32Array; depth: Uint32Array }

/** What rows with bins hold in a window, by their number. */
export interface Detail {
  causes: Map<number, Row>; calls: Map<number, Row>; work: Map<number, Row>; link: Map<number, LinkRow>; lines: Map<number, LineRow>;
}

export interface LineMeta {
  name: string; place: string; call: string; memory: string; count: number; bytes: number; largest: number; first: number;
  up: number; down: number; basis: string | null; launches_told: boolean; at: number; blocks: { number: number; bytes: number; at: number }[];
}
export type Window = [number, number];
export interface FindingMark { row: number | null; at: number | null; from: number | null; until: number | null; length: number; rounds?: { count: number; worst: Window; typical: Window } }
export interface Flame { words: string; sum: number; time: boolean; count: boolean; frames: string[]; stacks: number[][] }
export interface Document {
  timeline: {
    span: number; unit: number; told: boolean;
    names: { list: ([string, number, string] | null)[]; places: string[] };
    threads: { tid: number; name: string; main: boolean; calls: number; causes: number; coverage: number }[];
    streams: { number: number; device: number; default: boolean; kernels: number; copies: number; work: number }[];
    links: { low: number; high: number | null; up: { at: number; bytes: number }; down: { at: number; bytes: number } }[];
    memory: { at: number; peak: number; resident: number; device: string; devices: number; capacity: number };
    lines: LineMeta[];
    steps: { at: number; named: boolean; texts: string[]; round: string };
    findings: FindingMark[];
    details: { from: number; until: number; at: number }[];
  };
  flames: Flame[];
  titles: string[];
}

export const placeCount = 6, causeCount = 5;

class Reader {
  private at: number;
  constructor(private readonly bytes: Uint8Array, at: number, private readonly unit: number) { this.at = at; }
  byte(): number { return this.bytes[this.at++]; }
  number(): number {
    let value = 0, scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80 || byte === undefined) return value;
      scale *= 128;
    }
  }
  time(): number { return this.number() * this.unit; }
  take(count: number): Uint8Array { this.at += count; return this.bytes.subarray(this.at - count, this.at); }
}

export class Data {
  constructor(readonly document: Document, private readonly bytes: Uint8Array) {}

  private reader(at: number) { return new Reader(this.bytes, at, this.document.timeline.unit); }

  row(at: number): Row { return this.rowFrom(this.reader(at)); }
  line(at: number): LineRow { return this.lineFrom(this.reader(at)); }
  link(at: number): LinkRow { return this.linkFrom(this.reader(at)); }

  detail(number: number): Detail {
    const from = this.reader(this.document.timeline.details[number].at);
    const rows = <T>(read: () => T) => {
      const found = new Map<number, T>();
      for (let left = from.number(); left > 0; left--) found.set(from.number(), read());
      return found;
    };
    const row = () => rows(() => this.rowFrom(from));
    return { causes: row(), calls: row(), work: row(), link: rows(() => this.linkFrom(from)), lines: rows(() => this.lineFrom(from)) };
  }

  private rowFrom(from: Reader): Row {
    if (from.byte() === 0) return { bins: this.bins(from, from.number(), from.number()) };
    const count = from.number();
    const begin = new Float64Array(count), end = new Float64Array(count), name = new Uint32Array(count);
    for (let i = 0; i < count; i++) begin[i] = from.time();
    for (let i = 0, t = 0; i < count; i++) {
      begin[i] += t;
      t = end[i] = begin[i] + from.time();
    }
    const state = from.take(count);
    for (let i = 0; i < count; i++) name[i] = from.number();
    return { pieces: { count, begin, end, state, name } };
  }

  private bins(from: Reader, states: number, bins: number): Bins {
    const shares: Uint8Array[] = [];
    for (let i = 0; i < states; i++) shares.push(from.take(bins));
    return { bins, shares };
  }

  private lineFrom(from: Reader): LineRow {
    const row: LineRow = { parts: [], launches: { begin: new Float64Array(0), end: new Float64Array(0) } };
    if (from.byte() === 0) row.bins = this.bins(from, placeCount, from.number());
    else {
      const parts = from.number();
      for (let i = 0; i < parts; i++) {
        const number = from.number(), begin = from.time(), length = from.time();
        row.parts.push({ number, begin, end: begin + length, bytes: from.number(), moved: from.number() });
      }
      const kinds = from.take(from.number() * placeCount), count = from.number();
      const begin = new Float64Array(count), end = new Float64Array(count), kind = new Uint32Array(count), part = new Uint32Array(count);
      let longest = 0;
      for (let i = 0, t = 0; i < count; i++) begin[i] = t += from.time();
      for (let i = 0; i < count; i++) {
        const length = from.time();
        longest = Math.max(longest, length);
        end[i] = begin[i] + length;
      }
      for (let i = 0; i < count; i++) kind[i] = from.number();
      for (let i = 0; i < count; i++) part[i] = from.number();
      row.stays = { begin, end, kind, part, kinds, longest };
    }
    if (from.byte() === 0) {
      const bins = from.number();
      row.moveBins = [];
      for (let cause = 0; cause < causeCount; cause++) {
        const bytes = new Float64Array(bins);
        for (let i = 0; i < bins; i++) bytes[i] = from.number();
        row.moveBins.push(bytes);
      }
    } else {
      const count = from.number();
      const time = new Float64Array(count), bytes = new Float64Array(count), part = new Uint32Array(count);
      for (let i = 0, t = 0; i < count; i++) time[i] = t += from.time();
      for (let i = 0; i < count; i++) bytes[i] = from.number();
      for (let i = 0; i < count; i++) part[i] = from.number();
      row.moves = { time, bytes, part, flags: from.take(count) };
    }
    const launches = from.number();
    row.launches = { begin: new Float64Array(launches), end: new Float64Array(launches) };
    for (let i = 0, t = 0; i < launches; i++) {
      row.launches.begin[i] = t += from.time();
      row.launches.end[i] = t + from.time();
    }
    return row;
  }

  private linkFrom(from: Reader): LinkRow {
    const exact = from.byte() === 1, count = from.number();
    const begin = new Float64Array(count), end = new Float64Array(count), bytes = new Float64Array(count);
    const span = this.document.timeline.span;
    for (let i = 0, t = 0; i < count; i++) {
      begin[i] = exact ? (t += from.time()) : (span * i) / count;
      end[i] = exact ? t + from.time() : (span * (i + 1)) / count;
      bytes[i] = from.number();
    }
    return { begin, end, bytes };
  }

  memory(): Memory {
    const from = this.reader(this.document.timeline.memory.at), count = from.number();
    const time = new Float64Array(count), allocated = new Float64Array(count), resident = new Float64Array(count);
    for (let i = 0, t = 0; i < count; i++) {
      time[i] = t += from.time();
      allocated[i] = from.number() * 1024;
      resident[i] = from.number() * 1024;
    }
    return { time, allocated, resident };
  }

  steps(): Steps {
    const from = this.reader(this.document.timeline.steps.at), count = from.number();
    const begin = new Float64Array(count), end = new Float64Array(count), text = new Uint32Array(count), depth = new Uint32Array(count);
    for (let i = 0, t = 0; i < count; i++) {
      begin[i] = t += from.time();
      end[i] = t + from.time();
      text[i] = from.number();
      depth[i] = from.number();
    }
    return { begin, end, text, depth };
  }
}

/** Reads the page's own data. */
export async function load(): Promise<Data> {
  const element = document.getElementById("data")!, bytes = document.getElementById("bytes") as HTMLTemplateElement;
  const parsed = JSON.parse(element.textContent!) as Document;
  const packed = Uint8Array.from(atob(bytes.content.textContent!), (c) => c.charCodeAt(0));
  element.remove();
  bytes.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Data(parsed, new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** The first index whose value is greater than `value`, of a sorted list. */
export function after(list: ArrayLike<number>, value: number): number {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
