// The one search field: findings, rows of the timeline and rows of tables, by their text.

/** What can be found: its text, and the way to it. */
export interface Place { text: string; go: () => HTMLElement | null | Promise<HTMLElement | null> }

const words = (row: HTMLTableRowElement) => [row.textContent, ...[...row.cells].map((cell) => cell.dataset.full ?? "")].join(" ");

function cards(text: string): Place[] {
  return [...document.querySelectorAll<HTMLDetailsElement>(".card")].map((card) => ({
    text: card.textContent!,
    go: () => {
      card.open = true;
      for (const folded of card.querySelectorAll("details")) if (folded.textContent!.toLowerCase().includes(text)) folded.open = true;
      return card;
    },
  }));
}

const tableRows = (): Place[] => [...document.querySelectorAll<HTMLTableRowElement>("table.d tbody tr")].map((row) => ({
  text: words(row),
  go: () => {
    const filter = document.querySelector<HTMLInputElement>(`[data-filter="${row.closest("table")!.id}"]`);
    if (row.hidden && filter) {
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
    }
    return row;
  },
}));

export function makeSearch(timelineRows: () => Place[]) {
  const field = document.getElementById("find") as HTMLInputElement, count = document.getElementById("found")!;
  let found: Place[] = [], at = -1, marked: HTMLElement | null = null;
  const mark = (element: HTMLElement | null) => {
    marked?.classList.remove("hit");
    marked = element;
    marked?.classList.add("hit");
  };
  field.addEventListener("input", () => {
    const text = field.value.trim().toLowerCase();
    found = text ? [...cards(text), ...timelineRows(), ...tableRows()].filter((place) => place.text.toLowerCase().includes(text)) : [];
    at = -1;
    mark(null);
    count.textContent = !text ? "" : found.length ? `${found.length} found` : "nothing found";
  });
  field.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter" || !found.length) return;
    event.preventDefault();
    at = event.shiftKey ? (at > 0 ? at : found.length) - 1 : (at + 1) % found.length;
    mark(await found[at].go());
    marked?.scrollIntoView({ block: marked.offsetHeight > innerHeight / 2 ? "start" : "center" });
    count.textContent = `${at + 1} of ${found.length}`;
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).closest("input, select, textarea")) return;
    event.preventDefault();
    field.select();
  });
}
