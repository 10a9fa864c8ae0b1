// Colours of the page on a canvas, and the few shapes that rows are made of.
import type { View } from "./view";

export type Colour =
  | "panel" | "sunk" | "line" | "line2" | "text" | "mut" | "link" | "device" | "host" | "moving" | "evicted" | "evictedbg" | "unpop"
  | "dfault" | "hfault" | "prefetch" | "copy" | "fill" | "code" | "kwait" | "alloc" | "launch" | "kernel" | "on-dark" | "on-light" | "hatch";
export type Ink = Colour | "both" | "start";

const names: Colour[] = ["panel", "sunk", "line", "line2", "text", "mut", "link", "device", "host", "moving", "evicted", "evictedbg", "unpop",
  "dfault", "hfault", "prefetch", "copy", "fill", "code", "kwait", "alloc", "launch", "kernel", "on-dark", "on-light", "hatch"];

export const font = '11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif';

class Palette {
  readonly colours = new Map<string, string>();
  readonly patterns = new Map<string, CanvasPattern>();
  dark = false;

  read() {
    const root = document.documentElement, style = getComputedStyle(root);
    this.dark = root.dataset.theme === "dark";
    for (const name of names) this.colours.set(name, style.getPropertyValue(`--${name}`).trim());
    this.patterns.clear();
    this.hatch("moving", "panel", "moving", true, false);
    this.hatch("evicted", "evictedbg", "evicted", true, true);
    this.hatch("hfault", "hfault", "hatch", true, false);
    this.hatch("dfault", "dfault", "hatch", false, true);
    this.hatch("start", "sunk", "line", true, false);
  }
  of(name: Colour) { return this.colours.get(name)!; }

  private hatch(name: string, base: Colour, ink: Colour, up: boolean, down: boolean) {
    const scale = devicePixelRatio || 1, size = Math.round(8 * scale), tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const context = tile.getContext("2d")!;
    context.fillStyle = this.of(base);
    context.fillRect(0, 0, size, size);
    context.strokeStyle = this.of(ink);
    context.lineWidth = 1.3 * scale;
    context.beginPath();
    for (let i = -1; i < 2; i++) {
      if (up) { context.moveTo(i * size, size); context.lineTo((i + 1) * size, 0); }
      if (down) { context.moveTo(i * size, 0); context.lineTo((i + 1) * size, size); }
    }
    context.stroke();
    const pattern = context.createPattern(tile, "repeat")!;
    pattern.setTransform(new DOMMatrix().scale(8 / size));
    this.patterns.set(name, pattern);
  }
}
export const palette = new Palette();

export type Context = CanvasRenderingContext2D;

export function fill(context: Context, ink: Ink, x: number, y: number, width: number, height: number) {
  if (ink === "both") {
    context.fillStyle = palette.of("device");
    context.fillRect(x, y + height / 2, width, height / 2);
    context.fillStyle = palette.of("host");
    context.fillRect(x, y, width, height / 2);
    return;
  }
  if (ink === "unpop") {
    if (width > 2 && height > 4) {
      context.strokeStyle = palette.of("unpop");
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    } else {
      context.globalAlpha = 0.3;
      context.fillStyle = palette.of("unpop");
      context.fillRect(x, y, width, height);
      context.globalAlpha = 1;
    }
    return;
  }
  context.fillStyle = palette.patterns.get(ink) ?? palette.of(ink as Colour);
  context.fillRect(x, y, width, height);
}

/** What can be read on it. */
export function inkOn(ink: Ink): string {
  const light = palette.dark ? !["code", "kwait", "alloc", "launch", "unpop"].includes(ink) : ["code", "kwait", "host", "unpop", "moving", "start", "launch", "both"].includes(ink);
  return palette.of(light ? "on-light" : "on-dark");
}

/** Columns of a row, split from below by the share of each state. What goes on alike is painted at once. */
export function stack(context: Context, shares: Float32Array, states: number, columns: number, width: number, y: number, height: number, inks: Ink[]) {
  for (let state = 0; state < states; state++) {
    let from = 0, low = 0, high = 0;
    for (let column = 0; column <= columns; column++) {
      let below = 0, share = 0;
      if (column < columns) {
        for (let other = 0; other < state; other++) below += shares[column * states + other];
        share = Math.min(1 - Math.min(1, below), shares[column * states + state]);
      }
      if (column < columns && Math.abs(below - low) < 0.004 && Math.abs(below + share - high) < 0.004) continue;
      if (high - low > 0.004) fill(context, inks[state], from * width, y + height * (1 - high), (column - from) * width, height * (high - low));
      from = column;
      low = below;
      high = below + share;
    }
  }
}

/** The first of the texts that fits. */
export function label(context: Context, texts: string[], ink: string, x: number, y: number, width: number, centred = false) {
  context.font = font;
  context.textBaseline = "middle";
  for (const text of texts) {
    const measured = context.measureText(text).width;
    if (measured > width - 7) continue;
    context.fillStyle = ink;
    context.textAlign = centred ? "center" : "left";
    context.fillText(text, centred ? x + width / 2 : x + 4, y);
    return;
  }
}

/** A text on the plot itself, on a ground that lets it be read. */
export function note(context: Context, text: string, x: number, y: number) {
  context.font = font;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const width = context.measureText(text).width;
  context.globalAlpha = 0.85;
  context.fillStyle = palette.of("panel");
  context.fillRect(x, y - 7, width + 6, 14);
  context.globalAlpha = 1;
  context.fillStyle = palette.of("text");
  context.fillText(text, x + 3, y + 0.5);
}

export const causeInks: Colour[] = ["dfault", "hfault", "prefetch", "copy", "evicted"];
export const causeNames = ["device page fault", "host page fault", "prefetch", "copy", "eviction"];

export function glyph(context: Context, cause: number, x: number, y: number, size = 4.5) {
  context.fillStyle = palette.of(causeInks[cause]);
  context.beginPath();
  if (cause === 0) {
    context.moveTo(x, y - size); context.lineTo(x + size, y + size * 0.8); context.lineTo(x - size, y + size * 0.8);
  } else if (cause === 1) {
    context.moveTo(x, y + size); context.lineTo(x + size, y - size * 0.8); context.lineTo(x - size, y - size * 0.8);
  } else if (cause === 2) {
    context.arc(x, y, size * 0.85, 0, 7);
  } else if (cause === 3) {
    context.rect(x - size * 0.8, y - size * 0.8, size * 1.6, size * 1.6);
  } else {
    context.moveTo(x, y - size); context.lineTo(x + size, y); context.lineTo(x, y + size); context.lineTo(x - size, y);
  }
  context.closePath();
  context.fill();
}

/** Lines of the time axis, behind rows that have room for them. */
export function grid(context: Context, view: View, ticks: number[], height: number) {
  context.fillStyle = palette.of("line2");
  for (const tick of ticks) context.fillRect(Math.round(view.x(tick)), 0, 1, height);
}
