/// Copies of narrow rows that lie apart, by where they were called.
#pragma once

#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "trace/copy_records.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::tables {

/// A copy engine sends each row in packets of its own, and PCIe packets carry 128 to 512 bytes: a row below
/// this leaves a packet part empty, and its fixed cost weighs more than its bytes.
inline constexpr std::uint64_t narrow_row_bytes = 256;

/// Rows that lie apart on one side at least. Not those of arrays, whose layout is the driver's.
bool has_narrow_rows(const trace::Copy& copy);

struct NarrowRowsSite : ids::CallSite {
    facts::Direction direction{};
    bool asynchronous = false; ///< and both ends such that the call does not wait
    auto operator<=>(const NarrowRowsSite&) const = default;
};

struct NarrowRowsTotals {
    std::uint64_t copies = 0, rows = 0, bytes = 0, ticks = 0;
    std::uint64_t span_bytes = 0; ///< with all that lies between the rows, on the wider side
    bool same_pitch = true;       ///< on both sides
    std::uint64_t measured_rows = 0, measured_ns = 0; ///< device time of sampled copies
    std::uint64_t row_bytes() const { return rows == 0 ? 0 : bytes / rows; }
};

/// Of the program, across the link. Memory: one entry a site.
class NarrowRows {
public:
    /// Both must outlive it.
    NarrowRows(const reader::Dictionary& dictionary, facts::Samples& samples)
        : dictionary_(dictionary), samples_(samples) {}

    void add(const trace::Copy& copy);

    const std::map<NarrowRowsSite, NarrowRowsTotals>& sites() const { return sites_; }

private:
    const reader::Dictionary& dictionary_;
    facts::Samples& samples_;
    std::map<NarrowRowsSite, NarrowRowsTotals> sites_;
};

} // namespace umadvisor::tables
