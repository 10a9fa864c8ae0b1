// The HTML report in a real browser.
//   page_test.mjs UMADVISOR PACKAGES GOLDEN [TRAINING_TRACE] [--pictures FOLDER]
// TRAINING_TRACE: the program that makes large traces.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkForAll, environment, finish, folder, frame, open, options, packages, require, run, test, timeText, trace, umadvisor } from "./browser.mjs";

const trainingTrace = options[0]?.startsWith("--") ? "" : options.shift(), pictures = options[0] === "--pictures" ? options[1] : null;

test("numbers are those of the JSON report", async () => {
    for (const name of ["pingpong", "overlap", "vector_add_managed", "pytorch_training", "acted_pingpong"]) {
        const file = trace(name), json = JSON.parse(run("report", "--json", file));
        run("report", "--html", "-f", "-o", join(folder, `${name}.html`), file);
        const { page, complaints } = await open(join(folder, `${name}.html`));
        const seen = await page.evaluate(() => ({
            program: document.querySelector("h1").textContent,
            together: document.getElementById("together").textContent,
            facts: Object.fromEntries([...document.querySelectorAll(".tog dt")].map((term) => [term.textContent, term.nextElementSibling.textContent])),
            savings: [...document.querySelectorAll(".save")].map((each) => +each.dataset.ns),
            rules: [...document.querySelectorAll(".card .rid")].map((each) => each.textContent),
            titles: [...document.querySelectorAll(".card .ttl > b")].map((each) => each.textContent),
            complete: document.querySelector(".facts .ok, .facts .fail").textContent,
            bars: [...document.querySelectorAll(".where svg.bar")].map((bar) => [...bar.children].map((part) => [part.querySelector("title").textContent.split(":")[0], parseFloat(part.getAttribute("width"))])),
        }));
        const net = json.process.net_ns;
        assert.equal(seen.program, json.process.program);
        assert.ok(seen.together.startsWith(timeText(net)), seen.together);
        if (json.together_ns > 0 && timeText(net - json.together_ns) !== timeText(net)) assert.ok(seen.together.endsWith(`→ ${timeText(net - json.together_ns)}`), seen.together);
        // Both bars have the same scale: now is all of it, and the causes of after end where the saving begins.
        const [now, after] = seen.bars.map((parts) => parts.reduce((sum, [cause, width]) => sum + (cause === "saved" ? 0 : width), 0));
        assert.ok(Math.abs(now - 100) < 0.3, `now: ${now}%`);
        assert.equal(seen.bars.length, json.together_ns > 0 ? 2 : 1);
        if (json.together_ns > 0) {
            assert.ok(Math.abs(after - (1 - json.together_ns / net) * 100) < 0.3, `after: ${after}%`);
            assert.ok(seen.bars[1].some(([cause]) => cause === "host code") && seen.bars[1].length > 2, JSON.stringify(seen.bars[1]));
        }
        assert.deepEqual(seen.rules, json.findings.map((finding) => finding.rule));
        assert.deepEqual(seen.titles, json.findings.map((finding) => finding.title));
        seen.savings.forEach((saving, i) => assert.ok(Math.abs(saving - json.findings[i].saving_ns) < 1));
        assert.ok(seen.complete.includes(json.completeness.summary));
        if (json.managed && json.managed.totals.host_faults !== null) assert.equal(seen.facts["Page faults, host"], String(json.managed.totals.host_faults));
        assert.deepEqual(complaints, [], name);
        await page.close();
    }
});

test("rows are drawn, zoom and links work", async () => {
    const { page, complaints } = await open(join(folder, "pingpong.html"));
    await page.evaluate(() => document.getElementById("timeline").scrollIntoView());
    await frame(page);
    const inked = await page.evaluate(() => [...document.querySelectorAll(".tl [data-row] canvas")].map((canvas) => {
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return pixels.some((value) => value !== 0);
    }));
    assert.ok(inked.length >= 6 && inked.every(Boolean), JSON.stringify(inked));
    // The window is in the address, and an address opens the window.
    await page.click("#zoom button:nth-child(2)");
    await page.waitForFunction(() => /^#t=[\d.]+,[\d.]+$/.test(location.hash), { timeout: 3000 });
    const [from, until] = await page.evaluate(() => location.hash.slice(3).split(",").map(Number));
    const other = await open(join(folder, "pingpong.html"), { hash: `#t=${from},${until}` });
    const shown = await other.page.evaluate(() => document.querySelector(".inview .small").textContent);
    assert.equal(shown, await page.evaluate(() => document.querySelector(".inview .small").textContent));
    await other.page.close();
    // Keys: the whole run, a row, its next move, its finding.
    await page.focus("#tl");
    await page.keyboard.press("0");
    await frame(page);
    assert.equal(await page.evaluate(() => document.querySelector(".inview b").textContent), "Whole run");
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.querySelector(".row.sel").dataset.row), "line0");
    await page.keyboard.press("n");
    await page.waitForFunction(() => /moves (host|device)/.test(document.getElementById("live").textContent), { timeout: 3000 });
    await page.keyboard.press("f");
    assert.ok(await page.evaluate(() => document.activeElement.parentElement.id === "f1" && document.getElementById("f1").classList.contains("hit")));
    // Managed memory unfolds into its blocks; this trace does not tell where they were.
    await page.click("[data-row='line0'] .ex");
    await frame(page);
    assert.match(await page.evaluate(() => document.querySelector("[data-row='line0'] + .kid").textContent), /^by block: not recorded/);
    // From the card back to the timeline, and from the mark to the card.
    await page.click("[data-show='1']");
    await frame(page);
    assert.notEqual(await page.evaluate(() => document.querySelector(".inview b").textContent), "Whole run");
    await page.click(".lane .fb:not(.off)");
    assert.ok(await page.evaluate(() => document.getElementById("f1").open));
    assert.deepEqual(complaints, []);
    await page.close();
});

test("a finding leads to the round that costs most, and from there to a typical one", async () => {
    const file = join(folder, "pingpong.html"), { page, complaints } = await open(file);
    const data = JSON.parse(/<script type="application\/json" id="data">([^]*?)<\/script>/.exec(readFileSync(file, "utf8"))[1]).timeline;
    const number = data.findings.findIndex((mark) => mark.rounds && String(mark.rounds.worst) !== String(mark.rounds.typical)) + 1, { rounds, at } = data.findings[number - 1];
    assert.ok(rounds.worst[0] <= at && at < rounds.worst[1]);
    const window_ = () => page.evaluate(() => /([\d.]+) s to ([\d.]+) s/.exec(document.querySelector(".inview .small").textContent).slice(1).map(Number));
    const shows = async (which) => {
        await frame(page);
        const [from, until] = await window_(), [begin, end] = rounds[which].map((ns) => ns / 1e9);
        assert.ok(from <= begin + 1e-6 && until >= end - 1e-6 && until - from < (end - begin) * 1.5, `${which}: ${from} to ${until}, the round ${begin} to ${end}`);
        assert.equal(await page.$eval("#round", (words) => words.textContent), `${number}: ${which} of ${rounds.count} rounds`);
    };
    await page.evaluate((n) => document.querySelector(`[data-show="${n}"]`).click(), number);
    await shows("worst");
    await page.click(".btn.step");
    await shows("typical");
    await page.evaluate(() => [...document.querySelectorAll(".btn.step")].pop().click());
    await shows("worst");
    // A badge that had to move has a line to its place.
    await page.focus("#tl");
    await page.keyboard.press("0");
    await frame(page);
    const places = await page.evaluate(() => [...document.querySelectorAll(".lane line")].map((line) => [+line.getAttribute("x1"), +line.getAttribute("x2")]));
    const width = await page.evaluate(() => document.querySelector(".lane").clientWidth);
    const marks = data.findings.map((mark) => mark.at).filter((at) => at !== null).sort((a, b) => a - b);
    assert.equal(places.length, marks.length);
    places.forEach(([, x], i) => assert.ok(Math.abs(x - (marks[i] / data.span) * width) < 2, `${x} of ${width}`));
    assert.deepEqual(complaints, []);
    await page.close();
});

test("an address opens a finding's card", async () => {
    const { page } = await open(join(folder, "pytorch_training.html"), { hash: "#f2" }), isOpen = (number) => page.$eval(`#f${number}`, (card) => card.open && card.classList.contains("hit"));
    assert.ok(await isOpen(2));
    await page.evaluate(() => { location.hash = "#f1"; });
    await page.waitForFunction(() => document.querySelector("#f1.hit"), { timeout: 3000 });
    assert.ok(await isOpen(1));
    await page.close();
});

test("a search finds findings, rows of the timeline and rows of tables", async () => {
    const { page, complaints } = await open(join(folder, "pytorch_training.html"));
    const words = () => page.$eval("#found", (count) => count.textContent), hit = () => page.$eval(".hit", (element) => element.tagName + (element.dataset.row ?? element.closest("table")?.id ?? element.id));
    const expected = await page.evaluate(() => {
        const has = (element) => [element.textContent, ...[...element.querySelectorAll("[data-full]")].map((cell) => cell.dataset.full)].join(" ").toLowerCase().includes("memcpy");
        return [".card", "table.d tbody tr"].flatMap((all) => [...document.querySelectorAll(all)].filter(has)).map((element) => element.tagName + (element.closest("table")?.id ?? element.id));
    });
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "find");
    await page.keyboard.type("MEMCPY");
    assert.ok(expected.length > 2);
    assert.equal(await words(), `${expected.length} found`);
    const seen = [];
    for (let i = 0; i < expected.length; i++) {
        await page.keyboard.press("Enter");
        await frame(page);
        assert.equal(await words(), `${i + 1} of ${expected.length}`);
        seen.push(await hit());
        assert.ok(await page.$eval(".hit", (element) => { const box = element.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight && (element.open ?? true); }));
    }
    assert.deepEqual(seen, expected);
    await page.keyboard.down("Shift");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Shift");
    await frame(page);
    assert.equal(await hit(), expected.at(-2));
    // A row that a filter of its table hides is shown, and a row of the timeline is unfolded.
    await page.evaluate(() => { const field = document.getElementById("q-api"); field.value = "nothing like it"; field.dispatchEvent(new Event("input")); });
    await page.type("#find", "x", { delay: 0 });
    assert.equal(await words(), "nothing found");
    const row = await page.evaluate(() => document.querySelector("#t-api tbody tr").cells[0].textContent);
    const found = async (text) => {
        await page.$eval("#find", (field, value) => { field.value = value; field.dispatchEvent(new Event("input")); }, text);
        const count = parseInt(await words());
        for (let i = 0; i < count; i++) {
            await page.focus("#find");
            await page.keyboard.press("Enter");
            await frame(page);
            await frame(page);
            if ((await page.$eval(".hit", (element) => element.textContent)).includes(text) && await page.$(`.hit[data-row], #t-api .hit`)) return true;
        }
        return false;
    };
    assert.ok(await found(row));
    assert.ok(await page.evaluate(() => !document.querySelector("#t-api tbody tr").hidden));
    assert.ok(await found("Stream"));
    assert.deepEqual(complaints, []);
    await page.close();
});

test("the saving's arithmetic is on the card, with its rows", async () => {
    let sums = 0;
    for (const name of ["pytorch_training", "overlap"]) {
        const json = JSON.parse(run("report", "--json", join(folder, `${name}.umtrace`))), { page } = await open(join(folder, `${name}.html`));
        const seen = await page.$$eval(".card", (all) => all.map((card) => [card.querySelector(".sum")?.textContent ?? "", [...card.querySelectorAll("a[href^='#r-']")].map((link) => [link.textContent, document.getElementById(link.hash.slice(1))?.cells[0].textContent])]));
        json.findings.forEach((finding, i) => {
            const [sum, rows] = seen[i];
            assert.equal(sum, finding.spent_ns === undefined ? "" : `These calls take ${timeText(finding.spent_ns)}; after the change ${timeText(finding.left_ns)}; saves ${timeText(finding.saving_ns)}`);
            for (const [text, row] of rows) assert.equal(row, text);
            assert.ok(!sum || rows.length > 0, finding.summary);
            assert.ok(!sum || finding.spent_ns - finding.left_ns >= finding.saving_ns - 1);
        });
        sums += seen.filter(([sum]) => sum).length;
        await page.close();
    }
    assert.ok(sums > 0);
});

test("a drag zooms, and the tooltip says what is there", async () => {
    const { page, complaints } = await open(join(folder, "vector_add_managed.html"));
    await page.evaluate(() => document.getElementById("timeline").scrollIntoView());
    const box = await (await page.$("[data-row='thread0'] canvas")).boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 12);
    await page.waitForFunction(() => document.getElementById("tip").style.display === "block" && document.getElementById("tip").textContent.length > 5, { timeout: 3000 });
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 12, { steps: 5 });
    await page.mouse.up();
    await frame(page);
    assert.equal(await page.evaluate(() => document.querySelector(".inview b").textContent), "In view");
    assert.deepEqual(complaints, []);
    await page.close();
});

/** Of a window: what is said to be in view, and whether rows are drawn from bins. */
const inView = (page) => page.evaluate(() => document.querySelector(".inview").textContent);

test("a large trace has its pieces around its findings", async () => {
    if (!trainingTrace) return;
    const file = join(folder, "large.umtrace"), objects = Array.from({ length: 6 }, (_, i) => join(folder, `object${i}.so`));
    for (const object of objects) symlinkSync(umadvisor, object);
    execFileSync(trainingTrace, ["200000", file, ...objects]);
    run("report", "--html", "-f", "-o", join(folder, "large.html"), file);
    const { page, complaints } = await open(join(folder, "large.html"));
    await page.click("[data-show='1']");
    await frame(page);
    const close = await inView(page), [from, until] = await page.evaluate(() => { document.getElementById("tl").focus(); return /([\d.]+) s to ([\d.]+) s/.exec(document.querySelector(".inview .small").textContent).slice(1).map(Number); });
    // Launches are counted where they are known one by one: in a closeup, and not around it.
    assert.match(close, /launches [1-9]/);
    await page.keyboard.press("-");
    for (let i = 0; i < 6; i++) await page.keyboard.press("-");
    await frame(page);
    assert.doesNotMatch(await inView(page), /launches \d/);
    // The address of the closeup shows it again.
    const again = await open(join(folder, "large.html"), { hash: `#t=${from * 1e3},${until * 1e3}` });
    assert.match(await inView(again.page), /launches [1-9]/);
    await again.page.close();
    // So it is around the places of the other findings, but for a few of rare calls.
    const numbers = await page.$$eval("[data-show]", (all) => all.map((each) => each.dataset.show)), without = [];
    for (const number of numbers) {
        await page.evaluate((each) => document.querySelector(`[data-show='${each}']`).click(), number);
        await frame(page);
        if (!/launches [1-9]/.test(await inView(page))) without.push(number);
    }
    assert.ok(numbers.length > 5 && without.length <= numbers.length / 10, `${numbers.length} findings, no window for ${without}`);
    assert.deepEqual(complaints, []);
    await page.close();
});

test("kernels are called by their names", async () => {
    const { kernelNames } = await import(`data:text/javascript,${encodeURIComponent(require("esbuild").transformSync(readFileSync(join(packages, "src/format.ts"), "utf8"), { loader: "ts" }).code)}`);
    assert.deepEqual(kernelNames("void at::native::(anonymous namespace)::copy_kernel<float, std::array<char*, 2> >(int, float*)"), ["at::native::copy_kernel", "copy_kernel"]);
    assert.deepEqual(kernelNames("scale(float*, unsigned long)"), ["scale", "scale"]);
    assert.deepEqual(kernelNames("void vectorized<(int)4>(int)"), ["vectorized", "vectorized"]);
    assert.deepEqual(kernelNames("ampere_sgemm_128x64_tn"), ["ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"]);
});

test("tables sort, filter and become CSV", async () => {
    const { page } = await open(join(folder, "pytorch_training.html"));
    const result = await page.evaluate(() => {
        const table = document.getElementById("t-api"), count = [...table.tHead.rows[0].cells].findIndex((cell) => cell.dataset.key === "count" || /Calls/.test(cell.textContent));
        const button = table.tHead.rows[0].cells[count].querySelector("button");
        button.click();
        const down = [...table.tBodies[0].rows].map((row) => +row.cells[count].dataset.v);
        const field = document.getElementById("q-api");
        field.value = "memcpy";
        field.dispatchEvent(new Event("input"));
        return { down, sort: table.tHead.rows[0].cells[count].getAttribute("aria-sort"), left: [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.textContent) };
    });
    assert.equal(result.sort, "descending");
    assert.deepEqual(result.down, [...result.down].sort((a, b) => b - a));
    assert.ok(result.left.length > 0 && result.left.every((text) => /memcpy/i.test(text)));
    await page.close();
});

test("the flame graph looks into a frame", async () => {
    const { page } = await open(join(folder, "pytorch_training.html"));
    const before = await page.$$eval("#flame g", (all) => all.length);
    assert.ok(before > 3);
    await page.evaluate(() => { const frames = document.querySelectorAll("#flame g"); frames[frames.length - 1].dispatchEvent(new MouseEvent("click", { bubbles: true })); });
    await frame(page);
    assert.notEqual(await page.$$eval("#flame g", (all) => all.length), before);
    await page.close();
});

test("it can be used without sight and without script, on a phone and on paper", async () => {
    for (const theme of ["light", "dark"])
        for (const width of [1280, 320]) {
            const { page, complaints } = await open(join(folder, "pingpong.html"), { theme, width });
            assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `sideways scroll at ${width}`);
            await checkForAll(page, `${theme} ${width}`);
            assert.deepEqual(complaints, []);
            await page.close();
        }
    const { page } = await open(join(folder, "pingpong.html"), { script: false });
    assert.ok((await page.content()).includes("UMA-202"));
    const [pdf] = [await page.pdf({ format: "A4" })];
    assert.ok(pdf.length > 10000);
    await page.close();
});

test("places can be copied and opened, names are folded, and what is cut says all of it", async () => {
    const file = join(folder, "linked.html"), json = JSON.parse(run("report", "--json", join(folder, "pytorch_training.umtrace")));
    execFileSync(umadvisor, ["report", "--html", "-f", "-o", file, join(folder, "pytorch_training.umtrace")], { cwd: folder, env: { ...environment, UMADVISOR_EDITOR: "vscode" }, stdio: "ignore" });
    const { page, complaints } = await open(file);
    const seen = await page.evaluate(() => ({
        links: [...document.querySelectorAll(".loc a")].map((link) => link.getAttribute("href")), places: document.querySelectorAll(".loc").length, buttons: document.querySelectorAll(".loc [data-place]").length,
        kernels: [...document.querySelectorAll("#t-kernels tbody td.m")].map((cell) => [cell.textContent, cell.title]),
        legend: [...document.querySelectorAll(".legend")].map((line) => line.querySelector("b").textContent), causes: document.querySelectorAll(".legend.first canvas").length,
    }));
    const lines = json.findings.flatMap((each) => [each.line, each.allocation?.line, ...each.places.map((place) => place.line)]).filter((line) => line?.file.startsWith("/") && line.line > 0);
    assert.deepEqual(seen.links, lines.map((line) => `vscode://file${line.file.split("/").map((part) => encodeURIComponent(part)).join("/")}:${line.line}`));
    assert.ok(seen.places > 0 && seen.buttons === seen.places);
    assert.ok(seen.kernels.some(([brief, all]) => brief.includes("<…>") && all.length > brief.length), JSON.stringify(seen.kernels.slice(0, 3)));
    assert.deepEqual([seen.legend[0], seen.causes], ["Thread", json.managed ? 8 : 6]); // nothing faults without managed memory
    // A text that is cut has all of it as its title once the pointer is there.
    const cut = await page.evaluate(() => [...document.querySelectorAll(".ttl > span, .d td, .n, .s")].filter((each) => each.scrollWidth > each.clientWidth).map((each) => {
        each.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
        return [each.textContent, each.title];
    }));
    assert.ok(cut.length > 0 && cut.every(([, title]) => title.length > 0), JSON.stringify(cut));
    assert.deepEqual(complaints, []);
    await page.close();
    assert.ok(!readFileSync(join(folder, "pytorch_training.html"), "utf8").includes("vscode:"));
});

test("findings and tables fit on paper", async () => {
    const { page } = await open(join(folder, "vector_add_managed.html"), { width: 1040 });
    const pages = async () => Buffer.from(await page.pdf({ preferCSSPageSize: true })).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
    // As wide as a page: nothing is cut at its right edge.
    await page.emulateMediaType("print");
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("table, pre")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1 || each.scrollWidth > each.clientWidth + 1).map((each) => each.id || each.textContent)), []);
    // A heading stays with what it is of.
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll(".sh, .th, .body h3")].filter((each) => getComputedStyle(each).breakAfter !== "avoid").map((each) => each.textContent)), []);
    assert.ok(await page.evaluate(() => [...document.querySelectorAll(".card, tbody tr")].every((each) => getComputedStyle(each).breakInside === "avoid")));
    // Six findings, open, are at most six pages.
    await page.evaluate(() => {
        for (const each of document.querySelectorAll("main > :not(#findings)")) each.remove();
        const cards = document.querySelector(".cards");
        while (cards.children.length < 6) cards.append(cards.children[cards.children.length % 3].cloneNode(true));
        for (const card of cards.children) card.open = true;
    });
    const count = await pages();
    assert.ok(count >= 2 && count <= 6, `${count} pages`);
    await page.close();
});

test("nothing of a hostile trace is obeyed", async () => {
    const file = trace("pingpong"), bytes = readFileSync(file);
    // Names of the same length in the place of the program's own.
    let at = 0, replaced = 0;
    while ((at = bytes.indexOf("pingpong", at)) >= 0) {
        bytes.write(["<script>", "</title>", "<img src", "\u001b[31m<b>"][replaced++ % 4].slice(0, 8), at, "latin1");
        at += 8;
    }
    assert.ok(replaced > 0);
    const hostile = join(folder, "hostile<script>.umtrace");
    writeFileSync(hostile, bytes);
    const html = run("report", "--html", "--no-cache", hostile);
    assert.ok(!html.includes("\u001b") && !html.includes("\u202e"));
    assert.equal(html.match(/<script/g).length, 2);
    writeFileSync(join(folder, "hostile.html"), html);
    const { page, complaints } = await open(join(folder, "hostile.html"));
    assert.equal(await page.$$eval("main img, main script, main b b", (all) => all.length), 0);
    // The policy lets nothing in that is not the page's own.
    const blocked = await page.evaluate(() => new Promise((done) => {
        document.addEventListener("securitypolicyviolation", () => done(true));
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
        setTimeout(() => done(false), 1000);
    }));
    assert.ok(blocked && !(await page.evaluate(() => window.ran)));
    assert.deepEqual(complaints.filter((text) => !/Content.Security.Policy/i.test(text)), []);
    await page.close();
});

if (pictures)
    test("pictures", async () => {
        for (const [name, theme, width, height] of [["pingpong", "light", 1280, 1500], ["pytorch_training", "dark", 1280, 1500]]) {
            const { page } = await open(join(folder, `${name}.html`), { theme, width, height });
            await frame(page);
            await page.screenshot({ path: join(pictures, `${name}-${theme}.png`) });
            await page.close();
        }
    });

await finish();
