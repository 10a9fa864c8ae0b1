// The window of time that all rows show, and who wants to know when it changes.

export class View {
  from: number;
  until: number;
  width = 800; // of the plots, CSS pixels
  private readonly watchers: (() => void)[] = [];
  private timer = 0;
  private frame = 0;
  private static readonly least = 50; // ns

  constructor(readonly span: number) {
    this.from = 0;
    this.until = span;
    this.readAddress();
    addEventListener("hashchange", () => this.readAddress());
  }

  get length() { return this.until - this.from; }
  get whole() { return this.length > this.span * 0.999; }
  x(time: number) { return ((time - this.from) / this.length) * this.width; }
  time(x: number) { return this.from + (x / this.width) * this.length; }

  watch(watcher: () => void) { this.watchers.push(watcher); }

  /** Everything is drawn anew, once a frame. */
  changed() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      for (const watcher of this.watchers) watcher();
    });
  }

  set(from: number, until: number, tell = true) {
    const length = Math.min(this.span, Math.max(View.least, until - from));
    this.from = Math.min(Math.max(0, from), this.span - length);
    this.until = this.from + length;
    this.changed();
    if (!tell) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.writeAddress(), 250);
  }
  all() { this.set(0, this.span); }
  pan(share: number) { this.set(this.from + this.length * share, this.until + this.length * share); }
  zoom(factor: number, around = (this.from + this.until) / 2) {
    this.set(around - (around - this.from) * factor, around + (this.until - around) * factor);
  }

  /** "#t=from,to" in ms: a link shows what its sender saw. */
  private readAddress() {
    const found = /^#t=([\d.]+),([\d.]+)$/.exec(location.hash);
    if (found && +found[2] > +found[1]) this.set(+found[1] * 1e6, +found[2] * 1e6, false);
  }
  private writeAddress() {
    const hash = this.whole ? "" : `#t=${(this.from / 1e6).toFixed(4)},${(this.until / 1e6).toFixed(4)}`;
    try {
      history.replaceState(null, "", hash || location.pathname + location.search);
    } catch {
      // A page from some places may not change its address. It works without.
    }
  }
}
