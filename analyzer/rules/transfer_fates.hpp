/// What became of transfers to the device, by line, for the rules that advise to do without them.
#pragma once

#include "analyzer/rules/device_contents.hpp"
#include "analyzer/rules/line_rule.hpp"

#include <map>

namespace umadvisor::rules {

/// The transfers of one line that share a fate.
struct FateGroup {
    tables::Tally transfers;
    EditedCalls calls;
    std::uint64_t in_part = 0;       ///< of these, so as far as some of their bytes show
    std::uint64_t not_looked_at = 0; ///< of these, assumed to be like the others
    std::uint64_t places = 0;        ///< of those in part, compared and equal
    std::uint64_t wholes = 0;        ///< of these, all bytes were compared
    std::uint64_t freed = 0;         ///< of these, unused till they were freed
    double spent_ns = 0;             ///< in calls that waited, else by the device
    bool measured = true;            ///< all of it, in this trace
    std::uint64_t entry = 0;         ///< of their calls
    FateTotals last;                 ///< of one of their sites
    bool on_host = false;            ///< they came from the host
    double fill_ns = 0;              ///< by the host, which copied the bytes to page-locked memory first
};

/// Whether fates can be known: the trace has all calls that may have used or written device memory.
bool fates_are_known(const Profile& profile);

/// Uploads that surely need not be made, by call site.
std::map<ids::CallSite, std::uint64_t> needless_uploads(const Profile& profile);

/// By line. Empty where fates cannot be known.
std::map<ids::StackId, FateGroup> transfers_of_fate(const Profile& profile, Fate fate, const LineOf& line_of);

/// A finding with what all fates have in common: allocation, evidence, and the edit that removes the transfers.
Finding begin_finding(const Profile& profile, const FateGroup& group);

/// A rule's `find`. `describe(profile, stack, group)` returns the finding on a line, or nothing.
template <const Rule& rule, Fate fate, auto describe>
std::vector<Finding> find_fate(const Profile& profile, const LineOf& line_of) {
    return judge_lines(rule, profile, transfers_of_fate(profile, fate, line_of), describe);
}

/// "cudaMemcpy 16 MiB x 20"
std::string transfers_text(const Profile& profile, std::uint64_t entry, const tables::Tally& transfers);
inline std::string transfers_text(const Profile& profile, const FateGroup& group) {
    return transfers_text(profile, group.entry, group.transfers);
}

/// "time of these calls", or what else the saving is based on.
std::string basis_of(const Profile& profile, const FateGroup& group);

} // namespace umadvisor::rules
