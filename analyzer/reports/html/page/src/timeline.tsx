// The timeline: rows on one axis, and what pointer, wheel, touch and keys do to it.
import { render } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { countIn, total } from "./columns";
import { type Data, after } from "./data";
import { bytesText, countText, momentText, shortened, timeText } from "./format";
import { type Context, type Ink, causeNames, fill, glyph, grid, palette } from "./paint";
import { type LineView, type RowView, Rows, causeList } from "./rows";
import type { Place } from "./search";
import { type Tip, hideTip, pinTip, pinned, say, showTip, tipText } from "./tip";
import type { View } from "./view";

/** A row's canvas, which is drawn when it can be seen. */
class Plots {
  readonly shown = new Map<HTMLCanvasElement, RowView>();
  private readonly drawn = new WeakMap<HTMLCanvasElement, number>();
  version = 1;
  constructor(private readonly view: View, private readonly rows: Rows) {}

  draw(all = false) {
    const scale = devicePixelRatio || 1, near = all ? Infinity : 300, far = all ? Infinity : 4000, ticks = this.rows.ticks().list;
    for (const [canvas, row] of this.shown) {
      const box = canvas.getBoundingClientRect();
      if (box.bottom < -near || box.top > innerHeight + near) {
        if (canvas.width && (box.bottom < -far || box.top > innerHeight + far)) {
          canvas.width = 0;
          this.drawn.delete(canvas);
        }
        continue;
      }
      const width = Math.round(this.view.width * scale), height = Math.round(row.height * scale);
      if (this.drawn.get(canvas) === this.version && canvas.width === width) continue;
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
      const context = canvas.getContext("2d")!;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, this.view.width, row.height);
      if (row.grid) grid(context, this.view, ticks, row.height);
      row.draw(context, this.view.width, row.height);
      this.drawn.set(canvas, this.version);
    }
  }
}

interface Shared { view: View; rows: Rows; plots: Plots; titles: string[]; open: (finding: number) => void }

function Badge({ number, shared }: { number: number; shared: Shared }) {
  const title = `Finding ${number}: ${shared.titles[number - 1]}`;
  return <button class="fb" title={title} aria-label={`${title}. Go to the card`} onClick={() => shared.open(number)}>{number}</button>;
}

function Plot({ row, shared, classes }: { row: RowView; shared: Shared; classes?: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current!;
    shared.plots.shown.set(element, row);
    element.style.height = `${row.height}px`;
    shared.view.changed();
    return () => { shared.plots.shown.delete(element); };
  }, [row]);
  return <div class={`plot ${classes ?? ""}`}><canvas ref={canvas} role="img" aria-label={row.aria} /></div>;
}

function RowLabel({ row, shared, expanded, toggle }: { row: RowView; shared: Shared; expanded?: boolean; toggle?: () => void }) {
  return (
    <div class="h">
      <div class="a">
        {toggle && <button class="ex" aria-expanded={expanded} aria-label={`Show the parts of ${row.name}`} onClick={toggle}>▶</button>}
        <span class="n" title={row.name}>{row.name.length > 60 ? shortened(row.name, 60) : row.name}</span>
        {row.findings.slice(0, 3).map((number) => <Badge number={number} shared={shared} key={number} />)}
        {row.value && <span class="v">{row.value}</span>}
      </div>
      {(row.sub || row.value2) && <div class="a2"><span class="s" title={row.sub}>{shortened(row.sub, 44)}</span>{row.value2 && <span class="v">{row.value2}</span>}</div>}
    </div>
  );
}

function Lane({ shared }: { shared: Shared }) {
  const { view, rows } = shared, marks = rows.data.document.timeline.findings;
  const [, again] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => view.watch(() => again(0)), []);
  const placed = marks.map((mark, i) => ({ number: i + 1, at: mark.at })).filter((mark) => mark.at !== null) as { number: number; at: number }[];
  const inside = placed.filter((mark) => mark.at >= view.from && mark.at <= view.until).sort((a, b) => a.at - b.at);
  const left = placed.filter((mark) => mark.at < view.from).sort((a, b) => b.at - a.at), right = placed.filter((mark) => mark.at > view.until).sort((a, b) => a.at - b.at);
  const edge = (list: typeof placed) => (list.length > 6 ? `${list.length} findings` : list.map((mark) => mark.number).join(" "));
  const leftWidth = left.length ? edge(left).length * 7 + 26 : 0;
  // Where marks crowd, those that save most are shown.
  const crowded = inside.length * 20 > view.width - leftWidth, taken: number[] = [];
  const fits = (x: number) => !crowded || taken.every((other) => Math.abs(other - x) >= 24);
  const shown = new Set([...inside].sort((a, b) => a.number - b.number).filter((mark) => fits(view.x(mark.at)) && taken.push(view.x(mark.at))).map((mark) => mark.number));
  let last = -99;
  const badges = inside.filter((mark) => shown.has(mark.number)).map((mark) => {
    const at = view.x(mark.at), x = Math.min(view.width - 10, Math.max(10 + leftWidth, at, last + 20));
    last = x;
    return { number: mark.number, at, x };
  });
  return (
    <div class="lane">
      <svg class="leaders" width="100%" height={laneHeight} aria-hidden="true">{badges.map(({ number, at, x }) => <line key={number} x1={x} y1="18" x2={at} y2={laneHeight} />)}</svg>
      {left.length > 0 && <button class="fb off" ref={(element) => { if (element) element.style.left = "4px"; }} aria-label="Go to the finding before this window" onClick={() => showFinding(shared, left[0].number, false)}>‹ {edge(left)}</button>}
      {badges.map(({ number, x }) => <span key={number} ref={(element) => { const button = element?.firstElementChild as HTMLElement | null; if (button) button.style.left = `${x}px`; }}><Badge number={number} shared={shared} /></span>)}
      {right.length > 0 && <button class="fb off" ref={(element) => { if (element) element.style.right = "4px"; }} aria-label="Go to the finding after this window" onClick={() => showFinding(shared, right[0].number, false)}>{edge(right)} ›</button>}
    </div>
  );
}

const laneHeight = 30;
type Which = "worst" | "typical";

let flashRow: (id: string) => void = () => {};
let nameShown: (number: number, which: Which) => void = () => {};
export let showFinding: (shared: Shared, number: number, scroll: boolean, which?: Which) => void = () => {};

/** Which finding is shown, and the way from its worst round to a typical one and back. */
function ShownFinding({ shared }: { shared: Shared }) {
  const [shown, set] = useState<{ number: number; which: Which } | null>(null);
  nameShown = (number, which) => set({ number, which });
  const rounds = shown && shared.rows.data.document.timeline.findings[shown.number - 1].rounds;
  if (!rounds) return <span class="s">place where each costs most</span>;
  const { number, which } = shown;
  const go = (to: Which, sign: string) => <button class="btn step" disabled={which === to} aria-label={`Show the ${to} round of finding ${number}`} onClick={() => showFinding(shared, number, false, to)}>{sign}</button>;
  return <>{go("typical", "‹")}<span class="s" id="round">{number}: {which} of {countText(rounds.count)} rounds</span>{go("worst", "›")}</>;
}

function Brush({ shared }: { shared: Shared }) {
  const { view } = shared, box = useRef<HTMLDivElement>(null), left = useRef<HTMLElement>(null), right = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const place = () => {
      box.current!.style.left = `${(view.from / view.span) * view.width}px`;
      box.current!.style.width = `${Math.max(4, (view.length / view.span) * view.width)}px`;
      for (const [handle, time] of [[left, view.from], [right, view.until]] as const) {
        handle.current!.setAttribute("aria-valuenow", String(Math.round(time / 1e6)));
        handle.current!.setAttribute("aria-valuetext", momentText(time, view.length));
      }
    };
    view.watch(place);
    place();
  }, []);
  const start = (event: PointerEvent) => {
    const lane = (event.currentTarget as HTMLElement), bounds = lane.getBoundingClientRect();
    const time = (at: PointerEvent) => Math.min(view.span, Math.max(0, ((at.clientX - bounds.left) / bounds.width) * view.span));
    const from = view.from, until = view.until, at = time(event);
    const mode = event.target === left.current ? "left" : event.target === right.current ? "right" : event.target === box.current && !view.whole ? "move" : "new";
    lane.setPointerCapture(event.pointerId);
    event.preventDefault();
    event.stopPropagation();
    const move = (moved: PointerEvent) => {
      const now = time(moved);
      if (mode === "left") view.set(Math.min(now, until), until);
      else if (mode === "right") view.set(from, Math.max(now, from));
      else if (mode === "move") view.set(from + now - at, until + now - at);
      else if (Math.abs(now - at) > view.span / 400) view.set(Math.min(at, now), Math.max(at, now));
    };
    const end = (ended: PointerEvent) => {
      lane.removeEventListener("pointermove", move);
      if (mode === "new" && Math.abs(time(ended) - at) <= view.span / 400) view.set(at - (until - from) / 2, at + (until - from) / 2);
    };
    lane.addEventListener("pointermove", move);
    lane.addEventListener("pointerup", end, { once: true });
  };
  const keys = (side: "left" | "right") => (event: KeyboardEvent) => {
    const step = view.length * 0.05 * (event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0);
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    if (side === "left") view.set(Math.min(view.from + step, view.until), view.until);
    else view.set(view.from, Math.max(view.until + step, view.from));
  };
  const handle = (ref: typeof left, classes: string, name: string, side: "left" | "right") => (
    <b ref={ref} class={classes} role="slider" tabIndex={0} aria-label={name} aria-valuemin={0} aria-valuemax={Math.round(view.span / 1e6)} onKeyDown={keys(side)} />
  );
  return { start, box: <div class="brush" ref={box}>{handle(left, "l", "Start of the visible window", "left")}{handle(right, "rr", "End of the visible window", "right")}</div> };
}

function Overview({ shared }: { shared: Shared }) {
  const row = useMemo(() => shared.rows.overview(), []), brush = Brush({ shared });
  return (
    <div class="row bare">
      <RowLabel row={row} shared={shared} />
      <div class="mm" onPointerDown={brush.start}><Plot row={row} shared={shared} />{brush.box}</div>
    </div>
  );
}

type Sort = "bytes" | "size" | "first" | "name";
const more = (count: number, what: string) => `${countText(count)} more ${what}${count === 1 ? "" : "s"}`;
const firstLines = 30, most_streams = 4, most_threads = 4;

function Timeline({ shared }: { shared: Shared }) {
  const { rows, view } = shared, timeline = rows.data.document.timeline;
  const [selected, select] = useState<string | null>(null);
  const [flashed, flash] = useState<string | null>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [allLines, setAllLines] = useState(false);
  const [allStreams, setAllStreams] = useState(false);
  const [allThreads, setAllThreads] = useState(false);
  const [query, setQuery] = useState("");
  const [sort, setSort] = useState<Sort>("bytes");
  const [cause, setCause] = useState(-1);
  const [moved, setMoved] = useState(false);
  const [window_, again] = useReducer((count: number) => count + 1, 0);
  flashRow = (id) => {
    select(id);
    flash(null);
    requestAnimationFrame(() => flash(id));
    if (id.startsWith("line") && !visible.some((row) => row.id === id)) { setAllLines(true); setQuery(""); setCause(-1); setMoved(false); }
    if (!shownThreads.some((row) => row.id === id) && threads.some((row) => row.id === id)) setAllThreads(true);
    if (!shownStreams.some((row) => row.id === id) && streams.some((row) => row.id === id)) setAllStreams(true);
  };
  useLayoutEffect(() => view.watch(() => again(0)), []);

  const fixed = useMemo(() => ({ ruler: rows.ruler(), steps: rows.stepRow(), links: timeline.links.map((_, i) => i).sort((a, b) => timeline.links[a].low - timeline.links[b].low || (timeline.links[a].high ?? 1e9) - (timeline.links[b].high ?? 1e9)).map((i) => rows.link(i)), memory: rows.memoryRow() }), []);
  const threadOrder = useMemo(() => timeline.threads.map((_, i) => i).sort((a, b) => +timeline.threads[b].main - +timeline.threads[a].main || timeline.threads[b].calls - timeline.threads[a].calls), []);
  const threads = useMemo(() => threadOrder.map((i) => rows.thread(i)), []);
  const streams = useMemo(() => timeline.streams.map((_, i) => i).sort((a, b) => timeline.streams[b].kernels + timeline.streams[b].copies - timeline.streams[a].kernels - timeline.streams[a].copies).map((i) => rows.stream(i)), []);
  const lines = useMemo(() => timeline.lines.map((_, i) => rows.lineRow(i)), []);

  const wanted = useMemo(() => {
    const text = query.trim().toLowerCase();
    const hasCause = (row: RowView) => {
      const line = row.line!.whole();
      return line.moves ? line.moves.flags.some((flags) => flags >> 1 === cause) : !!line.moveBins?.[cause]?.some((bytes) => bytes > 0);
    };
    const keys: Record<Sort, (row: RowView) => number> = { bytes: (row) => -(row.line!.meta.up + row.line!.meta.down), size: (row) => -row.line!.meta.bytes, first: (row) => row.line!.meta.first, name: () => 0 };
    return lines
      .filter((row) => (!text || `${row.name} ${row.line!.meta.place} ${row.line!.meta.call}`.toLowerCase().includes(text)) && (!moved || row.line!.meta.up + row.line!.meta.down > 0) && (cause < 0 || hasCause(row)))
      .sort((a, b) => (sort === "name" ? a.name.localeCompare(b.name) : keys[sort](a) - keys[sort](b)));
  }, [query, sort, cause, moved]);
  const visible = allLines ? wanted : wanted.slice(0, firstLines);
  const hidden = wanted.slice(visible.length);

  const toggle = (row: RowView) => {
    const next = new Set(open);
    if (!next.delete(row.id)) next.add(row.id);
    setOpen(next);
    shared.plots.version++;
    view.changed();
  };
  void window_; // parts are those in view
  const unfolded = (row: RowView): RowView[] => [row, ...(open.has(row.id) ? (row.unfold?.() ?? []).flatMap(unfolded) : [])];
  const shownLines = visible.flatMap(unfolded);

  const draw = (row: RowView, classes = "", plot = "") => (
    <div key={row.id} data-row={row.id} class={`row ${row.classes ?? ""} ${row.kid ? "kid" : ""} ${selected === row.id ? "sel" : ""} ${flashed === row.id ? "flash" : ""} ${classes}`}>
      <RowLabel row={row} shared={shared} expanded={open.has(row.id)} toggle={row.unfold ? () => toggle(row) : undefined} />
      <Plot row={row} shared={shared} classes={plot} />
    </div>
  );
  const shownStreams = allStreams ? streams : streams.slice(0, most_streams);
  const shownThreads = allThreads ? threads : threads.slice(0, most_threads), moreThreads = threadOrder.slice(shownThreads.length);
  const all = [...(fixed.steps ? [fixed.steps] : []), ...shownThreads, ...shownStreams, ...fixed.links, fixed.memory, ...shownLines];
  current = { all, every: [...(fixed.steps ? [fixed.steps] : []), ...threads, ...streams, ...fixed.links, fixed.memory, ...lines], selected, select };
  const device = timeline.memory.device || "Device";
  return (
    <>
      <div class="stick">
        <Overview shared={shared} />
        {draw(fixed.ruler, "", "ruler")}
        {timeline.findings.some((mark) => mark.at !== null) && (
          <div class="row bare"><div class="h"><div class="a"><span class="n">Findings</span></div><div class="a2"><ShownFinding shared={shared} /></div></div><Lane shared={shared} /></div>
        )}
        {fixed.steps && draw(fixed.steps)}
      </div>
      <div class="grp">Host <span class="mut">{countText(threads.length)} {threads.length === 1 ? "thread" : "threads"}</span></div>
      {shownThreads.map((row) => draw(row))}
      {moreThreads.length > 0 && <div class="grp"><button class="btn" id="more-threads" onClick={() => setAllThreads(true)}>{more(moreThreads.length, "thread")}, {countText(moreThreads.reduce((sum, i) => sum + timeline.threads[i].calls, 0))} calls</button></div>}
      <div class="grp">{timeline.memory.devices > 1 ? `${timeline.memory.devices} devices: ` : "Device 0: "}{device} <span class="mut">{countText(streams.length)} {streams.length === 1 ? "stream" : "streams"}</span></div>
      {shownStreams.map((row) => draw(row))}
      {shownStreams.length < streams.length && <div class="grp"><button class="btn" onClick={() => setAllStreams(true)}>{more(streams.length - shownStreams.length, "stream")}</button></div>}
      {fixed.links.map((row) => draw(row))}
      {draw(fixed.memory)}
      <div class="grp">
        Allocations <span class="mut" id="lines-count">{countText(wanted.length)} of {countText(lines.length)} source lines</span>
        <span class="ctl">
          <input type="search" aria-label="Filter the allocations" placeholder="name, file or line" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
          <select aria-label="Cause of moves" value={cause} onChange={(event) => setCause(+event.currentTarget.value)}><option value={-1}>any cause</option>{causeNames.map((name, i) => <option value={i} key={name}>{name}</option>)}</select>
          <select aria-label="Order" value={sort} onChange={(event) => setSort(event.currentTarget.value as Sort)}><option value="bytes">by bytes moved</option><option value="size">by size</option><option value="first">by first use</option><option value="name">by name</option></select>
          <label class="nw"><input type="checkbox" checked={moved} onChange={(event) => setMoved(event.currentTarget.checked)} /> only those that moved</label>
        </span>
      </div>
      {shownLines.map((row) => draw(row))}
      {hidden.length > 0 && <div class="grp"><button class="btn" onClick={() => setAllLines(true)}>{more(hidden.length, "line")}, {bytesText(hidden.reduce((sum, row) => sum + row.line!.meta.up + row.line!.meta.down, 0))}</button></div>}
      {wanted.length === 0 && <div class="none">{lines.length ? "No allocation matches the filter." : "No allocation was recorded."}</div>}
    </>
  );
}

/** Rows that are shown, and those behind "more" and filters as well. */
let current: { all: RowView[]; every: RowView[]; selected: string | null; select: (id: string) => void } = { all: [], every: [], selected: null, select: () => {} };

function InView({ shared }: { shared: Shared }) {
  const { view, rows } = shared;
  const [, again] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => view.watch(() => again(0)), []);
  const main = rows.main(), sums = main ? total(main, 8, view.from, view.until, view.span) : new Float32Array(8), time = sums.slice(0, 7).reduce((sum, ns) => sum + ns, 0);
  const links = rows.data.document.timeline.links.filter((link) => link.low === 0);
  const [up, down] = view.whole ? [links.reduce((sum, link) => sum + link.up.bytes, 0), links.reduce((sum, link) => sum + link.down.bytes, 0)] : rows.hostTraffic(view.from, view.until);
  const names = rows.data.document.timeline.names.list, unit = rows.data.document.timeline.unit;
  let launches = 0;
  rows.data.document.timeline.streams.forEach((stream, i) => {
    if (view.whole) { launches += stream.kernels; return; }
    const row = rows.work(i);
    if (!row.pieces) { launches = NaN; return; }
    const first = Math.max(0, after(row.pieces.begin, view.from)), last = first + countIn(row, view.from, view.until);
    const { begin, end, name } = row.pieces;
    for (let k = first; k < last && k < row.pieces.count; k++) // one that page faults stall is several pieces
      launches += +(!!names[name[k]]?.[2] && !(k > first && name[k] === name[k - 1] && begin[k] - end[k - 1] < 2 * unit));
  });
  let x = 0;
  return (
    <div class="inview">
      <div><b>{view.whole ? "Whole run" : "In view"}</b><div class="mut small">{momentText(view.from, view.length)} to {momentText(view.until, view.length)} · {timeText(view.length)}</div></div>
      <div>
        <svg class="bar" width="100%" height="14" role="img" aria-label={causeList.map((cause, i) => (sums[i] > 0 ? `${cause.name} ${timeText(sums[i])}` : "")).filter(Boolean).join(", ")}>
          {causeList.slice(0, 7).map((cause, i) => {
            const share = time > 0 ? (sums[i] / time) * 100 : 0, at = x;
            x += share;
            return <rect key={cause.css} class={`c-${cause.css}`} x={`${at}%`} width={`${share}%`} height="14" />;
          })}
        </svg>
        <ul>
          {causeList.slice(0, 7).map((cause, i) => sums[i] > view.length * 0.002 && <li key={cause.css}><svg class="sw" aria-hidden="true"><rect class={`c-${cause.css}`} width="100%" height="100%" /></svg>{cause.name} <b>{timeText(sums[i])}</b></li>)}
          <li>to the device <b>{bytesText(up)}</b>, to the host <b>{bytesText(down)}</b></li>
          {!isNaN(launches) && <li>launches <b>{countText(launches)}</b></li>}
        </ul>
      </div>
    </div>
  );
}

function Swatch({ draw }: { draw: (context: Context) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const paint = () => {
      const scale = devicePixelRatio || 1, element = canvas.current!;
      element.width = 22 * scale;
      element.height = 14 * scale;
      const context = element.getContext("2d")!;
      context.scale(scale, scale);
      draw(context);
    };
    paint();
    new MutationObserver(paint).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }, []);
  return <canvas ref={canvas} aria-hidden="true" />;
}

/** `managed`: whether memory can move by itself, without which nothing faults. */
function Legend({ told, managed }: { told: boolean; managed: boolean }) {
  const ink = (name: Ink) => (context: Context) => {
    fill(context, name, 0, 0, 22, 14);
    if (name === "moving") { context.strokeStyle = palette.of("moving"); context.strokeRect(0.5, 0.5, 21, 13); }
  };
  const entry = (draw: (context: Context) => void, text: string) => <span key={text}><Swatch draw={draw} />{text}</span>;
  return (
    <>
      <div class="legend first"><b>Thread</b>{causeList.filter((_, i) => managed || (i !== 1 && i !== 2)).map((cause) => entry(ink(cause.ink), cause.name))}</div>
      <div class="legend"><b>Place</b>{entry(ink("device"), "D device")}{entry(ink("host"), "H host")}{entry(ink("both"), "B both: copied or mapped")}{managed && [entry(ink("moving"), "M moving"), entry(ink("evicted"), "E evicted"), entry(ink("unpop"), "not populated")]}{entry((context) => fill(context, "text", 0, 4, 22, 2), "a launch reaches it")}</div>
      <div class="legend"><b>Moves by cause</b>{causeNames.map((name, i) => (managed || i === 3) && entry((context) => glyph(context, i, 11, 7, 5), name))}</div>
      <div class="legend"><b>Stream</b>{entry(ink("kernel"), "kernel runs")}{managed && entry(ink("dfault"), "stalled by page faults")}{entry(ink("fill"), "fill or copy")}</div>
      <div class="legend small"><b></b><span>A column is split by share when one pixel holds several places.{managed && " Time in page faults is estimated from what the driver counted"}{told ? "; moves that it did not report one by one are derived from what was seen before and after them" : ""}{managed && "."}</span></div>
    </>
  );
}

/** Puts the timeline into the page. Returns what shows a finding in it, and where its rows are. */
export function makeTimeline(data: Data, view: View, open: (finding: number) => void): { show: (finding: number) => void; places: () => Place[]; redraw: () => void } {
  const rows = new Rows(data, view), plots = new Plots(view, rows), titles = data.document.titles, shared: Shared = { view, rows, plots, titles, open };
  const panel = document.getElementById("tl-panel")!;
  panel.replaceChildren();
  const tl = document.createElement("div"), below = document.createElement("div");
  tl.className = "tl";
  tl.id = "tl";
  tl.tabIndex = 0;
  tl.setAttribute("role", "group");
  tl.setAttribute("aria-label", "Timeline. Arrow left and right pan, plus and minus zoom, 0 shows the whole run, arrow up and down select a row, N and P go to the next and previous move of the row, F opens the finding of the row.");
  const cross = document.createElement("div"), range = document.createElement("div"), body = document.createElement("div");
  cross.className = "cross";
  range.className = "range";
  tl.append(body, cross, range);
  panel.append(tl, below);

  const measure = () => {
    const plot = tl.querySelector<HTMLElement>(".mm");
    if (plot) view.width = Math.max(50, plot.clientWidth);
  };
  view.watch(measure); // before those that place by the width
  render(<Timeline shared={shared} />, body);
  measure();
  render(<><InView shared={shared} /><Legend told={data.document.timeline.told} managed={data.document.timeline.lines.some((line) => line.memory === "managed" || line.memory === "system") || data.document.timeline.told} /></>, below);
  view.watch(() => { plots.version++; plots.draw(); });
  const redraw = () => { plots.version++; view.changed(); };
  new ResizeObserver(redraw).observe(tl);
  addEventListener("resize", redraw);
  let scrolled = 0;
  addEventListener("scroll", () => { scrolled ||= requestAnimationFrame(() => { scrolled = 0; plots.draw(); }); }, { passive: true });
  addEventListener("beforeprint", () => { plots.version++; plots.draw(true); });

  showFinding = (_, number, scroll, which = "worst") => {
    const mark = data.document.timeline.findings[number - 1];
    if (!mark || mark.at === null) return;
    if (mark.rounds) {
      const [from, until] = mark.rounds[which], margin = (until - from) * 0.15;
      view.set(from - margin, until + margin);
      say(`Finding ${number}: ${which} round`);
    } else {
      const at = mark.at, around = Math.max(mark.length * 6, windowAround(at));
      const detail = data.document.timeline.details.find((each) => each.from <= at && at < each.until) ?? { from: 0, until: view.span };
      view.set(Math.max(detail.from, at - around * 0.55), Math.min(detail.until, at + around * 0.45));
    }
    nameShown(number, which);
    flashRow(mark.row === null ? `thread${rows.mainIndex}` : `line${mark.row}`);
    if (!scroll) return;
    document.getElementById("timeline")!.scrollIntoView({ block: "start" });
    tl.focus({ preventScroll: true });
  };
  /** So wide that a few steps are seen. */
  const windowAround = (time: number) => {
    const { begin } = rows.steps, i = after(begin, time);
    if (begin.length > 3 && i > 1 && i + 2 < begin.length) return Math.min(view.span, (begin[i + 1] - begin[i - 2]) * 0.9);
    return view.span / 40;
  };

  pointerAndKeys(tl, cross, range, shared);
  view.changed();
  const places = () => current.every.map((row) => ({
    text: [row.name, row.sub, row.line?.meta.place, row.line?.meta.call].join(" "),
    go: async () => {
      flashRow(row.id);
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      return tl.querySelector<HTMLElement>(`[data-row="${row.id}"]`);
    },
  }));
  return { show: (finding) => showFinding(shared, finding, true), places, redraw };
}

function pointerAndKeys(tl: HTMLElement, cross: HTMLElement, range: HTMLElement, shared: Shared) {
  const { view, rows, plots } = shared;
  const lane = () => tl.querySelector<HTMLElement>(".mm")!.getBoundingClientRect();
  const atX = (event: MouseEvent) => event.clientX - lane().left;
  const rowAt = (event: Event): [RowView, HTMLCanvasElement] | null => {
    const canvas = (event.target as Element).closest("canvas"), row = canvas && plots.shown.get(canvas);
    return row && row.id !== "overview" ? [row, canvas] : null;
  };
  const crossAt = (x: number) => {
    cross.style.display = "block";
    cross.style.left = `${lane().left - tl.getBoundingClientRect().left + x}px`;
  };
  const hide = (also = false) => {
    if (pinned && !also) return;
    hideTip(also);
    cross.style.display = "none";
  };
  const hit = (row: RowView, canvas: HTMLCanvasElement, event: MouseEvent): Tip | null | undefined => row.hit?.(view.time(atX(event)), event.clientY - canvas.getBoundingClientRect().top, atX(event));

  interface Drag { pan: boolean; touch: boolean; x: number; from: number; until: number; row: RowView; canvas: HTMLCanvasElement; moved: boolean; apart: number }
  let drag: Drag | null = null;
  const touches = new Map<number, number>();
  tl.addEventListener("pointermove", (event) => {
    if (drag) return dragged(event);
    if (pinned) return;
    const found = rowAt(event);
    if (!found) return hide();
    crossAt(atX(event));
    const tip = hit(...found, event);
    if (tip) showTip(tip, event.clientX, event.clientY);
    else hideTip();
  });
  tl.addEventListener("pointerleave", () => hide());
  tl.addEventListener("pointerdown", (event) => {
    const found = rowAt(event);
    if (!found || event.button) return;
    hide(true);
    const touch = event.pointerType === "touch";
    if (touch) touches.set(event.pointerId, atX(event));
    const both = [...touches.values()];
    drag = { pan: touch || event.shiftKey || found[0].id === "ruler", touch, x: atX(event), from: view.from, until: view.until, row: found[0], canvas: found[1], moved: false, apart: both.length === 2 ? Math.abs(both[0] - both[1]) : 0 };
    tl.setPointerCapture(event.pointerId);
    tl.focus({ preventScroll: true });
    if (found[0].hit) current.select(found[0].id);
  });
  const dragged = (event: PointerEvent) => {
    const now = drag!, x = atX(event), length = now.until - now.from;
    if (now.touch) {
      touches.set(event.pointerId, x);
      const both = [...touches.values()];
      if (both.length === 2 && now.apart) {
        const factor = now.apart / Math.max(20, Math.abs(both[0] - both[1])), share = (both[0] + both[1]) / 2 / view.width, time = now.from + share * length;
        return view.set(time - share * length * factor, time + (1 - share) * length * factor);
      }
    }
    now.moved ||= Math.abs(x - now.x) > 3;
    if (!now.moved) return;
    hideTip(true);
    if (now.pan) return view.set(now.from - ((x - now.x) / view.width) * length, now.until - ((x - now.x) / view.width) * length);
    const offset = lane().left - tl.getBoundingClientRect().left, low = Math.max(0, Math.min(x, now.x)), high = Math.min(view.width, Math.max(x, now.x));
    range.style.display = "block";
    range.style.left = `${offset + low}px`;
    range.style.width = `${high - low}px`;
    showTip({ title: timeText(((high - low) / view.width) * view.length), rows: [["release", "to zoom"]] }, event.clientX, event.clientY);
  };
  const ended = (event: PointerEvent) => {
    touches.delete(event.pointerId);
    const was = drag;
    drag = null;
    if (!was) return;
    range.style.display = "none";
    hideTip(true);
    if (event.type !== "pointerup") return;
    const x = atX(event);
    if (was.moved && !was.pan) {
      const low = Math.max(0, Math.min(x, was.x)), high = Math.min(view.width, Math.max(x, was.x));
      if (high - low > 4) view.set(view.time(low), view.time(high));
    } else if (!was.moved) {
      const tip = hit(was.row, was.canvas, event);
      if (!tip) return;
      showTip(tip, event.clientX, event.clientY);
      crossAt(x);
      pinTip();
    }
  };
  tl.addEventListener("pointerup", ended);
  tl.addEventListener("pointercancel", ended);
  tl.addEventListener("dblclick", (event) => {
    if (!rowAt(event)) return;
    hide(true);
    view.zoom(4, view.time(atX(event)));
  });
  tl.addEventListener("wheel", (event) => {
    if (!rowAt(event) && !(event.target as Element).closest(".mm")) return;
    const asked = event.ctrlKey || event.metaKey || document.activeElement === tl;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      if (!asked && !event.shiftKey) return;
      event.preventDefault();
      view.pan((event.deltaX || event.deltaY) / 900);
    } else if (asked) {
      event.preventDefault();
      hide();
      view.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY)) * 0.0032), view.time(atX(event)));
    }
  }, { passive: false });

  let moveAt: number | null = null;
  const nextMove = (forward: boolean) => {
    const chosen = current.all.find((row) => row.id === current.selected && row.line), movesOf = (line: LineView) => line.whole().moves ?? line.row().moves;
    const row = chosen ?? current.all.find((each) => each.line && movesOf(each.line)?.time.length), moves = row && movesOf(row.line!);
    if (!row || !moves) return;
    if (!chosen) current.select(row.id);
    const from = moveAt !== null && moveAt >= view.from && moveAt <= view.until ? moveAt : (view.from + view.until) / 2;
    const after_ = after(moves.time, from), i = forward ? after_ : after_ - (moves.time[after_ - 1] >= from ? 2 : 1);
    if (!(i >= 0 && i < moves.time.length)) return say("no further move");
    moveAt = moves.time[i];
    if (moveAt < view.from + view.length * 0.1 || moveAt > view.until - view.length * 0.1) view.set(moveAt - view.length / 2, moveAt + view.length / 2);
    const time = moveAt;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const canvas = [...plots.shown].find(([, each]) => each.id === row.id)?.[0];
      if (!canvas) return;
      canvas.scrollIntoView({ block: "nearest" });
      const box = canvas.getBoundingClientRect();
      crossAt(view.x(time));
      showTip(rows.moveTip(row.name, moves, i), box.left + view.x(time), box.bottom - 20);
      say(tipText());
    }));
  };
  const selectNext = (step: number) => {
    const list = current.all.filter((row) => row.hit), at = list.findIndex((row) => row.id === current.selected);
    const row = list[Math.max(0, Math.min(list.length - 1, at + step))];
    current.select(row.id);
    tl.querySelector(`[data-row="${row.id}"]`)?.scrollIntoView({ block: "nearest" });
    say(row.aria);
  };
  const actions: Record<string, () => void> = {
    ArrowLeft: () => view.pan(-0.15), a: () => view.pan(-0.15), ArrowRight: () => view.pan(0.15), d: () => view.pan(0.15),
    "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), w: () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6), s: () => view.zoom(1 / 0.6),
    "0": () => view.all(), Home: () => view.all(), ArrowDown: () => selectNext(1), ArrowUp: () => selectNext(-1), n: () => nextMove(true), p: () => nextMove(false),
    f: () => { const row = current.all.find((each) => each.id === current.selected); if (row?.findings.length) shared.open(row.findings[0]); },
  };
  tl.addEventListener("keydown", (event) => {
    if (event.target !== tl || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(true); });
}
