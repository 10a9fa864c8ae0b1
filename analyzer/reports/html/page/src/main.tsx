// What the page's script does: theme, cards, timeline, flame graph, tables.
import { load } from "./data";
import { makeFlames } from "./flame";
import { render } from "preact";
import { palette } from "./paint";
import { makeSearch } from "./search";
import { copy, makeTables } from "./tables";
import { makeTimeline } from "./timeline";
import { View } from "./view";

const root = document.documentElement;

/** The system's wish, until the reader chooses. */
function makeTheme(changed: () => void): (forced: string | null) => void {
  const dark = matchMedia("(prefers-color-scheme: dark)"), button = document.getElementById("theme")!;
  let chosen: string | null = null;
  const apply = (forced: string | null = null) => {
    root.dataset.theme = forced ?? chosen ?? (dark.matches ? "dark" : "light");
    const other = root.dataset.theme === "dark" ? "Light" : "Dark";
    button.textContent = other;
    button.setAttribute("aria-label", `${other}: change the colours`);
    palette.read();
    changed();
  };
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    apply();
  });
  dark.addEventListener("change", () => apply());
  apply();
  return apply;
}

function openCard(number: number) {
  const card = document.getElementById(`f${number}`) as HTMLDetailsElement | null;
  if (!card) return;
  card.open = true;
  for (const each of document.querySelectorAll(".card")) each.classList.toggle("hit", each === card);
  card.scrollIntoView({ block: "start" });
  card.querySelector("summary")!.focus({ preventScroll: true });
}

/** "#f3": the third finding's card, open. */
function followAddress() {
  const found = /^#f(\d+)$/.exec(location.hash);
  if (found) openCard(+found[1]);
}

function makeCards(show: (finding: number) => void) {
  const cards = [...document.querySelectorAll<HTMLDetailsElement>(".card")], all = document.getElementById("openall");
  all?.addEventListener("click", () => {
    const open = all.getAttribute("aria-expanded") !== "true";
    for (const card of cards) card.open = open;
    all.setAttribute("aria-expanded", String(open));
    all.textContent = open ? "Close all" : "Open all";
  });
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]"))
    button.addEventListener("click", () => copy(button.closest(".line, .src")!.querySelector("pre")!.textContent!, button));
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-place]"))
    button.addEventListener("click", () => copy(button.parentElement!.querySelector(".m")!.textContent!, button));
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-show]"))
    button.addEventListener("click", () => show(+button.dataset.show!));
  let were: boolean[] = [];
  addEventListener("beforeprint", () => { were = cards.map((card) => card.open); for (const card of cards) card.open = true; });
  addEventListener("afterprint", () => cards.forEach((card, i) => { card.open = were[i]; }));
}

function makeZoom(view: View) {
  render(
    <>
      <button class="btn icon" aria-label="Zoom out" onClick={() => view.zoom(2)}>−</button>
      <button class="btn icon" aria-label="Zoom in" onClick={() => view.zoom(0.5)}>+</button>
      <button class="btn" onClick={() => view.all()}>Whole run</button>
    </>,
    document.getElementById("zoom")!,
  );
}

/** What is cut says all of it under the pointer. */
function nameCutTexts() {
  addEventListener("pointerover", (event) => {
    const cut = (event.target as Element).closest<HTMLElement>(".d td, .ttl > span, .n, .s, .v, .pn, .a2");
    if (cut && !cut.title && cut.scrollWidth > cut.clientWidth) cut.title = cut.textContent!;
  });
}

async function start() {
  let redraw = () => {};
  const theme = makeTheme(() => redraw());
  makeTables();
  nameCutTexts();
  addEventListener("hashchange", followAddress);
  addEventListener("beforeprint", () => theme("light"));
  addEventListener("afterprint", () => theme(null));
  if (!document.getElementById("timeline")) { // a comparison has none
    makeCards(() => {});
    makeSearch(() => []);
    followAddress();
    root.dataset.ready = "";
    return;
  }
  const data = await load(), view = new View(data.document.timeline.span);
  makeFlames(data.document.flames);
  const timeline = makeTimeline(data, view, openCard);
  redraw = timeline.redraw;
  makeCards(timeline.show);
  makeSearch(timeline.places);
  makeZoom(view);
  followAddress();
  root.dataset.ready = "";
}

void start();
