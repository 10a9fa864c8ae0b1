// The HTML report in a real browser.
//   page_test.mjs UMADVISOR PACKAGES GOLDEN [TRAINING_TRACE] [--pictures FOLDER]
// UMADVISOR: the program; PACKAGES: the folder whose node_modules has puppeteer-core and axe-core; GOLDEN: a folder of NAME.umtrace.xz;
// TRAINING_TRACE: the program that makes large traces.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [, , umadvisor, packages, golden, ...options] = process.argv, trainingTrace = options[0]?.startsWith("--") ? "" : options.shift();
const require = createRequire(join(packages, "package.json"));
const puppeteer = require("puppeteer-core"), axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const pictures = options[0] === "--pictures" ? options[1] : null;
const folder = mkdtempSync(join(tmpdir(), "umadvisor-page-"));
const environment = { HOME: folder, PATH: process.env.PATH, TMPDIR: folder };
const run = (...words) => execFileSync(umadvisor, words, { cwd: folder, env: environment, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }).toString();

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
let browser;
for (const executablePath of browsers) {
    try {
        browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"], userDataDir: join(folder, "profile") });
        break;
    } catch (error) {
        if (!/ENOENT|does not exist|was not found/i.test(String(error))) throw error;
    }
}
assert.ok(browser, `no browser: ${browsers.join(", ")}`);

const trace = (name) => {
    const file = join(folder, `${name}.umtrace`);
    writeFileSync(file, execFileSync("xz", ["-dkc", join(golden, `${name}.umtrace.xz`)], { maxBuffer: 1 << 28 }));
    return file;
};

/** What the program's own words for a time are. */
const digits = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
const timeText = (ns) => (ns >= 1e9 ? `${digits(ns / 1e9)} s` : ns >= 1e6 ? `${digits(ns / 1e6)} ms` : ns >= 1e3 ? `${digits(ns / 1e3)} us` : `${digits(ns)} ns`);

/** Opens a page that may ask for nothing and complain of nothing. */
async function open(file, { width = 1280, height = 900, theme = "light", script = true, hash = "" } = {}) {
    const page = await browser.newPage(), complaints = [];
    page.on("console", (message) => { if (["error", "warn"].includes(message.type())) complaints.push(message.text()); });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) complaints.push(`asks for ${request.url()}`); });
    page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await page.setJavaScriptEnabled(script);
    await page.setViewport({ width, height });
    await page.goto(`file://${file}${hash}`);
    if (script) await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined, { timeout: 20000 });
    return { page, complaints };
}
const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

/** What axe has to say of a page: nothing. */
async function checkForAll(page, what) {
    // The policy of the page keeps scripts of others out, so that the check runs in a world of its own.
    const client = await page.createCDPSession();
    await client.send("Page.enable");
    const { frameTree } = await client.send("Page.getFrameTree");
    const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
    const expression = `${axe};axe.run(document,{resultTypes:["violations","passes"]}).then((result)=>JSON.stringify([result.passes.length].concat(result.violations.map((each)=>each.id+": "+each.nodes.slice(0,3).map((node)=>node.html.slice(0,160)+" "+(node.any[0]?.message??"")).join(" | ")))))`;
    const { result, exceptionDetails } = await client.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
    assert.equal(exceptionDetails, undefined);
    const [passed, ...violations] = JSON.parse(result.value);
    assert.deepEqual(violations, [], what);
    assert.ok(passed > 20, `only ${passed} rules had something to look at`);
}

const tests = [];
const test = (name, body) => tests.push([name, body]);

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
        if (json.together_ns > 0) assert.ok(seen.together.endsWith(`→ ${timeText(net - json.together_ns)}`), seen.together);
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
    assert.deepEqual([seen.legend[0], seen.causes], ["Thread", 8]);
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

/** What `diff --html` shows of what `diff --json` tells. */
function compared(...files) {
    const file = join(folder, "compared.html");
    run("diff", "--html", "-f", "-o", file, ...files);
    return { file, json: JSON.parse(run("diff", "--json", ...files)) };
}

test("a comparison has the numbers of its JSON, of traces and of reports", async () => {
    const before = trace("pingpong"), after = trace("vector_add_managed"), kept = join(folder, "kept.json");
    writeFileSync(kept, run("report", "--json", after));
    const slower = JSON.parse(run("report", "--json", before));
    slower.findings[0].saving_ns *= 2;
    const changed = join(folder, "changed.json");
    writeFileSync(changed, JSON.stringify(slower));
    for (const pair of [[before, after], [before, kept], [kept, changed], [before, changed], [kept, kept]]) {
        const { file, json } = compared(...pair), { page, complaints } = await open(file);
        const seen = await page.evaluate(() => {
            const savings = (list) => [...document.querySelectorAll(`#${list} .save`)].map((each) => ({ before: each.dataset.before, after: each.dataset.after }));
            const rows = (name) => [...document.querySelectorAll(`#t-${name} tbody tr`)].map((row) => [...row.cells].map((cell) => (cell.dataset.v === undefined ? cell.textContent : +cell.dataset.v)));
            return {
                run: document.getElementById("together").textContent,
                facts: Object.fromEntries([...document.querySelectorAll(".both tbody tr")].map((row) => [row.cells[0].textContent, [...row.cells].slice(1).map((cell) => (cell.dataset.v === "" ? null : +cell.dataset.v))])),
                savings: ["went", "came", "changed"].map(savings), same: document.querySelector("#findings .mut").textContent,
                calls: rows("calls"), copies: rows("copies"), over: document.querySelectorAll(".over path").length > 2,
                change: document.querySelector(".worse, .tog .ok")?.textContent ?? "", red: [...document.querySelectorAll("#t-calls .worse, #t-copies .worse")].map((cell) => [+cell.dataset.v > 0, / slower$/.test(cell.textContent)]),
                units: [...document.querySelectorAll("#t-calls tbody tr")].map((row) => row.cells[5].textContent).filter((text) => text !== "0").map((text) => text.replace(/^\d+/, "").replace(/\d/g, "0")),
                colours: [...document.querySelectorAll("#came .sbar rect:last-child")].map((bar) => bar.getAttribute("class")), legend: [...document.querySelectorAll(".where .lg b")].map((each) => each.textContent),
            };
        });
        const sides = [json.before, json.after], both = (value) => sides.map(value), pairs = (row, ...keys) => keys.flatMap((key) => [row.before[key], row.after[key]]);
        assert.equal(seen.run, both((side) => timeText(side.net_ns)).join(" → "));
        assert.deepEqual(seen.facts.Findings, both((side) => side.findings));
        assert.deepEqual(seen.facts["They save"], both((side) => side.saving_ns));
        assert.deepEqual(seen.facts.Copied, both((side) => side.copies.bytes));
        if (seen.facts["Page faults, host"]) assert.deepEqual(seen.facts["Page faults, host"], both((side) => side.managed?.host_faults ?? null));
        assert.deepEqual(seen.savings.map((list) => list.map((each) => [each.before, each.after].map((ns) => (ns === undefined ? null : +ns)))), [
            json.went.map((each) => [each.saving_ns, null]), json.came.map((each) => [null, each.saving_ns]), json.changed.map((each) => [each.before.saving_ns, each.after.saving_ns])]);
        // What is worse is red and says so, and a new finding is no saving. Both runs are drawn where both are traces.
        const [was, is] = both((side) => side.net_ns);
        assert.match(seen.change, is > was * 1.01 ? / slower / : is < was * 0.99 ? / faster / : /^/);
        assert.ok(seen.red.every(([more, says]) => more && says) && seen.red.length === [...json.calls, ...json.copies].filter((row) => row.after.time_ns > row.before.time_ns).length);
        assert.equal(new Set(seen.units).size, seen.units.length ? 1 : 0, seen.units.join());
        assert.ok(seen.colours.every((colour) => colour === "c-worse"));
        assert.equal(seen.over, pair.every((each) => each.endsWith(".umtrace")));
        assert.equal(seen.same, `${json.same} unchanged`);
        const change = (row) => row.after.time_ns - row.before.time_ns;
        assert.deepEqual(seen.calls, json.calls.map((row) => [row.call, ...pairs(row, "count", "failed", "time_ns"), change(row)]));
        assert.deepEqual(seen.copies.map((row) => row.slice(1)), json.copies.map((row) => [...pairs(row, "count", "bytes", "time_ns"), change(row)]));
        const parts = ["own_ns", "calls_ns", "copies_ns"].filter((key) => sides.some((side) => side.where[key] > 0));
        assert.deepEqual(seen.legend, parts.map((key) => both((side) => timeText(side.where[key])).join(" → ")));
        assert.deepEqual(complaints, []);
        await page.close();
    }
    const { file, json } = compared(before, changed);
    assert.equal(json.changed.length, 1);
    for (const theme of ["light", "dark"])
        for (const width of [1280, 320]) {
            const { page } = await open(file, { theme, width });
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `sideways scroll at ${width}`);
            await page.click("#openall");
            assert.ok(await page.evaluate(() => document.querySelector("#changed .card").open));
            await checkForAll(page, `comparison ${theme} ${width}`);
            await page.close();
        }
});

test("nothing of a hostile report is obeyed", async () => {
    const bad = "</script><script>window.ran=1</script><img src=x onerror=window.ran=1>\" ' \u202e\u001b[31m";
    const spoil = (value) => (typeof value === "string" ? bad : Array.isArray(value) ? value.map(spoil) : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, spoil(each)])) : value);
    const report = JSON.parse(run("report", "--json", trace("pytorch_training"))), hostile = join(folder, "hostile<img>.json");
    const spoiled = { ...spoil(report), schema: report.schema, findings: report.findings.map((each) => ({ ...spoil(each), confidence: each.confidence })) };
    writeFileSync(hostile, JSON.stringify(spoiled));
    const { file } = compared(hostile, trace("pingpong")), html = readFileSync(file, "utf8");
    assert.ok(!html.includes("\u001b") && !html.includes("\u202e"));
    assert.equal(html.match(/<script/g).length, 2);
    const { page, complaints } = await open(file);
    assert.equal(await page.$$eval("main img, main script", (all) => all.length), 0);
    assert.ok(await page.evaluate(() => document.querySelector("#went .ttl b").textContent.startsWith("</script>") && !window.ran));
    assert.deepEqual(complaints, []);
    await page.close();
});

/** A job of `count` ranks; rank 5 has more of its own code, and the others wait for it. */
function jobOf(count, findings) {
    const measured = (rank) => ({ run_ns: 1e9, own_ns: rank === 5 ? 4.2e8 : 3e8, copies_ns: 1e8, calls_ns: 5e7, waits_ns: 4e8, kernels_ns: 3e8,
        collectives_ns: rank === 5 ? 3e7 : 1.5e8, to_device_bytes: 1 << 30, to_host_bytes: 0, to_device_bytes_per_s: 5e10, to_host_bytes_per_s: 0, managed_bytes: 0, gain_ns: 1e8 });
    const step = (rank) => ({ name: "forward", domain: "", count: 10, median_ns: rank === 5 ? 4e7 : 3e7, worst_ns: 5e7, total_ns: rank === 5 ? 4e8 : 3e8 });
    return Array.from({ length: count }, (_, rank) => JSON.stringify({ schema: "umadvisor-summary-1", rank: String(rank), host: `node${rank >> 3}`, pid: 100 + rank, begin_ns: 1, trace: `train.${rank}.umtrace`,
        program: "train", device: "NVIDIA H100", node: 0, complete: true, calls: 1000, measured: measured(rank), steps: [step(rank)],
        lines: [{ line: "train.cu:12 in step()", ns: 1e8, bytes: 1 << 30 }],
        findings: Array.from({ length: findings }, (_, i) => ({ rule: "UMA-101", title: "Pageable copies", line: `train.cu:${i}`, confidence: "high", saving_ns: 1e6 * (i + 1), saving_bytes: 0 })), findings_beyond: 0 })).join("\n") + "\n";
}

test("a job shows its ranks, the odd one first, and who waits for it", async () => {
    const job = join(folder, "job.umjob"), file = join(folder, "job.html");
    writeFileSync(job, jobOf(8, 3));
    writeFileSync(join(folder, "train.3.html"), "<title>rank 3</title>");
    run("report", "--html", "-f", "-o", file, job);
    const json = JSON.parse(run("report", "--json", job)), { page, complaints } = await open(file);
    const seen = await page.evaluate(() => ({
        ranks: [...document.querySelectorAll("#t-ranks tbody tr")].map((row) => row.cells[0].textContent),
        odd: document.querySelector("#t-ranks .odd").textContent, links: [...document.querySelectorAll("#t-ranks a")].map((link) => [link.textContent, link.getAttribute("href")]),
        columns: [...document.querySelectorAll("#t-ranks thead th")].map((heading) => heading.dataset.key),
        runs: [...document.querySelectorAll("#t-ranks .run")].map((cell) => +cell.dataset.v),
        waits: [...document.querySelectorAll("#t-waits tbody tr")].map((row) => [...row.cells].map((cell) => +(cell.dataset.v ?? 0))),
        cards: [...document.querySelectorAll(".card .save")].map((save) => +save.dataset.ns),
    }));
    assert.deepEqual(seen.ranks, [5, 0, 1, 2, 3, 4, 6, 7].map((rank) => `rank ${rank}`));
    assert.match(seen.odd, /120 ms more in the program's own code \(420 ms, the others 300 ms\), most of it at step forward \(400 ms there, the others 300 ms\)/);
    assert.deepEqual(seen.links, [["rank 3", "./train.3.html"]]);
    assert.ok(seen.columns.includes("to_device_bytes") && !seen.columns.includes("managed_bytes"), seen.columns.join());
    assert.deepEqual(seen.runs, json.ranks.map((rank) => rank.measured.run_ns));
    assert.deepEqual(seen.waits[0], [0, 0, 0, 0, 0, 0, 1.2e8, 0, 0]); // rank 0 waits for rank 5
    assert.deepEqual(seen.cards, json.findings.map((finding) => finding.saving_ns.sum));
    assert.deepEqual(complaints, []);
    await page.close();
    for (const theme of ["light", "dark"])
        for (const width of [1280, 320]) {
            const { page } = await open(file, { theme, width });
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `sideways scroll at ${width}`);
            await page.click("#openall");
            await checkForAll(page, `job ${theme} ${width}`);
            await page.close();
        }
});

test("a job of 1,000 ranks is a small page", () => {
    const job = join(folder, "large_job.umjob"), file = join(folder, "large_job.html");
    writeFileSync(job, jobOf(1000, 200));
    run("report", "--html", "-o", file, job);
    const html = readFileSync(file, "utf8");
    assert.ok(html.length < 3 << 20, `${html.length} bytes`);
    assert.equal(new Set(html.match(/<th scope="row">rank \d+/g)).size, 1000);
});

test("options say what they cannot do", async () => {
    const fails = (...words) => { try { run(...words); } catch (error) { return [error.status, String(error.stderr)]; } return [0, ""]; };
    const file = join(folder, "pingpong.umtrace");
    assert.equal(fails("report", "--html", "--json", file)[0], 2);
    assert.equal(fails("report", "--html", file, file)[0], 2);
    assert.equal(fails("report", "-o", join(folder, "x"), file)[0], 2);
    assert.equal(fails("report", "--html", "-o", join(folder, "pingpong.html"), file)[0], 1); // it is there
    assert.equal(fails("diff", "--html", "--json", file, file)[0], 2);
    assert.equal(fails("diff", "-o", join(folder, "x"), file, file)[0], 2);
    assert.equal(fails("diff", "--html", "-o", join(folder, "pingpong.html"), file, file)[0], 1); // it is there
    const kept = readFileSync(file), [status, message] = fails("diff", "--html", "-f", "-o", file, join(folder, "kept.json"), file);
    assert.equal(status, 1);
    assert.match(message, /is the trace itself/);
    assert.ok(readFileSync(file).equals(kept));
    assert.ok(!run("report", "--html", "--no-source", file).includes('class="f"'));
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

let failed = 0;
for (const [name, body] of tests) {
    const begin = Date.now();
    try {
        await body();
        console.log(`ok    ${name} (${Date.now() - begin} ms)`);
    } catch (error) {
        failed++;
        console.log(`FAIL  ${name}\n${error.stack}`);
    }
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
