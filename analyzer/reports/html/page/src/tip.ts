// The one tooltip. Its texts come from traces: they are text nodes, never markup.

export interface Tip { title: string; place?: string; rows: [string, string][] }

const tip = document.getElementById("tip")!;
export let pinned = false;

export function element<Name extends keyof HTMLElementTagNameMap>(name: Name, classes: string, text?: string): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

export function showTip(content: Tip, x: number, y: number) {
  tip.replaceChildren(element("b", "", content.title));
  if (content.place) tip.append(element("span", "m", content.place));
  if (content.rows.length) {
    const list = element("dl", "");
    for (const [name, value] of content.rows) list.append(element("dt", "", name), element("dd", "", value));
    tip.append(list);
  }
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(innerWidth - box.width - 8, x + 14))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(6, y - box.height - 12) : y + 16}px`;
}
export const tipText = () => [...tip.querySelectorAll("b, .m, dt, dd")].map((part) => part.textContent).join(", ");

export function pinTip() {
  pinned = true;
  tip.classList.add("pin");
}
export function hideTip(also = false) {
  if (pinned && !also) return;
  pinned = false;
  tip.classList.remove("pin");
  tip.style.display = "none";
}

const live = document.getElementById("live")!;
export const say = (text: string) => { live.textContent = text; };
