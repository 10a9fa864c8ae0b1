/// What is to be said of transfers to device memory, and when the evidence is enough.
#pragma once

#include "analyzer/tables/copies.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::rules {

/// What is to be said of a transfer; of each at most one.
enum class Fate : std::uint8_t {
    repeated, ///< the same bytes had been uploaded there
    returned, ///< they had just been downloaded from there
    constant, ///< an upload of one value; it was used
    unused,   ///< overwritten or freed before anything used it
    again,    ///< the same host bytes had been uploaded to memory that has changed since, or that is gone
    twice,    ///< the same host bytes had been uploaded to another place, which holds them still
    brought,  ///< a download of what had been uploaded there, from where it leads
    kept,     ///< a download of what had been downloaded from there to the same place before
};

struct FateSite {
    tables::CopySite copy; ///< of a memory set: its source is unknown
    Fate fate{};
    bool small = false; ///< as Copies has it
    auto operator<=>(const FateSite&) const = default;
};

struct FateTotals {
    tables::Tally seen;          ///< all bytes were, where it is about these
    tables::Tally in_part;       ///< so as far as some bytes show
    tables::Tally or_constant;   ///< uploads of the same bytes, unless they count as constant
    tables::Tally not_looked_at; ///< uploads of the same call site of which the recorder read no byte
    std::uint64_t looked_at = 0;
    std::uint64_t differed = 0; ///< so in part, but not in all
    /// Of those in part: places elsewhere that were compared and equal; and how many others were not in part
    /// because a place differed.
    std::uint64_t places = 0, differed_in_places = 0;
    /// Places that the same call compared of other buffers, where nothing differed in any of them.
    std::uint64_t places_elsewhere = 0;
    std::uint64_t freed = 0;                                   ///< of those unused, the others were overwritten
    std::uint64_t equal_elsewhere = 0, differed_elsewhere = 0; ///< by other calls into memory of the same line
    ids::StackId counterpart{}; ///< stack of what sent, read or ended the last before
    std::uint64_t value = 0, value_bytes = 0, part_hash = 0; ///< of the last constant
    ids::StackId allocation_stack{};
    std::uint64_t allocation_entry = 0, allocation_bytes = 0; ///< of the last

    /// The transfers that have this fate. Those compared in part count where whole comparisons agreed at least
    /// twice and never disagreed, or where many places elsewhere were equal in many of them and differed in few
    /// others; of uploads from the same place, the share for which whole comparisons agreed, if nearly all did.
    /// Equal parts are enough for downloads of what no call can have changed, if there are many.
    /// Transfers that were not looked at do not count.
    tables::Tally compared(Fate fate) const;
    /// The transfers that were not looked at and count as like the others. None count if fewer than half were
    /// looked at; of very many transfers a quarter is enough.
    tables::Tally counted_as_alike(Fate fate) const;
    /// The sum of both: the transfers whose fate is reported.
    tables::Tally reported(Fate fate) const;
    /// Whole comparisons agreed: so sure is it that no other finding need speak of these transfers.
    bool agreed() const {
        return seen.count + equal_elsewhere >= least_seen && differed + differed_elsewhere == 0;
    }

    static constexpr std::uint64_t least_seen = 2; ///< as a whole, for parts to be believed
};

/// At the end of the events: what the uploads of one call site show holds for those of others, too. Many ways
/// may lead to one line, and only the uploads of some are compared as a whole.
void share_evidence(std::map<FateSite, FateTotals>& sites);

} // namespace umadvisor::rules
