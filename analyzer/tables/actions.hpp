/// What umadvisor did to the program (--act), added up by why and where.
#pragma once

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "trace/act_modes.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"
#include "trace/memory_records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>

namespace umadvisor::tables {

/// What reports add up, by the names that the JSON report has.
enum class ActionKind : std::uint8_t {
#define ACTION(name, mode, compared, noun, title) name,
#include "trace/act.def"
    other, ///< for a reason that is newer than this analyzer
};

/// What the program's time with an action is compared with.
enum class Measure : std::uint8_t {
    nothing, ///< the gain is not known
    room,    ///< nothing: it gains memory, not time
    rounds,  ///< rounds that were left without it (trace::Comparison)
    earlier, ///< the rounds before it
    copies,  ///< copies that the driver made
    calls,   ///< calls of the same call site that the driver answered
    pools,   ///< allocations of the same call site before the pool kept memory
};

struct ActionText {
    trace::ActMode mode;
    Measure measure;
    std::string_view name, noun, title; ///< noun: one of them, where plans name the call sites that lose by it
};
const ActionText& text_of(ActionKind kind);

ActionKind kind_of(trace::Reason reason);
/// `other`: the driver made the copy.
ActionKind kind_of(const trace::Copy& record, const reader::Dictionary& dictionary);

struct ActionSite {
    ActionKind kind{};
    ids::StackId stack{}; ///< of the program's call that it was done for
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
    void add(const trace::Free& record);
    void add(const trace::Pool& record);
    void add(const trace::Prefetch& record);
    void add(const trace::Advise& record);
    void add(const trace::Copy& record);

    const std::map<ActionSite, ActionTotals>& sites() const { return sites_; }

private:
    template <class Record>
    void answered(const Record& record, std::uint64_t bytes);
    template <class Record>
    void count(ActionKind kind, const Record& record, std::uint64_t bytes);

    const reader::Dictionary& dictionary_;
    std::map<ActionSite, ActionTotals> sites_;
};

} // namespace umadvisor::tables
