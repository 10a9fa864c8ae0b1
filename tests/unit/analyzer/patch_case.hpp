/// What a maker of patches makes of a source, and what it refuses.
#pragma once

#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace patch_case {

using namespace umadvisor;
using namespace umadvisor::patch;

/// How a maker is asked: the finding is at the line that ends with "// here", the others likewise by name.
struct Case {
    Make* make;
    const rules::Rule& rule;
    std::map<std::string, std::string> others{}; ///< what each is, by name
    std::string device = "0";
    std::string advice{};
};

inline int line_of(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("// " + name + "\n");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no line " << name);
    return static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
}

inline advice::ResolvedPlace place_of(const std::string& text, const std::string& name, std::string what = {}) {
    advice::ResolvedPlace place{.what = std::move(what), .stack = {}, .place = {}, .source = {}};
    place.place.line = line_of(text, name);
    return place;
}

/// The patched text, which parses; or "refused: " and why.
inline std::string patched(const Case& how, const std::string& text) {
    rules::Finding finding;
    finding.rule = &how.rule;
    finding.advice = how.advice;
    advice::ResolvedFinding resolved{.finding = finding,
                                     .line = place_of(text, "here"),
                                     .memory = {},
                                     .others = {},
                                     .remedy = {},
                                     .verify = {}};
    for (const auto& [name, what] : how.others)
        resolved.others.push_back(place_of(text, name, what));
    const Syntax source(text, Grammar::cuda);
    BOOST_TEST(source.errors() == 0u, text);
    const Draft draft = how.make({resolved, source, how.device});
    if (!draft.refused.empty())
        return "refused: " + draft.refused;
    std::string after = applied(text, draft.edits);
    BOOST_TEST(Syntax(after, Grammar::cuda).errors() == 0u, after);
    return after;
}

/// `text` with `instead` in the place of `part`, which it has.
inline std::string with(std::string text, std::string_view part, std::string_view instead) {
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no part " << part);
    return text.replace(at, part.size(), instead);
}

/// Sees that each change of `text`, one part for another, is refused with `why`.
inline void check_refused(const Case& how, const std::string& text, const std::string& why,
                          const std::vector<std::pair<std::string, std::string>>& changes) {
    for (const auto& [part, instead] : changes) {
        const std::string result = patched(how, with(text, part, instead));
        BOOST_TEST(result.starts_with("refused: "), "patched: " << instead << "\n" << result);
        BOOST_TEST(result.find(why) != std::string::npos, instead << ": " << result);
    }
}

} // namespace patch_case
