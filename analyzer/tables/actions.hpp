/// What umadvisor did to the program (--act), added up by why and where.
#pragma once

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>

namespace umadvisor::tables {

enum class ActionKind : std::uint8_t {
    to_device,       ///< prefetched before a launch
    to_host,         ///< prefetched after a wait, since the host will want it
    room,            ///< prefetched to the host, since others are wanted on the device
    rewrite,         ///< an allocation answered with managed memory
    place,           ///< advice and prefetch that keep rewritten memory on the device
    stage_to_device, ///< copies through pinned buffers
    stage_to_host,
    relief, ///< advice, or advice taken back
    other,  ///< for a reason that is newer than this analyzer
};
ActionKind kind_of(const trace::Prefetch& record); ///< of umadvisor
std::string_view name(ActionKind kind);            ///< "prefetch_to_device", as the JSON report has it

struct ActionSite {
    ActionKind kind{};
    std::uint64_t stack = 0; ///< of the program's call that it was done for
    auto operator<=>(const ActionSite&) const = default;
};

struct ActionTotals {
    std::uint64_t count = 0, failed = 0;
    std::uint64_t bytes = 0; ///< of what did not fail
    std::uint64_t ticks = 0; ///< that the calls took, those that failed among them
};

/// Memory: one entry a site.
class Actions {
public:
    explicit Actions(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Prefetch& record);
    void add(const trace::Advise& record);
    void add(const trace::Copy& record);

    const std::map<ActionSite, ActionTotals>& sites() const { return sites_; }

private:
    template <class Record>
    void count(ActionKind kind, const Record& record, std::uint64_t bytes);

    const reader::Dictionary& dictionary_;
    std::map<ActionSite, ActionTotals> sites_;
};

} // namespace umadvisor::tables
