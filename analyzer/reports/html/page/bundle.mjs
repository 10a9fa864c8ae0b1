// Bundles the page's script and style, and writes them as a C++ file: node bundle.mjs OUT
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { build } from "esbuild";

const options = { bundle: true, minify: true, write: false, charset: "ascii", legalComments: "none", target: ["es2020"], logLevel: "warning" };
const text = async (entry, more) => (await build({ ...options, ...more, entryPoints: [entry] })).outputFiles[0].text.trimEnd();

// What stands between tags must not look like their end. esbuild escapes that in strings.
const script = await text("src/main.tsx", { format: "iife", jsx: "automatic", jsxImportSource: "preact" });
const style = await text("src/page.css", {});
for (const part of [script, style])
    if (/<\/(script|style)|<!--/i.test(part)) throw new Error("the bundle would end its own element");

const hash = (part) => "sha256-" + createHash("sha256").update(part).digest("base64");

// Compilers take literals of some 64 KiB at the least; they join what stands side by side.
const literal = (part) => {
    const bytes = Buffer.from(part);
    const pieces = [];
    for (let at = 0; at < bytes.length; at += 8000) {
        let piece = "";
        for (const byte of bytes.subarray(at, at + 8000))
            piece += byte === 0x22 || byte === 0x5c ? "\\" + String.fromCharCode(byte)
                : byte >= 0x20 && byte < 0x7f && byte !== 0x3f ? String.fromCharCode(byte)
                : "\\" + byte.toString(8).padStart(3, "0");
        pieces.push(`    "${piece}"`);
    }
    return pieces.join("\n");
};

writeFileSync(process.argv[2], `// Generated from analyzer/reports/html/page/src.
#include "analyzer/reports/html/bundle.hpp"

namespace umadvisor::html {

Bundle bundle() {
    static constexpr std::string_view script =
${literal(script)};
    static constexpr std::string_view style =
${literal(style)};
    return {script, style, "${hash(script)}", "${hash(style)}"};
}

} // namespace umadvisor::html
`);
