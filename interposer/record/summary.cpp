#include "interposer/record/summary.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/record/recorder.hpp"

namespace umadvisor::record {

constinit Summary summary;

void Summary::begin(std::uint8_t* chunk) noexcept {
    if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true, std::memory_order_relaxed))
        return;
    auto* const header = reinterpret_cast<trace::ChunkHeader*>(chunk);
    header->kind = trace::ChunkKind::summary;
    header->base_time = now();
    header->committed.store(trace::summary_slots * sizeof(trace::SummarySlot), std::memory_order_relaxed);
    // A chunk with the magic is complete: release here, acquire in readers. The exchange above need not order
    // anything: a second thread only adds to slots, which were zero before the chunk was claimed.
    std::atomic_ref(header->magic).store(trace::chunk_magic, std::memory_order_release);
}

trace::SummarySlot& Summary::slot_of(std::uint8_t* chunk, std::uint64_t site) noexcept {
    auto* const slots = reinterpret_cast<trace::SummarySlot*>(chunk + sizeof(trace::ChunkHeader));
    constexpr std::uint32_t own = trace::summary_slots - 1; // the first one is shared
    constexpr int most_looks = 32; // bounded, so that a full table does not slow the program
    auto at = static_cast<std::uint32_t>((site * 0x9e3779b97f4a7c15u) >> 32) % own;
    for (int looks = 0; looks < most_looks; ++looks, at = (at + 1) % own) {
        trace::SummarySlot& slot = slots[1 + at];
        std::uint64_t there = slot.site.load(std::memory_order_relaxed);
        if (there == site ||
            (there == 0 &&
             (slot.site.compare_exchange_strong(there, site, std::memory_order_relaxed) || there == site)))
            return slot;
    }
    slots[0].site.store(trace::any_site, std::memory_order_relaxed);
    return slots[0];
}

void Summary::count(std::uint64_t site, std::uint64_t calls, std::uint64_t status, std::uint64_t bytes,
                    std::uint64_t ticks) noexcept {
    std::uint8_t* const chunk = chunk_.load(std::memory_order_acquire);
    if (chunk == nullptr)
        return;
    begin(chunk);
    trace::SummarySlot& slot = slot_of(chunk, site);
    // Relaxed: each is an independent sum, read after the program's end or at any moment between two additions.
    // A slot belongs to a site from the exchange on.
    slot.calls.fetch_add(calls, std::memory_order_relaxed);
    slot.ticks.fetch_add(ticks, std::memory_order_relaxed);
    if (status != 0)
        slot.failed.fetch_add(1, std::memory_order_relaxed);
    if (bytes != 0)
        slot.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

} // namespace umadvisor::record
