#pragma once

#include <bitset>
#include <cstdint>

namespace umadvisor::residency {

/// The driver's units: it migrates 4 KiB pages, grows a fault to a 64 KiB granule and keeps all state per 2 MiB
/// block.
inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t granule_bytes = 64 * 1024;
inline constexpr std::uint64_t block_bytes = 2 * 1024 * 1024;
inline constexpr unsigned pages_per_granule = granule_bytes / page_bytes;
inline constexpr unsigned pages_per_block = block_bytes / page_bytes;

/// One bit a page of a 2 MiB block.
using PageMask = std::bitset<pages_per_block>;

/// The host is processor 0, device ordinal n is processor n + 1.
using Processor = unsigned;
inline constexpr Processor host_processor = 0;
inline constexpr unsigned max_processors = 4;
constexpr Processor device_processor(unsigned ordinal) {
    return ordinal + 1;
}
/// A set of processors, one bit each.
using ProcessorSet = std::uint32_t;
constexpr ProcessorSet set_of(Processor who) {
    return ProcessorSet{1} << who;
}

/// Nanoseconds on whatever clock the caller keeps; the model never reads one.
using Nanoseconds = std::uint64_t;

constexpr std::uint64_t block_number(std::uint64_t address) {
    return address / block_bytes;
}
constexpr unsigned page_in_block(std::uint64_t address) {
    return (address % block_bytes) / page_bytes;
}

/// Bits [first, last) set, word by word.
inline PageMask page_range(unsigned first, unsigned last) {
    return first < last ? ~PageMask() >> (pages_per_block - (last - first)) << first : PageMask();
}

/// Every page that shares a 64 KiB granule with a page of the mask.
inline PageMask grown_to_granules(const PageMask& mask) {
    PageMask grown;
    for (unsigned first = 0; first < pages_per_block; first += pages_per_granule) {
        bool any = false;
        for (unsigned page = first; page < first + pages_per_granule; ++page) {
            any = any || mask[page];
        }
        for (unsigned page = first; any && page < first + pages_per_granule; ++page) {
            grown.set(page);
        }
    }
    return grown;
}

} // namespace umadvisor::residency
