/// Sources that a maker of edits patches, or refuses to.
#pragma once

#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace patch_sources {

using namespace umadvisor;
using namespace umadvisor::patch;

/// A source whose lines of interest end with "// name".
struct Program {
    std::string text;

    int line(std::string_view name) const {
        const std::size_t at = text.find("// " + std::string(name) + "\n");
        BOOST_REQUIRE(at != std::string::npos);
        return static_cast<int>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
               1;
    }
    advice::ResolvedPlace place(std::string_view name, std::string what = {}) const {
        advice::ResolvedPlace at{.what = std::move(what), .stack = {}, .place = {}, .source = {}};
        at.place.line = line(name);
        return at;
    }
};

/// What becomes of `program` where the finding of `rule` is at the line "here", or why nothing does.
struct Result {
    std::string text, refused;
};

/// What else the run shows.
struct Seen {
    std::string memory{};                          ///< line of the allocation; empty: it is not known
    std::vector<std::string> stack{};              ///< lines through which the finding's was reached
    std::map<std::string, std::uint64_t> needed{}; ///< calls of a line that are needed
};

inline Result made(Make* make, const rules::Rule& rule, const Program& program,
                   const std::map<std::string, std::string>& others = {},
                   std::vector<advice::ResolvedEdit> remedy = {}, const std::string& device = "0",
                   const Seen& seen = {}) {
    rules::Finding finding;
    finding.rule = &rule;
    advice::ResolvedFinding resolved{.finding = finding,
                                     .line = program.place("here"),
                                     .memory = {},
                                     .others = {},
                                     .remedy = std::move(remedy),
                                     .verify = {}};
    for (const auto& [name, what] : others)
        resolved.others.push_back(program.place(name, what));
    if (!seen.memory.empty())
        resolved.memory = program.place(seen.memory);
    const Syntax source(program.text, Grammar::cuda);
    BOOST_TEST(source.errors() == 0u);
    Request request{resolved, source, device};
    for (const std::string& name : seen.stack)
        request.stack.push_back(program.place(name).place);
    for (std::size_t i = 0; i < resolved.remedy.size(); ++i)
        request.remedy_stacks.push_back(request.stack);
    for (const auto& [name, calls] : seen.needed)
        request.needed.push_back({program.line(name), calls});
    const Draft draft = make(request);
    if (draft.refused.empty())
        BOOST_TEST(Syntax(applied(program.text, draft.edits), Grammar::cuda).errors() == 0u);
    return {draft.refused.empty() ? applied(program.text, draft.edits) : "", draft.refused};
}

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// A text of a source, what stands there instead, and the reason why that is not patched.
struct Near {
    std::string_view part, instead, reason;
};

inline std::string with(std::string text, std::string_view part, std::string_view instead) {
    BOOST_REQUIRE(contains(text, part));
    return text.replace(text.find(part), part.size(), instead);
}

template <typename Patch>
void check_refused(const std::string& text, const Patch& patch, std::initializer_list<Near> all) {
    for (const Near& near : all) {
        const Result result = patch(with(text, near.part, near.instead));
        BOOST_TEST(contains(result.refused, near.reason),
                   near.instead << ": " << result.refused << result.text);
    }
}

} // namespace patch_sources
