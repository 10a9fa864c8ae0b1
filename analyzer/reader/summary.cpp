#include "analyzer/reader/summary.hpp"

#include "analyzer/reader/trace_file.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::reader {
namespace {

constexpr std::size_t words_in_slot = sizeof(trace::SummarySlot) / sizeof(std::uint64_t);
static_assert(words_in_slot == 5);

DroppedCalls calls_of(const std::uint64_t (&slot)[words_in_slot]) {
    DroppedCalls calls;
    const std::uint64_t site = slot[0];
    calls.known = site != trace::any_site;
    if (calls.known) {
        calls.entry = (site & 0x7ff) - 1;
        calls.function = site >> 11 & 0x1fffff;
        calls.stack = ids::StackId(site >> 32);
    }
    calls.calls = slot[1];
    calls.failed = slot[2];
    calls.bytes = slot[3];
    calls.ticks = slot[4];
    return calls;
}

} // namespace

std::vector<DroppedCalls> read_summary(TraceFile& file) {
    std::vector<DroppedCalls> all;
    std::vector<std::uint8_t> bytes;
    for (const ChunkInfo& chunk : file.chunks()) {
        if (chunk.kind != trace::ChunkKind::summary || !file.load(chunk, bytes))
            continue;
        std::uint64_t slot[words_in_slot];
        for (std::size_t at = 0; at + sizeof slot <= bytes.size(); at += sizeof slot) {
            std::memcpy(slot, bytes.data() + at, sizeof slot);
            if (slot[0] != 0)
                all.push_back(calls_of(slot));
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const DroppedCalls& a, const DroppedCalls& b) { return a.ticks > b.ticks; });
    return all;
}

} // namespace umadvisor::reader
