/// The catalogue: every rule by its id.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace umadvisor::rules {
class Profile;
}

namespace umadvisor::rules {

struct Finding;

/// Maps a stack to one that stands for all stacks with the same line of the program, so that a line which is
/// reached by many ways is one finding.
using LineOf = std::function<std::uint64_t(std::uint64_t stack)>;

/// Looks at a profile and reports a place once.
using Find = std::vector<Finding>(const Profile& profile, const LineOf& line_of);

#define RULE(id, name, title, find, ...) Find find;
#include "analyzer/rules/rules.def"
#undef RULE

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

/// Findings are reported in this order before their savings count.
enum class Urgency : std::uint8_t {
    saving,
    wrong_result,
    calls_fail ///< before wrong results: the rest of such a run may not mean what it seems to
};

/// As rules.def describes it.
struct Rule {
    std::string_view id, name, title;
    Find* find = nullptr;
    Fits fits = Fits::every_machine;
    Price price = Price::none;
    Urgency urgency = Urgency::saving;
    std::string_view act{};           ///< mode of --act that does what the rule advises; empty: none does
    std::string_view same_calls_as{}; ///< id of a rule that counts the time of the same calls at the same line
    bool by_page_faults = false;      ///< page faults move the memory, and with it all that shares its granules
    bool slows_kernels = false;       ///< a kernel loses the time once, however much of its memory is concerned
    bool in_statement = false; ///< a Python statement may contain the wait, whose replay then gains nothing

    /// The hundred of its id: 2 is managed memory.
    constexpr char group() const { return id[id.find('-') + 1]; }
};

inline constexpr std::array rules{
#define RULE(rule_id, rule_name, rule_title, function, ...)                                                    \
    Rule{.id = rule_id, .name = rule_name, .title = rule_title, .find = &function __VA_OPT__(, ) __VA_ARGS__},
#include "analyzer/rules/rules.def"
#undef RULE
};
static_assert(std::ranges::is_sorted(rules, {}, &Rule::id));

/// By its id, which has to exist.
consteval const Rule& rule(std::string_view id) {
    return *std::ranges::find_if(rules, [id](const Rule& each) { return each.id == id; });
}

/// By its id or its name; null: there is none.
constexpr const Rule* find_rule(std::string_view text) {
    const auto* const found =
        std::ranges::find_if(rules, [text](const Rule& each) { return each.id == text || each.name == text; });
    return found == rules.end() ? nullptr : found;
}

} // namespace umadvisor::rules
