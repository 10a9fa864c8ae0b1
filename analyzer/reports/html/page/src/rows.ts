// The rows of the timeline: what each is called, draws, and says of the place under the pointer.
import { allParts, columnWidth, countIn, firstPiece, linkBytes, memoryUse, moveBytes, moveRange, pieceAt, placeShares, shares, stayCount, total } from "./columns";
import { type Data, type Detail, type LineMeta, type LineRow, type LinkRow, type Moves, type Row, after, causeCount, placeCount } from "./data";
import { bytesText, countText, kernelNames, momentText, percentText, timeText } from "./format";
import { type Context, type Ink, causeInks, causeNames, fill, font, glyph, inkOn, label, note, palette, stack } from "./paint";
import type { Tip } from "./tip";
import type { View } from "./view";

export const causeList: { name: string; brief: string[]; ink: Ink; css: string }[] = [
  { name: "host code", brief: ["host code"], ink: "code", css: "code" },
  { name: "page faults on the host", brief: ["host page fault", "host fault", "fault"], ink: "hfault", css: "hfault" },
  { name: "page faults on the device", brief: ["device page faults", "device faults", "faults"], ink: "dfault", css: "dfault" },
  { name: "waiting for kernels", brief: ["waits for kernels", "kernel"], ink: "kwait", css: "kwait" },
  { name: "fills and copies", brief: ["fill or copy", "copy"], ink: "fill", css: "fill" },
  { name: "allocation and free", brief: ["allocation", "alloc"], ink: "alloc", css: "alloc" },
  { name: "launches and other calls", brief: ["call"], ink: "launch", css: "launch" },
  { name: "start of CUDA", brief: ["start of CUDA", "start"], ink: "start", css: "start" },
];
const workList: { name: string; ink: Ink }[] = [
  { name: "kernel runs", ink: "kernel" },
  { name: "stalled by page faults (estimated)", ink: "dfault" },
  { name: "fill or copy", ink: "fill" },
];
const placeInks: Ink[] = ["device", "both", "moving", "evicted", "host", "unpop"];
const placeNames = ["on the device", "on both sides", "moving", "evicted", "on the host", "not populated"];
const placeLetters = ["D", "B", "M", "E", "H", "—"];

export interface RowView {
  id: string;
  group: "sticky" | "host" | "device" | "lines";
  name: string;
  sub: string;
  value?: string;
  value2?: string;
  height: number;
  aria: string;
  findings: number[];
  grid: boolean;
  kid?: boolean;
  line?: LineView;
  unfold?(): RowView[];
  classes?: string;
  draw(context: Context, width: number, height: number): void;
  hit?(time: number, y: number, x: number): Tip | null;
}
export interface LineView { meta: LineMeta; index: number; row(): LineRow; whole(): LineRow }

const nice = (value: number) => {
  const scale = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((factor) => factor * scale).find((step) => step >= value * 0.999)!;
};

export class Rows {
  readonly mainIndex: number;
  readonly memory; readonly steps;
  private readonly parsed = new Map<number, LineRow>();
  private readonly parsedBlocks = new Map<number, LineRow>();
  private readonly parsedDetails = new Map<number, Detail>();
  private readonly links: LinkRow[];
  private readonly threads: { causes: Row; calls: Row }[];
  private readonly streams: Row[];
  private readonly span: number;

  constructor(readonly data: Data, readonly view: View) {
    const timeline = data.document.timeline;
    this.span = timeline.span;
    this.threads = timeline.threads.map((thread) => ({ causes: data.row(thread.causes), calls: data.row(thread.coverage) }));
    this.mainIndex = Math.max(0, timeline.threads.findIndex((thread) => thread.main));
    this.streams = timeline.streams.map((stream) => data.row(stream.work));
    this.links = timeline.links.flatMap((link) => [data.link(link.up.at), data.link(link.down.at)]);
    this.memory = data.memory();
    this.steps = data.steps();
  }

  /** Where there is a detail of all that is in view, its rows stand for those that have bins. */
  private detail(): Detail | undefined {
    const { from, until } = this.view, a_bit = (until - from) / 1000;
    const number = this.data.document.timeline.details.findIndex((detail) => detail.from <= from + a_bit && until <= detail.until + a_bit);
    if (number < 0) return undefined;
    let detail = this.parsedDetails.get(number);
    if (!detail) this.parsedDetails.set(number, (detail = this.data.detail(number)));
    return detail;
  }
  causes(thread: number): Row { return this.detail()?.causes.get(thread) ?? this.threads[thread].causes; }
  calls(thread: number): Row { return this.detail()?.calls.get(thread) ?? this.threads[thread].calls; }
  work(stream: number): Row { return this.detail()?.work.get(stream) ?? this.streams[stream]; }
  /** `way`: a link's number, twice; plus 1 for the way down. */
  linkRow(way: number): LinkRow { return this.detail()?.link.get(way) ?? this.links[way]; }
  line(index: number): LineRow { return this.detail()?.lines.get(index) ?? this.wholeLine(index); }
  main(): Row | null { return this.threads.length ? this.causes(this.mainIndex) : null; }

  private wholeLine(index: number): LineRow {
    let row = this.parsed.get(index);
    if (!row) this.parsed.set(index, (row = this.data.line(this.data.document.timeline.lines[index].at)));
    return row;
  }

  private nameOf(number: number): { call: string; place: string; kernel: string } {
    const { list, places } = this.data.document.timeline.names, name = list[number];
    return name ? { call: name[0], place: places[name[1]], kernel: name[2] } : { call: "", place: "", kernel: "" };
  }

  /** "pgain", "step 12 of 1,432": the steps around a moment. */
  stepText(time: number): string {
    const { begin, end, text, depth } = this.steps, { named, texts } = this.data.document.timeline.steps;
    const found: string[] = [];
    for (let i = after(begin, time) - 1; i >= 0 && found.length < 2 && i > after(begin, time) - 64; i--)
      if (begin[i] <= time && end[i] > time && !(found.length && depth[i] > 0)) found.unshift(named ? texts[text[i]] : `round ${countText(i + 1)} of ${countText(begin.length)}`);
    return found.join(", ");
  }
  /** Where a row has bins that are wider than what is looked at, it says so. */
  private coarse(context: Context, bins: number | undefined, width: number, y: number) {
    const wide = bins ? (this.span / bins / this.view.length) * width : 0;
    if (wide > 12) note(context, `details are left out here: a column is ${timeText(this.span / bins!)} wide`, Math.max(2, width / 2 - 130), y);
  }
  private around(time: number): [string, number, number] {
    const width = (this.view.length / this.view.width) * 4;
    return [`${timeText(width)} around ${momentText(time, this.view.length)}`, time - width / 2, time + width / 2];
  }
  private step(time: number): [string, string][] {
    const text = this.stepText(time);
    return text ? [["step", text]] : [];
  }

  // The overview.

  overview(): RowView {
    const main = this.threads.length ? this.threads[this.mainIndex].causes : null;
    const faults = main ? total(main, 8, 0, this.span, this.span) : new Float32Array(8);
    const ofFaults = faults[1] + faults[2] > this.span * 0.001;
    const drawn = ofFaults ? [2, 1] : [3, 4];
    return {
      id: "overview", group: "sticky", name: "Whole run", sub: ofFaults ? "share of time in page faults" : "share of time in waits and copies",
      height: 40, grid: false, findings: [], classes: "bare", aria: "Overview of the run, with the visible window",
      draw: (context, width, height) => {
        fill(context, "sunk", 0, 0, width, height);
        if (!main) return;
        const columns = Math.ceil(width / 3), all = shares(main, 8, 0, this.span, columns, this.span);
        for (let column = 0; column < columns; column++) {
          let y = height;
          for (const cause of drawn) {
            const tall = all[column * 8 + cause] * height;
            context.fillStyle = palette.of(causeList[cause].ink as "dfault");
            context.fillRect(column * 3, (y -= tall), 3, tall);
          }
          if (all[column * 8 + 7] > 0.1) fill(context, "start", column * 3, 0, 3, height);
        }
      },
    };
  }

  ticks(): { step: number; list: number[] } {
    const raw = this.view.length / (this.view.width / 110), step = nice(raw), list: number[] = [];
    for (let tick = Math.ceil(this.view.from / step) * step; tick <= this.view.until && list.length < 100; tick += step) list.push(tick);
    return { step, list };
  }

  ruler(): RowView {
    return {
      id: "ruler", group: "sticky", name: "Time", sub: "", height: 22, grid: false, findings: [], classes: "bare", aria: "Time axis",
      draw: (context, width, height) => {
        const { step, list } = this.ticks(), decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
        context.font = font;
        context.textBaseline = "middle";
        context.strokeStyle = palette.of("line");
        context.fillStyle = palette.of("mut");
        context.lineWidth = 1;
        context.beginPath();
        for (const tick of list) {
          const x = Math.round(this.view.x(tick)) + 0.5, text = `${(tick / 1e9).toFixed(decimals)} s`, half = context.measureText(text).width / 2;
          context.moveTo(x, height - 6);
          context.lineTo(x, height);
          context.textAlign = x < half ? "left" : x > width - half ? "right" : "center";
          context.fillText(text, Math.min(width - 2, Math.max(2, x)), 8);
          for (let part = 1; part < 5; part++) {
            const small = Math.round(this.view.x(tick + (step * part) / 5)) + 0.5;
            context.moveTo(small, height - 3);
            context.lineTo(small, height);
          }
        }
        context.stroke();
      },
    };
  }

  stepRow(): RowView | null {
    const { begin, end, text, depth } = this.steps, meta = this.data.document.timeline.steps;
    if (!begin.length) return null;
    const deep = depth.some((level) => level > 0);
    return {
      id: "steps", group: "sticky", name: "Steps", sub: meta.named ? "NVTX ranges" : `rounds of ${meta.round.replace(/ in .*/, "")} (no NVTX)`,
      height: deep ? 36 : 20, grid: false, findings: [], classes: "bare", aria: `Steps: ${countText(begin.length)} ${meta.named ? "NVTX ranges" : "rounds of a loop"}`,
      draw: (context, width) => {
        for (let level = 0; level < (deep ? 2 : 1); level++) {
          const y = 2 + level * 17, first = Math.max(0, after(begin, this.view.from) - 64);
          let shown = 0;
          for (let i = first; i < begin.length && begin[i] < this.view.until; i++) shown += +(depth[i] === level && end[i] > this.view.from);
          if (shown > width / 5) {
            fill(context, "sunk", Math.max(0, this.view.x(begin[0])), y, width, 15);
            label(context, [`${countText(shown)} ${meta.named ? "ranges" : "rounds"}, ${timeText(this.view.length / shown)} each`], palette.of("mut"), Math.max(4, this.view.x(begin[0])), y + 8, width);
            continue;
          }
          for (let i = first; i < begin.length && begin[i] < this.view.until; i++) {
            if (depth[i] !== level || end[i] <= this.view.from) continue;
            const x = Math.max(-1, this.view.x(begin[i])), wide = Math.min(width + 1, this.view.x(end[i])) - x;
            fill(context, i % 2 ? "sunk" : "line2", x, y, wide, 15);
            fill(context, "line", x, y, 1, 15);
            label(context, meta.named ? [meta.texts[text[i]], meta.texts[text[i]].slice(0, 12)] : [`round ${countText(i + 1)}`, countText(i + 1)], palette.of("text"), Math.max(0, x), y + 8, wide - Math.max(0, -x));
          }
        }
      },
      hit: (time) => (this.stepText(time) ? { title: this.stepText(time), rows: [["at", momentText(time, this.view.length)]] } : null),
    };
  }

  // The host.

  thread(index: number): RowView {
    const meta = this.data.document.timeline.threads[index];
    const drawCalls = (context: Context, width: number) => {
      const calls = this.calls(index), y = 28, height = 14, count = countIn(calls, this.view.from, this.view.until);
      if (count > width / 6) {
        const columns = Math.ceil(width / 4), all = shares(calls, 1, this.view.from, this.view.from + (this.view.length * columns * 4) / width, columns, this.span);
        context.fillStyle = palette.of("mut");
        for (let column = 0; column < columns; column++) {
          const share = Math.min(1, all[column]);
          if (share < 0.01) continue;
          context.globalAlpha = 0.2 + 0.5 * share;
          context.fillRect(column * 4, y + height * (1 - share), 4, height * share);
        }
        context.globalAlpha = 1;
        return;
      }
      const pieces = calls.pieces!;
      for (let i = firstPiece(calls, this.view.from); i < pieces.count && pieces.begin[i] < this.view.until; i++) {
        const x = this.view.x(pieces.begin[i]), wide = this.view.x(pieces.end[i]) - x;
        fill(context, "sunk", x, y, Math.max(1, wide - 0.5), height);
        context.strokeStyle = palette.of("mut");
        context.lineWidth = 1;
        if (wide > 3) context.strokeRect(x + 0.5, y + 0.5, wide - 1.5, height - 1);
        const name = this.nameOf(pieces.name[i]).call, left = Math.max(0, x);
        if (wide > 30) label(context, [name, name.replace(/^cuda?/, "")], palette.of("text"), left, y + height / 2, Math.min(width, x + wide) - left);
      }
    };
    const tipOf = (row: Row, i: number): Tip => {
      const causes = this.causes(index), calls = this.calls(index), pieces = row.pieces!, name = this.nameOf(pieces.name[i]), length = pieces.end[i] - pieces.begin[i];
      const parts = total(causes, 8, pieces.begin[i], pieces.end[i], this.span);
      const estimated = parts[1] + parts[2] > 0;
      return {
        title: row === calls ? name.call : causeList[pieces.state[i]].name, place: name.place,
        rows: [["when", momentText(pieces.begin[i], this.view.length)], ["lasts", timeText(length)],
          ...(name.kernel ? [["kernel", name.kernel] as [string, string]] : []),
          ...(row === calls ? causeList.map((cause, k) => [cause.name, timeText(parts[k])] as [string, string]).filter((_, k) => parts[k] > length * 0.001) : []),
          ...(estimated ? [["estimated", "page faults, by what the driver counted"] as [string, string]] : []), ...this.step(pieces.begin[i])],
      };
    };
    return {
      id: `thread${index}`, group: "host", name: `Thread ${meta.tid}${meta.main ? " (main)" : meta.name ? ` (${meta.name})` : ""}`, sub: "above: cause of time · below: calls",
      height: 44, grid: true, findings: meta.main ? this.findingsOf(null) : [],
      aria: `Host thread ${meta.tid}: host code, calls and waits by cause; ${countText(meta.calls)} calls`,
      draw: (context, width) => {
        const causes = this.causes(index), count = countIn(causes, this.view.from, this.view.until), wide = causes.pieces ? columnWidth(count, width) : 4, columns = Math.ceil(width / wide);
        stack(context, shares(causes, 8, this.view.from, this.view.from + (this.view.length * columns * wide) / width, columns, this.span), 8, columns, wide, 3, 22, causeList.map((cause) => cause.ink));
        if (count < width / 10) {
          const pieces = causes.pieces!;
          for (let i = firstPiece(causes, this.view.from); i < pieces.count && pieces.begin[i] < this.view.until; i++) {
            const x = Math.max(0, this.view.x(pieces.begin[i])), cause = causeList[pieces.state[i]];
            label(context, cause.brief, inkOn(cause.ink), x, 14.5, Math.min(width, this.view.x(pieces.end[i])) - x);
          }
        }
        drawCalls(context, width);
        this.coarse(context, causes.bins?.bins, width, 14);
      },
      hit: (time, y) => {
        const causes = this.causes(index), row = y > 27 ? this.calls(index) : causes, i = countIn(row, this.view.from, this.view.until) < this.view.width / 3 ? pieceAt(row, time) : -1;
        if (i >= 0) return tipOf(row, i);
        const [text, from, until] = this.around(time), parts = total(causes, 8, from, until, this.span);
        return { title: `Thread ${meta.tid}, ${text}`, rows: [...causeList.map((cause, k) => [cause.name, percentText(parts[k] / (until - from))] as [string, string]).filter((_, k) => parts[k] > 0), ...this.step(time)] };
      },
    };
  }

  // Devices.

  stream(index: number): RowView {
    const { streams } = this.data.document.timeline, meta = streams[index];
    const several = streams.some((stream) => stream.device !== meta.device), name = `${several ? `Device ${meta.device}, stream` : "Stream"} ${meta.number}`;
    return {
      id: `stream${index}`, group: "device", name: `${name}${meta.default ? " (default)" : ""}`,
      sub: [meta.kernels && `${countText(meta.kernels)} kernels`, meta.copies && `${countText(meta.copies)} fills and copies`].filter(Boolean).join(" · "),
      height: 30, grid: true, findings: [], aria: `${name}: ${countText(meta.kernels)} kernels, ${countText(meta.copies)} fills and copies`,
      draw: (context, width) => {
        const row = this.work(index), count = countIn(row, this.view.from, this.view.until), wide = row.pieces ? columnWidth(count, width) : 4, columns = Math.ceil(width / wide);
        stack(context, shares(row, 3, this.view.from, this.view.from + (this.view.length * columns * wide) / width, columns, this.span), 3, columns, wide, 4, 22, workList.map((work) => work.ink));
        this.coarse(context, row.bins?.bins, width, 15);
        if (count > width / 10) return;
        const pieces = row.pieces!;
        for (let i = firstPiece(row, this.view.from); i < pieces.count && pieces.begin[i] < this.view.until; i++) {
          const x = Math.max(0, this.view.x(pieces.begin[i])), name = this.nameOf(pieces.name[i]), ink = workList[pieces.state[i]].ink;
          const texts = pieces.state[i] === 1 ? ["stalled by page faults", "stalled"] : name.kernel ? [...kernelNames(name.kernel), "kernel"] : [name.call, "copy"];
          label(context, texts, inkOn(ink), x, 15.5, Math.min(width, this.view.x(pieces.end[i])) - x);
        }
      },
      hit: (time) => {
        const row = this.work(index), i = countIn(row, this.view.from, this.view.until) < this.view.width / 3 ? pieceAt(row, time) : -1;
        if (i < 0) {
          const [text, from, until] = this.around(time), parts = total(row, 3, from, until, this.span), idle = until - from - parts[0] - parts[1] - parts[2];
          return { title: `Stream ${meta.number}, ${text}`, rows: [...workList.map((work, k) => [work.name, percentText(parts[k] / (until - from))] as [string, string]), ["idle", percentText(Math.max(0, idle) / (until - from))], ...this.step(time)] };
        }
        const pieces = row.pieces!, name = this.nameOf(pieces.name[i]);
        return { title: name.kernel || name.call, place: name.place, rows: [["state", workList[pieces.state[i]].name], ["when", momentText(pieces.begin[i], this.view.length)], ["lasts", `${timeText(pieces.end[i] - pieces.begin[i])} (placed by the order of the stream)`], ...this.step(time)] };
      },
    };
  }

  /** Bytes that cross the links of the host, in a window. */
  hostTraffic(from: number, until: number): [number, number] {
    const sum = [0, 0];
    this.data.document.timeline.links.forEach((link, i) => {
      if (link.low !== 0) return;
      sum[0] += linkBytes(this.linkRow(2 * i), from, until, 1)[0];
      sum[1] += linkBytes(this.linkRow(2 * i + 1), from, until, 1)[0];
    });
    return [sum[0], sum[1]];
  }

  link(index: number): RowView {
    const { links } = this.data.document.timeline, meta = links[index], alone = links.length === 1;
    const processor = (number: number | null) => (number === null ? "devices" : number === 0 ? "host" : alone ? "device" : `device ${number - 1}`);
    const low = processor(meta.low), high = processor(meta.high);
    return {
      id: `link${index}`, group: "device", name: alone ? "Link traffic" : `Link ${low} – ${high}`, sub: meta.high === null ? "which device is not recorded" : alone ? `${low} → ${high} up, ${high} → ${low} down` : `up: to ${high} · down: to ${low}`,
      height: 68, grid: true, findings: [],
      aria: `Traffic on the link between ${low} and ${high}: ${bytesText(meta.up.bytes)} to ${high}, ${bytesText(meta.down.bytes)} to ${low}`,
      draw: (context, width, height) => {
        const wide = 2, columns = Math.ceil(width / wide), length = this.view.length / columns, middle = height / 2;
        const up = linkBytes(this.linkRow(2 * index), this.view.from, this.view.until, columns), down = linkBytes(this.linkRow(2 * index + 1), this.view.from, this.view.until, columns);
        let most = 0.01;
        for (let column = 0; column < columns; column++) most = Math.max(most, up[column] / length, down[column] / length);
        const scale = nice(most);
        for (let column = 0; column < columns; column++) {
          const above = (up[column] / length / scale) * (middle - 6), below = (down[column] / length / scale) * (middle - 6);
          if (above > 0) fill(context, "device", column * wide, middle - Math.max(0.5, above), wide, Math.max(0.5, above));
          if (below > 0) fill(context, "host", column * wide, middle, wide, Math.max(0.5, below));
        }
        fill(context, "line", 0, middle - 0.5, width, 1);
        const text = scale < 1 ? `${scale * 1000} MB/s` : `${scale} GB/s`;
        note(context, `↑ ${text}`, 2, 9);
        note(context, `↓ ${text}`, 2, height - 8);
      },
      hit: (time) => {
        const [text, from, until] = this.around(time), up = linkBytes(this.linkRow(2 * index), from, until, 1)[0], down = linkBytes(this.linkRow(2 * index + 1), from, until, 1)[0];
        const rate = (bytes: number) => `${bytesText(bytes)} (${(bytes / (until - from)).toFixed(2)} GB/s)`;
        return { title: `Link, ${text}`, rows: [[`${low} → ${high}`, rate(up)], [`${high} → ${low}`, rate(down)], ["known", "sum from one call to the next"], ...this.step(time)] };
      },
    };
  }

  memoryRow(): RowView {
    const meta = this.data.document.timeline.memory;
    return {
      id: "memory", group: "device", name: "Memory in use", sub: `peak ${bytesText(meta.peak)}${meta.capacity ? ` of ${bytesText(meta.capacity)}` : ""}`, height: 48, grid: true, findings: [],
      aria: `Memory in use: peak ${bytesText(meta.peak)}`,
      draw: (context, width, height) => {
        const columns = Math.ceil(width / 2), use = memoryUse(this.memory, this.view.from, this.view.until, columns);
        let most = 1;
        for (let column = 0; column < columns; column++) most = Math.max(most, use.allocated[column]);
        let unit = 1;
        while (most / unit >= 1024) unit *= 1024;
        const scale = nice(most / unit) * unit, factor = (height - 8) / scale;
        const managed = meta.resident > 0, lower = managed ? use.resident : use.allocated;
        for (let column = 0; column < columns; column++) fill(context, "device", column * 2, height - lower[column] * factor, 2, lower[column] * factor);
        context.strokeStyle = palette.of("text");
        context.lineWidth = 1.2;
        context.beginPath();
        for (let column = 0; column < columns; column++) {
          const y = height - 0.5 - use.allocated[column] * factor;
          if (column) context.lineTo(column * 2, y);
          else context.moveTo(0, y);
          context.lineTo((column + 1) * 2, y);
        }
        context.stroke();
        note(context, bytesText(scale), 2, 12);
      },
      hit: (time) => {
        const i = Math.max(0, after(this.memory.time, time) - 1);
        if (!this.memory.time.length) return null;
        const rows: [string, string][] = [["allocated", bytesText(this.memory.allocated[i])]];
        if (meta.resident > 0) rows.push(["managed, on the device", bytesText(this.memory.resident[i])]);
        return { title: `Memory at ${momentText(time, this.view.length)}`, rows };
      },
    };
  }

  // Allocations.

  findingsOf(row: number | null): number[] {
    return this.data.document.timeline.findings.flatMap((mark, i) => (mark.row === row && mark.at !== null ? [i + 1] : []));
  }

  lineRow(index: number): RowView {
    const meta = this.data.document.timeline.lines[index], view: LineView = { meta, index, row: () => this.line(index), whole: () => this.wholeLine(index) };
    const size = meta.count > 1 ? `${countText(meta.count)} × ${bytesText(meta.bytes / meta.count)}` : bytesText(meta.bytes);
    const place = meta.place.replace(/ in .*/, ""), name = meta.name || meta.place.replace(/.* in /, "") || meta.call;
    const moved = `${bytesText(meta.up)} to the device, ${bytesText(meta.down)} to the host`;
    return {
      id: `line${index}`, group: "lines", name, sub: place === name ? meta.call : place, value: bytesText(meta.up + meta.down), value2: size, height: 42, grid: true,
      findings: this.findingsOf(index), classes: "al", line: view, aria: `${meta.name || meta.call}, allocated at ${meta.place || "an unknown line"}, ${size}: ${moved}`,
      unfold: meta.count > 1 ? () => this.parts(index) : meta.memory === "managed" ? () => this.blocks(index, 0) : undefined,
      draw: (context, width, height) => this.drawLine(context, width, height, this.line(index), allParts, true),
      hit: (time, y, x) => this.hitLine(meta.name || place, this.line(index), allParts, time, y, x),
    };
  }

  /** The parts of a row that moved most in the window, in their order, and one row for the others. */
  private biggest(id: string, row: LineRow, most: number, name: (part: number) => [string, string], rest: string): RowView[] {
    const bytes = new Map<number, number>(), { from, until } = this.view;
    row.parts.forEach((part, i) => { if (part.end > from && part.begin < until) bytes.set(i, 0); });
    const [first, last] = moveRange(row, from, until);
    for (let i = first; i < last; i++) if (bytes.has(row.moves!.part[i])) bytes.set(row.moves!.part[i], bytes.get(row.moves!.part[i])! + row.moves!.bytes[i]);
    const order = [...bytes].sort((a, b) => b[1] - a[1]), shown = order.slice(0, most).sort((a, b) => a[0] - b[0]), others = new Set(order.slice(most).map(([i]) => i));
    const make = (key: string | number, title: string, sub: string, moved: number, size: string, of: (part: number) => boolean): RowView => ({
      id: `${id}.${key}`, group: "lines", name: title, sub, value: bytesText(moved), value2: size, height: 32, grid: true, findings: [], kid: true, aria: `${title}, ${sub}, ${size}`,
      draw: (context, width, height) => this.drawLine(context, width, height, row, of, false), hit: (time, y, x) => this.hitLine(title, row, of, time, y, x),
    });
    const rows = shown.map(([i, moved]) => make(row.parts[i].number, ...name(i), moved, bytesText(row.parts[i].bytes), (part) => part === i));
    if (others.size) rows.push(make("rest", `${countText(others.size)} more ${rest}`, "fewer bytes moved", order.slice(most).reduce((sum, [, moved]) => sum + moved, 0), "", (part) => others.has(part)));
    return rows;
  }

  private parts(index: number): RowView[] {
    const row = this.line(index), managed = this.data.document.timeline.lines[index].memory === "managed";
    if (!row.stays) return [];
    return this.biggest(`line${index}`, row, 3, (i) => [`allocation ${countText(row.parts[i].number + 1)}`, `lives for ${timeText(row.parts[i].end - row.parts[i].begin)} from ${momentText(row.parts[i].begin, 1e8)}`], "in view")
      .map((part) => (managed && !part.id.endsWith(".rest") ? { ...part, unfold: () => this.blocks(index, +part.id.split(".")[1]) } : part));
  }

  /** The blocks of a line's allocation of that number. */
  private blocks(index: number, number: number): RowView[] {
    const found = this.data.document.timeline.lines[index].blocks.find((blocks) => blocks.number === number), id = `line${index}.${number}.block`;
    if (!found) return [{ id, group: "lines", name: "by block: not recorded", sub: "--um-detail full records it", height: 32, grid: true, findings: [], kid: true, aria: "Where its blocks were is not recorded", draw: () => {} }];
    let row = this.parsedBlocks.get(found.at);
    if (!row) this.parsedBlocks.set(found.at, (row = this.data.line(found.at)));
    return this.biggest(id, row, 8, (i) => [`block ${countText(i + 1)}`, `of ${countText(row.parts.length)}`], "blocks");
  }

  private sparse(row: LineRow, width: number): boolean {
    if (!row.moves) return false;
    const [first, last] = moveRange(row, this.view.from, this.view.until), count = last - first;
    if (count > width / 13) return false;
    let close = 0;
    for (let i = first + 1; i < last; i++) close += +(this.view.x(row.moves.time[i]) - this.view.x(row.moves.time[i - 1]) < 7);
    return close <= count * 0.3;
  }

  private drawLine(context: Context, width: number, height: number, row: LineRow, of: (part: number) => boolean, launches: boolean) {
    const top = 3, tall = height - 19, { from, until } = this.view;
    const wide = row.stays ? columnWidth(stayCount(row, from, until), width) : 2, columns = Math.ceil(width / wide);
    const all = placeShares(row, of, from, from + (this.view.length * columns * wide) / width, columns, this.span);
    stack(context, all, placeCount, columns, wide, top, tall, placeInks);
    for (let place = 0; place < placeCount; place++) // a letter where one place goes on for long enough
      for (let column = 0, begin = 0; column <= columns; column++) {
        if (column < columns && all[column * placeCount + place] > 0.97) continue;
        const length = (column - begin) * wide, y = top + tall / 2;
        if (length > 30 && (place === 2 || place === 3)) note(context, placeLetters[place], begin * wide + length / 2 - 7, y); // on a hatch
        else if (length > 30) label(context, [placeLetters[place]], inkOn(placeInks[place]), begin * wide, y + 0.5, length, true);
        begin = column + 1;
      }
    if (launches) this.drawLaunches(context, width, row);
    this.coarse(context, row.bins?.bins, width, top + tall / 2);
    const y = height - 8;
    if (this.sparse(row, width)) {
      const [first, last] = moveRange(row, from, until);
      for (let i = first; i < last; i++) {
        if (!of(row.moves!.part[i])) continue;
        const x = this.view.x(row.moves!.time[i]), cause = row.moves!.flags[i] >> 1;
        context.fillStyle = palette.of(causeInks[cause]);
        context.fillRect(x - 0.5, top, 1.2, tall + 2);
        glyph(context, cause, x, y);
      }
      return;
    }
    const step = 4, bars = Math.ceil(width / step), bytes = moveBytes(row, of, from, from + (this.view.length * bars * step) / width, bars, this.span, causeCount);
    let most = 0;
    for (let bar = 0; bar < bars; bar++) {
      let sum = 0;
      for (let cause = 0; cause < causeCount; cause++) sum += bytes[bar * causeCount + cause];
      most = Math.max(most, sum);
    }
    for (let bar = 0; bar < bars && most > 0; bar++) {
      let low = height - 2;
      for (let cause = 0; cause < causeCount; cause++) {
        const high = (bytes[bar * causeCount + cause] / most) * 12;
        if (high < 0.2) continue;
        context.fillStyle = palette.of(causeInks[cause]);
        context.fillRect(bar * step, (low -= high), step - 0.5, high);
      }
    }
  }

  private drawLaunches(context: Context, width: number, row: LineRow) {
    const { begin, end } = row.launches, first = Math.max(0, after(begin, this.view.from) - 1), last = after(begin, this.view.until);
    if (last - first > width / 6) return;
    for (let i = first; i < last; i++) {
      const x = this.view.x(begin[i]);
      if (this.view.x(end[i]) > 0) fill(context, "text", x, 0, Math.max(2, this.view.x(end[i]) - x), 2);
    }
  }

  private hitLine(name: string, row: LineRow, of: (part: number) => boolean, time: number, y: number, x: number): Tip | null {
    if (y > 24 && this.sparse(row, this.view.width)) {
      const [first, last] = moveRange(row, this.view.time(x - 9), this.view.time(x + 9));
      let best = -1, near = 9;
      for (let i = first; i < last; i++) {
        const distance = Math.abs(this.view.x(row.moves!.time[i]) - x);
        if (of(row.moves!.part[i]) && distance < near) { near = distance; best = i; }
      }
      if (best >= 0) return this.moveTip(name, row.moves!, best);
    }
    const [text, from, until] = this.around(time), parts = placeShares(row, of, from, until, 1, this.span);
    const alive = parts.reduce((sum, share) => sum + share, 0);
    if (alive <= 0) return { title: name, rows: [["at " + momentText(time, this.view.length), "not allocated"]] };
    const rows: [string, string][] = placeNames.map((place, k) => [place, percentText(parts[k] / alive)] as [string, string]).filter((_, k) => parts[k] / alive > 0.004);
    const bytes = moveBytes(row, of, from, until, 1, this.span, causeCount);
    causeNames.forEach((cause, k) => { if (bytes[k] > 0) rows.push([`by ${cause}`, bytesText(bytes[k])]); });
    if (row.moves && !bytes.some((sum) => sum > 0)) {
      const before = after(row.moves.time, time) - 1;
      if (before >= 0) rows.push(["last move", `${timeText(time - row.moves.time[before])} ago: ${bytesText(row.moves.bytes[before])} ${row.moves.flags[before] & 1 ? "to the device" : "to the host"}, ${causeNames[row.moves.flags[before] >> 1]}`]);
    }
    return { title: `${name}, ${text}`, rows: [...rows, ...this.step(time)] };
  }

  moveTip(name: string, moves: Moves, i: number): Tip {
    const up = (moves.flags[i] & 1) !== 0;
    return {
      title: `${name} moves ${up ? "host → device" : "device → host"}`,
      rows: [["when", momentText(moves.time[i], this.view.length)], ["bytes", `about ${bytesText(moves.bytes[i])}`], ["cause", causeNames[moves.flags[i] >> 1]], ...this.step(moves.time[i])],
    };
  }
}
