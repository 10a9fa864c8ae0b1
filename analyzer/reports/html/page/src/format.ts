// Numbers as people read them: three digits that count, the unit behind.

const digits = (value: number) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    unit++;
  }
  return `${digits(bytes)} ${units[unit]}`;
}

export function timeText(ns: number): string {
  if (ns >= 1e9) return `${digits(ns / 1e9)} s`;
  if (ns >= 1e6) return `${digits(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${digits(ns / 1e3)} us`;
  return `${digits(ns)} ns`;
}

/** A moment of the run, as exact as a window of `span` ns asks for. */
export function momentText(ns: number, span: number): string {
  const decimals = Math.max(2, Math.min(9, 3 - Math.floor(Math.log10(Math.max(1, span) / 1e9))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

export const percentText = (share: number) => (share > 0 && share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`);
export const countText = (count: number) => count.toLocaleString("en");

/** Cut in the middle. */
export const shortened = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(text.length - Math.floor(most / 2))}`;

/** What a kernel is called, without return type, template arguments and parameters: with and without its namespaces. */
export function kernelNames(name: string): [string, string] {
  let plain = "", depth = 0;
  for (const c of name.replace(/\(anonymous namespace\)::/g, "")) {
    if (c === "<") depth++;
    else if (c === ">" && depth > 0) depth--;
    else if (depth === 0 && c === "(") break;
    else if (depth === 0) plain += c;
  }
  const qualified = plain.trim().split(" ").pop() || name;
  return [qualified, qualified.split("::").pop()!];
}
