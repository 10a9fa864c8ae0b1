/// What a rule is, and the list of all.
#pragma once

#include "analyzer/ids/stack_id.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace umadvisor::rules {
class Profile;
}

namespace umadvisor::rules {

class Counter;
class Counters;
struct Begin;
struct Finding;

/// Maps a stack to one that stands for all stacks with the same line of the program, so that a line with many
/// call paths is one finding.
using LineOf = std::function<ids::StackId(ids::StackId stack)>;

/// Finds what a rule reports from what a profile counted; each line is reported once.
using Find = std::vector<Finding>(const Profile& profile, const LineOf& line_of);
/// Makes what a rule counts while a profile reads its trace, and enters it into the list of those that get
/// records.
using MakeCounter = std::unique_ptr<Counter>(const Begin& begin, Counters& counters);

/// On which machines a rule's advice is right.
enum class Fits : std::uint8_t {
    every_machine,
    staged_copies,   ///< the driver stages copies of pageable memory: the hardware does not reach that memory
                     ///< itself
    separate_memory, ///< host and device have memory of their own: in one pool nothing moves
};

/// What a rule computes savings from, beside the times in the trace.
enum class Price : std::uint8_t {
    none,
    rates,  ///< the rates of a link, or the price of a page fault
    unknown ///< a trace does not show how much of the memory kernels read, so there is no price
};

/// Findings of a higher urgency are reported first; within one urgency, savings decide.
enum class Urgency : std::uint8_t {
    saving,
    wrong_result,
    calls_fail ///< above wrong results: the rest of such a run may be meaningless
};

/// How the edit of a finding changes the order of the run's work, beyond what its changes say.
enum class OrderUse : std::uint8_t {
    as_edited,    ///< as its changes say
    none,         ///< not at all: one call of each group stays and orders what all of them did
    wait,         ///< its saving is the wait: nothing is saved where another call has to wait instead
    kept_memory,  ///< memory is kept between rounds: in each round a free, and the wait in it, is removed
    asynchronous, ///< calls that are asynchronous by name become so
};

/// All that the rest of the analyzer knows about a rule. The rule's source file defines it.
struct Rule {
    std::string_view id, name, title; ///< the title of its findings, unless they say more
    Find* find = nullptr;             ///< rules that are found in one pass have the same
    MakeCounter* counter = nullptr;   ///< null: what the profile has is enough
    Fits fits = Fits::every_machine;
    Price price = Price::none;
    Urgency urgency = Urgency::saving;
    std::string_view act{};              ///< mode of --act that does what the rule advises; empty: none does
    const Rule* same_calls_as = nullptr; ///< it counts the time of the same calls at the same line
    bool by_page_faults = false; ///< page faults move the memory, and with it all that shares its granules
    bool slows_kernels = false;  ///< a kernel loses the time once, however much of its memory is concerned
    bool in_statement = false;   ///< a Python statement may contain the wait, whose replay then gains nothing
    OrderUse order = OrderUse::as_edited;
    bool moves_own_line_only = false; ///< of the calls in its edit, only those at the finding's line move
    bool keeps_needed_calls =
        false; ///< without an edit of the code, calls that have something to wait for stay
    bool replaces_copies =
        false; ///< its remedy leaves little to copy at its line, though its edit keeps the copies

    /// The hundred of its id: 2 is managed memory.
    constexpr char group() const { return id[id.find('-') + 1]; }
};

#define RULE(number) extern const Rule uma_##number;
#include "analyzer/rules/rules.def"
#undef RULE

/// All rules, by id.
inline constexpr std::array rules{
#define RULE(number) &uma_##number,
#include "analyzer/rules/rules.def"
#undef RULE
};

/// By its id or its name; null: there is none.
inline const Rule* find_rule(std::string_view text) {
    const auto found = std::ranges::find_if(
        rules, [text](const Rule* each) { return each->id == text || each->name == text; });
    return found == rules.end() ? nullptr : *found;
}

} // namespace umadvisor::rules
