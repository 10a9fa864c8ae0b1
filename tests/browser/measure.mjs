// What pages of traces, of a comparison and of jobs cost, and what axe and the console have against them, as one line of JSON.
//   measure.mjs UMADVISOR PACKAGES GOLDEN TRACE...
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { close, folder, jobOf, open, options, run, violationsOf } from "./browser.mjs";

const pages = [], make = (command, ...files) => {
    pages.push(join(folder, `${pages.length}.html`));
    const begin = performance.now();
    run(command, "--html", "-o", pages.at(-1), ...files);
    return { job_bytes: statSync(pages.at(-1)).size, job_s: (performance.now() - begin) / 1e3 };
};
for (const file of options) make("report", file);
make("diff", options[0], options.at(-1));
const jobs = [8, 1000].map((ranks) => {
    const file = join(folder, `${ranks}.umjob`);
    writeFileSync(file, jobOf(ranks, 200));
    return make("report", file);
});
const violations = [], complained = [];
for (const file of pages)
    for (const [theme, width] of [["light", 1280], ["dark", 400]]) {
        const { page, complaints } = await open(file, { theme, width });
        await page.evaluate(() => { for (const card of [...document.querySelectorAll(".card")].slice(0, 12)) card.open = true; });
        if (file !== pages.at(-1)) violations.push(...await violationsOf(page)); // of 1,000 ranks as of 8, but in minutes
        complained.push(...complaints);
        await page.close();
    }
for (const each of [...violations, ...complained]) console.error(each);
console.log(JSON.stringify({ axe: violations.length, console_errors: complained.length, ...jobs[1] }));
await close();
