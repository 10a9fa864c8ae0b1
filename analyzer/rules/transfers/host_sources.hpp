/// What the host's memory held when it was uploaded.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "trace/copy_records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace umadvisor::rules {

/// Follows uploads whose content was looked at: the latest from each place on the host, and the few latest of
/// all, since libraries send the same bytes from one staging buffer or another. Memory: one entry a place, of a
/// bounded number.
class HostSources {
public:
    struct Sent {
        std::uint64_t address = 0, bytes = 0, part_hash = 0, whole_hash = 0;
        ids::StackId stack{};
        std::uint64_t ticks_end = 0;      ///< of the call, and of looking at it
        trace::AllocationId allocation{}; ///< to where
        std::uint64_t first = 0;
    };

    /// The earlier upload of as many bytes with the same hash of a part: from the same place, else one of the
    /// few latest. Null: there is none.
    const Sent* find(const trace::Copy& upload) const;
    void add(const trace::Copy& upload);
    /// Whether the latest upload from where the download leads had this hash of a part, and no other download
    /// went there since.
    bool holds(const trace::Copy& download, std::uint64_t part_hash) const;
    /// The download has brought something else, or it is not known what.
    void overwrite(const trace::Copy& download);

private:
    static constexpr std::size_t most_places = 16'384;

    reader::FlatMap<Sent> places_; ///< by address
    std::size_t places_known_ = 0;
    std::array<Sent, 8> latest_{};
    std::size_t next_ = 0;
};

} // namespace umadvisor::rules
