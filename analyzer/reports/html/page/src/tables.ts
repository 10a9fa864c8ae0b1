// Tables that are there without script become ones that sort, filter and copy.
import { say } from "./tip";

const value = (cell: HTMLTableCellElement) => (cell.dataset.v !== undefined ? +cell.dataset.v : cell.textContent ?? "");

function sortBy(table: HTMLTableElement, column: number, heading: HTMLTableCellElement) {
  const was = heading.getAttribute("aria-sort"), numbers = heading.classList.contains("r");
  const down = was ? was !== "descending" : numbers;
  for (const each of table.tHead!.rows[0].cells) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const left = value(a.cells[column]), right = value(b.cells[column]);
    const order = typeof left === "number" && typeof right === "number" ? left - right : typeof left === typeof right ? String(left).localeCompare(String(right)) : typeof left === "number" ? 1 : -1;
    return down ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

export function csvOf(table: HTMLTableElement): string {
  const heads = [...table.tHead!.rows[0].cells].map((cell) => quoted(cell.dataset.key ?? cell.textContent ?? ""));
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => quoted(cell.dataset.v ?? cell.dataset.full ?? cell.textContent ?? "")).join(","));
  return [heads.join(","), ...rows].join("\n") + "\n";
}

export async function copy(text: string, button: HTMLButtonElement) {
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // pages from disk may not, in some browsers
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    copied = document.execCommand("copy");
    area.remove();
  }
  const words = button.textContent;
  button.textContent = copied ? "Copied" : "Press Ctrl+C";
  say(copied ? "Copied" : "Could not be copied");
  setTimeout(() => { button.textContent = words; }, 1200);
}

export function makeTables() {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.d"))
    [...table.tHead!.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.textContent = heading.textContent;
      button.addEventListener("click", () => sortBy(table, column, heading));
      heading.replaceChildren(button);
    });
  for (const field of document.querySelectorAll<HTMLInputElement>("input[data-filter]"))
    field.addEventListener("input", () => {
      const text = field.value.trim().toLowerCase(), table = document.getElementById(field.dataset.filter!) as HTMLTableElement;
      for (const row of table.tBodies[0].rows) row.hidden = !!text && ![row.textContent!, ...[...row.cells].map((cell) => cell.dataset.full ?? "")].join(" ").toLowerCase().includes(text);
    });
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-csv]"))
    button.addEventListener("click", () => copy(csvOf(document.getElementById(button.dataset.csv!) as HTMLTableElement), button));
}
