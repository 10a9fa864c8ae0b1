/// The catalogue: every rule by its id.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace umadvisor::model {
class Profile;
}

namespace umadvisor::findings {

struct Finding;

/// Maps a stack to one that stands for all stacks with the same line of the program, so that a line which is
/// reached by many ways is one finding.
using LineOf = std::function<std::uint64_t(std::uint64_t stack)>;

/// Looks at a profile and reports a place once.
using Find = std::vector<Finding>(const model::Profile& profile, const LineOf& line_of);

#define RULE(id, name, title, find) Find find;
#include "analyzer/findings/rules.def"
#undef RULE

/// As rules.def describes it.
struct Rule {
    std::string_view id, name, title;
    Find* find;
};

inline constexpr std::array rules{
#define RULE(id, name, title, find) Rule{id, name, title, &find},
#include "analyzer/findings/rules.def"
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

} // namespace umadvisor::findings
