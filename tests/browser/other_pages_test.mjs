// The pages of a comparison and of a job in a real browser.
//   other_pages_test.mjs UMADVISOR PACKAGES GOLDEN
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkForAll, finish, folder, jobOf, open, run, test, timeText, trace } from "./browser.mjs";

/** What `diff --html` shows of what `diff --json` says. */
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
                unseen: [...document.querySelectorAll("#t-calls td:last-child, #t-copies td:last-child")].filter((cell) => cell.textContent === "0" && +cell.dataset.v > 0).map((cell) => +cell.dataset.v),
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
        assert.ok(seen.red.every(([more, says]) => more && says) && seen.red.length + seen.unseen.length === [...json.calls, ...json.copies].filter((row) => row.after.time_ns > row.before.time_ns).length);
        const longest = Math.max(0, ...[...json.calls, ...json.copies].flatMap((row) => [row.before.time_ns, row.after.time_ns]));
        assert.ok(seen.unseen.every((ns) => ns < longest / 1000), `${seen.unseen} of ${longest} ns`); // less than the unit shows
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
            // What is searched for is found in cards and tables.
            await page.type("#find", "rank 7");
            assert.match(await page.$eval("#found", (count) => count.textContent), /^[1-9]\d* found$/);
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
    const file = trace("pingpong");
    run("report", "--html", "-f", "-o", join(folder, "pingpong.html"), file);
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

await finish();
