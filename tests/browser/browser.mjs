// What all that looks at pages in a real browser has in common. The first words of the command line are
//   UMADVISOR PACKAGES GOLDEN
// UMADVISOR: the program; PACKAGES: the folder whose node_modules has puppeteer-core and axe-core; GOLDEN: a folder of NAME.umtrace.xz.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const [, , umadvisor, packages, golden, ...options] = process.argv;
export const require = createRequire(join(packages, "package.json"));
const puppeteer = require("puppeteer-core"), axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const folder = mkdtempSync(join(tmpdir(), "umadvisor-page-"));
export const environment = { HOME: folder, PATH: process.env.PATH, TMPDIR: folder };
export const run = (...words) => execFileSync(umadvisor, words, { cwd: folder, env: environment, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }).toString();

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

export const trace = (name) => {
    const file = join(folder, `${name}.umtrace`);
    writeFileSync(file, execFileSync("xz", ["-dkc", join(golden, `${name}.umtrace.xz`)], { maxBuffer: 1 << 28 }));
    return file;
};

/** What the program's own words for a time are. */
const digits = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
export const timeText = (ns) => (ns >= 1e9 ? `${digits(ns / 1e9)} s` : ns >= 1e6 ? `${digits(ns / 1e6)} ms` : ns >= 1e3 ? `${digits(ns / 1e3)} us` : `${digits(ns)} ns`);

/** Opens a page that may ask for nothing and complain of nothing. */
export async function open(file, { width = 1280, height = 900, theme = "light", script = true, hash = "" } = {}) {
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
export const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

/** What axe has to say against a page. */
export async function violationsOf(page) {
    // The policy of the page keeps scripts of others out, so that the check runs in a world of its own.
    const client = await page.createCDPSession();
    await client.send("Page.enable");
    const { frameTree } = await client.send("Page.getFrameTree");
    const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
    const expression = `${axe};axe.run(document,{resultTypes:["violations","passes"]}).then((result)=>JSON.stringify([result.passes.length].concat(result.violations.map((each)=>each.id+": "+each.nodes.slice(0,3).map((node)=>node.html.slice(0,160)+" "+(node.any[0]?.message??"")).join(" | ")))))`;
    const { result, exceptionDetails } = await client.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
    assert.equal(exceptionDetails, undefined);
    const [passed, ...violations] = JSON.parse(result.value);
    assert.ok(passed > 20, `only ${passed} rules had something to look at`);
    return violations;
}
export async function checkForAll(page, what) {
    assert.deepEqual(await violationsOf(page), [], what);
}

/** A job of `count` ranks; rank 5 has more of its own code, and the others wait for it. */
export function jobOf(count, findings) {
    const measured = (rank) => ({ run_ns: 1e9, own_ns: rank === 5 ? 4.2e8 : 3e8, copies_ns: 1e8, calls_ns: 5e7, waits_ns: 4e8, kernels_ns: 3e8,
        collectives_ns: rank === 5 ? 3e7 : 1.5e8, to_device_bytes: 1 << 30, to_host_bytes: 0, to_device_bytes_per_s: 5e10, to_host_bytes_per_s: 0, managed_bytes: 0, gain_ns: 1e8 });
    const step = (rank) => ({ name: "forward", domain: "", count: 10, median_ns: rank === 5 ? 4e7 : 3e7, worst_ns: 5e7, total_ns: rank === 5 ? 4e8 : 3e8 });
    return Array.from({ length: count }, (_, rank) => JSON.stringify({ schema: "umadvisor-summary-1", rank: String(rank), host: `node${rank >> 3}`, pid: 100 + rank, begin_ns: 1, trace: `train.${rank}.umtrace`,
        program: "train", device: "NVIDIA H100", node: 0, complete: true, calls: 1000, measured: measured(rank), steps: [step(rank)],
        lines: [{ line: "train.cu:12 in step()", ns: 1e8, bytes: 1 << 30 }],
        findings: Array.from({ length: findings }, (_, i) => ({ rule: "UMA-101", title: "Pageable copies", line: `train.cu:${i}`, confidence: "high", saving_ns: 1e6 * (i + 1), saving_bytes: 0 })), findings_beyond: 0 })).join("\n") + "\n";
}

export async function close() {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
}

const tests = [];
export const test = (name, body) => tests.push([name, body]);

/** Runs them all, and ends the program. */
export async function finish() {
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
    await close();
    process.exit(failed ? 1 : 0);
}
