// The flame graph: d3-hierarchy lays it out.
import { type HierarchyRectangularNode, hierarchy, partition } from "d3-hierarchy";
import { render } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Flame } from "./data";
import { bytesText, countText, percentText, timeText } from "./format";
import { font } from "./paint";

interface Node { name: string; weight: number; children: Node[] }

const text = (flame: Flame, weight: number) => (flame.time ? timeText(weight) : flame.count ? countText(weight) : bytesText(weight));

function tree(flame: Flame): Node {
  const root: Node = { name: "all", weight: 0, children: [] };
  const find = new Map<Node, Map<number, Node>>();
  for (const [weight, ...frames] of flame.stacks) {
    let node = root;
    for (const frame of frames) {
      let kids = find.get(node);
      if (!kids) find.set(node, (kids = new Map()));
      let next = kids.get(frame);
      if (!next) {
        kids.set(frame, (next = { name: flame.frames[frame], weight: 0, children: [] }));
        node.children.push(next);
      }
      node = next;
    }
    node.weight += weight;
  }
  return root.children.length === 1 && root.weight === 0 ? root.children[0] : root;
}

/** The cause that a call's time has, as the timeline colours it. */
function colour(name: string, leaf: boolean, flame: Flame): string {
  if (name === "(waiting for kernels)") return "kwait";
  if (name === "(page faults on the device)") return "dfault";
  if (name === "page fault") return "hfault";
  if (/^cu(da)?(Mem)?(Malloc|Free|MemAlloc|MemFree|HostAlloc|HostRegister)/.test(name)) return "alloc";
  if (/^cu(da)?Mem(cpy|set|Prefetch)/.test(name)) return "fill";
  if (/^cu(da)?.*Synchronize|^cu(da)?StreamWait/.test(name)) return "kwait";
  if (/^cu[A-Z]|^cuda[A-Z]/.test(name)) return "launch";
  if (leaf && flame.count) return "hfault";
  return "plain";
}

/** The width of a letter, on average. */
const sample = "pkmedian (streamcluster_cpu.cu:684) · cudaMemcpyAsync", context = document.createElement("canvas").getContext("2d")!;
context.font = font;
const letter = context.measureText(sample).width / sample.length;

type Box = HierarchyRectangularNode<Node>;
const height = 20;

function Frame({ node, x, width, y, all, flame, look }: { node: Box; x: number; width: number; y: number; all: number; flame: Flame; look: () => void }) {
  const { name } = node.data, value = text(flame, node.value!), kind = colour(name, !node.children, flame), most = (width - 10) / letter;
  const long = `${name} · ${value}`, shown = long.length <= most ? long : name.length <= most ? name : most > 3 ? `${name.slice(0, Math.floor(most - 1))}…` : "";
  return (
    <g tabIndex={0} role="button" aria-label={`${name}: ${value}`} onClick={look} onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); look(); } }}>
      <title>{`${name}\n${value} · ${percentText(node.value! / all)} of all`}</title>
      <rect class={`f-${kind}`} x={x} y={y} width={width} height={height} />
      {shown && <text class={`i-${kind}`} x={x + 5} y={y + 14}>{shown}</text>}
    </g>
  );
}

function Graph({ flame, box }: { flame: Flame; box: HTMLElement }) {
  const root = useMemo(() => partition<Node>().size([1, 1])(hierarchy(tree(flame)).sum((node) => node.weight).sort((a, b) => b.value! - a.value!)), [flame]);
  const [focus, setFocus] = useState<Box>(root);
  const [width, setWidth] = useState(box.clientWidth);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.clientWidth));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const inFocus = root.descendants().includes(focus) ? focus : root, scale = width / (inFocus.x1 - inFocus.x0), least = 1.5;
  const above = inFocus.ancestors().slice(1).reverse();
  const frames: preact.JSX.Element[] = above.map((node, i) => <Frame key={i} node={node} x={0} width={width} y={i * height} all={root.value!} flame={flame} look={() => setFocus(node)} />);
  let depth = above.length;
  for (const node of inFocus.descendants()) {
    const wide = (node.x1 - node.x0) * scale;
    if (wide < least || frames.length > 3000) continue;
    depth = Math.max(depth, node.depth + 1);
    frames.push(<Frame key={`${node.depth}-${node.x0}`} node={node} x={(node.x0 - inFocus.x0) * scale} width={wide} y={node.depth * height} all={root.value!} flame={flame} look={() => setFocus(node === inFocus ? root : node)} />);
  }
  return <svg role="group" aria-label={`Flame graph of ${flame.words}`} height={Math.max(1, depth) * height} viewBox={`0 0 ${width} ${Math.max(1, depth) * height}`} preserveAspectRatio="none">{frames}</svg>;
}

function Flames({ flames, box, choose }: { flames: Flame[]; box: HTMLElement; choose: HTMLElement }) {
  const [chosen, setChosen] = useState(0);
  useLayoutEffect(() => {
    render(<div class="seg" role="group" aria-label="Measure">{flames.map((flame, i) => <button key={flame.words} aria-pressed={i === chosen} onClick={() => setChosen(i)}>{flame.words}</button>)}</div>, choose);
  }, [chosen]);
  return <Graph key={chosen} flame={flames[chosen]} box={box} />;
}

export function makeFlames(flames: Flame[]) {
  const box = document.getElementById("flame")!;
  if (!flames.length) return;
  box.replaceChildren();
  render(<Flames flames={flames} box={box} choose={document.getElementById("flame-ctl")!} />, box);
}
