#include "analyzer/cli/commands/coverage.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

namespace umadvisor::cli {
namespace {

struct EntryPoint {
    std::string_view symbol, handling;
    std::string_view reason; ///< why it is counted only, where it moves memory or launches work
};
constexpr EntryPoint entry_points[] = {
#define API(symbol, handling) {#symbol, #handling, ""},
#define API_COUNTED(symbol, reason) {#symbol, "counted", reason},
#define API_UNDECLARED(symbol) {#symbol, "counted", "belongs to a graphics API, whose headers declare it"},
#define API_NEWER_COUNTED(symbol, version, reason) {#symbol, "counted", reason},
#include "interposer/driver_api.def"
};

/// The first that fits. `word` stands anywhere in the symbol.
struct Area {
    std::string_view word, title;
};
constexpr Area areas[] = {
    {"EGL", "graphics interoperation"},
    {"cuGL", "graphics interoperation"},
    {"VDPAU", "graphics interoperation"},
    {"cuGraphics", "graphics interoperation"},
    {"cuGraph", "graphs"},
    {"GraphMem", "graphs"},
    {"cuUserObject", "graphs"},
    {"Capture", "stream capture"},
    {"MemPool", "memory pools"},
    {"PoolAsync", "memory pools"},
    {"cuIpc", "memory and events of other processes"},
    {"External", "memory and semaphores of other APIs"},
    {"cuMemcpy", "copies"},
    {"cuMemset", "memory sets"},
    {"Prefetch", "prefetch, advice, discard, attachment"},
    {"MemAdvise", "prefetch, advice, discard, attachment"},
    {"Discard", "prefetch, advice, discard, attachment"},
    {"AttachMem", "prefetch, advice, discard, attachment"},
    {"Array", "arrays"},
    {"cuMemAddress", "virtual memory management"},
    {"cuMemCreate", "virtual memory management"},
    {"cuMemMap", "virtual memory management"},
    {"cuMemUnmap", "virtual memory management"},
    {"cuMemRelease", "virtual memory management"},
    {"Access", "virtual memory management"},
    {"Shareable", "virtual memory management"},
    {"AllocationHandle", "virtual memory management"},
    {"cuMulticast", "virtual memory management"},
    {"cuMem", "allocation and free"},
    {"cuLaunch", "launches and host functions"},
    {"Callback", "launches and host functions"},
    {"cuParam", "launches and host functions"},
    {"cuEvent", "events, streams and synchronisation"},
    {"cuStream", "events, streams and synchronisation"},
    {"Synchronize", "events, streams and synchronisation"},
    {"RecordEvent", "events, streams and synchronisation"},
    {"WaitEvent", "events, streams and synchronisation"},
    {"GreenCtxStream", "events, streams and synchronisation"},
    {"Ctx", "contexts"},
    {"cuModule", "GPU code"},
    {"cuLibrary", "GPU code"},
    {"cuKernel", "GPU code"},
    {"cuFunc", "GPU code"},
    {"cuLink", "GPU code"},
    {"cuTex", "textures and surfaces"},
    {"cuSurf", "textures and surfaces"},
    {"cuTensor", "textures and surfaces"},
    {"", "devices, initialisation, errors and the rest"},
};

std::string_view area_of(std::string_view symbol) {
    return std::find_if(std::begin(areas), std::end(areas),
                        [symbol](const Area& area) { return symbol.find(area.word) != std::string_view::npos; })
        ->title;
}

struct Row {
    int recorded = 0, passed = 0;
    std::map<std::string_view, int> reasons;
};

void write_row(std::ostream& out, std::string_view title, const Row& row) {
    int counted = 0;
    std::string why;
    for (const auto& [reason, count] : row.reasons) {
        counted += count;
        why += (why.empty() ? ": " : "; ") + std::string(reason) +
               (row.reasons.size() > 1 ? " (" + std::to_string(count) + ")" : "");
    }
    out << "| " << title << " | " << row.recorded << " | " << counted << why << " | " << row.passed << " |\n";
}

} // namespace

void write_coverage(std::ostream& out) {
    std::map<std::string_view, Row> rows;
    Row all;
    for (const EntryPoint& entry : entry_points) {
        Row& row = rows[area_of(entry.symbol)];
        if (entry.handling != "counted") {
            ++row.recorded;
            ++all.recorded;
        } else if (!entry.reason.empty()) {
            ++row.reasons[entry.reason];
        } else {
            ++row.passed;
            ++all.passed;
        }
    }
    int counted = 0;
    for (const auto& [title, row] : rows)
        for (const auto& [reason, count] : row.reasons)
            counted += count;
    out << "| entry points | recorded in full | counted, and why | passed through and counted |\n"
           "|---|---|---|---|\n";
    for (const auto& [title, row] : rows)
        write_row(out, title, row);
    out << "| all | " << all.recorded << " | " << counted << " | " << all.passed << " |\n";
}

} // namespace umadvisor::cli
