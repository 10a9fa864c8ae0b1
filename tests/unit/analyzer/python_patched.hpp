/// Sources in Python that a maker of edits patches, or refuses to.
#pragma once

#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace python_patched {

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace umadvisor::patch::python;

struct Result {
    std::string text, refused;
};

inline advice::ResolvedPlace place(const std::string& text, std::string_view mark, std::string what = {}) {
    const std::size_t at = text.find("# " + std::string(mark) + "\n");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, text);
    advice::ResolvedPlace found{.what = std::move(what), .stack = {}, .place = {}, .source = {}};
    found.place.line =
        1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
    return found;
}

/// What becomes of the program with a finding at the line "# here", and, if it has one, a further line "# too".
inline Result made(Make* make, const std::string& text, const std::string& title = {}) {
    rules::Finding finding;
    finding.rule = &rules::uma_103;
    finding.title = title;
    advice::ResolvedFinding resolved{.finding = finding,
                                     .line = place(text, "here"),
                                     .memory = {},
                                     .others = {},
                                     .remedy = {},
                                     .verify = {}};
    if (text.find("# too\n") != std::string::npos)
        resolved.others.push_back(place(text, "too", "copied in the same group"));
    const Syntax source(text, Grammar::python);
    BOOST_TEST(source.errors() == 0u, text);
    const Draft draft = make({resolved, source, "0"});
    const std::string after = draft.refused.empty() ? applied(text, draft.edits) : "";
    BOOST_TEST(Syntax(after, Grammar::python).errors() == 0u, after);
    return {after, draft.refused};
}

inline std::string replaced(std::string text, std::string_view part, std::string_view instead) {
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, part);
    return text.replace(at, part.size(), instead);
}

/// Whether the program is refused with each of these texts in the place of `part`, and for this reason.
inline void refuses(Make* make, const std::string& text, std::string_view part, std::string_view instead,
                    std::string_view why) {
    const Result result = made(make, replaced(text, part, instead));
    BOOST_TEST(result.refused.find(why) != std::string::npos, instead << ": \"" << result.refused << "\"\n"
                                                                      << result.text);
}

inline const std::string sum = R"(import torch
running = norm = 0.0
for step in range(9):
    loss = model(x)
    if fixed:
        total += loss.detach()
    else:
        running += loss.item() # here
print(running)
)";

inline const std::string list = R"(import torch
def train(model, data):
    losses = []
    for x in data:
        loss = model(x)
        losses.append(loss.item()) # here
    return losses
)";

inline const std::string elements = R"(import torch
for step in range(9):
    action, value = policy(batch)
    if fixed:
        action, value = action.tolist(), value.tolist()
    for k in range(games):
        a = action[k] if fixed else action[k].item() # here
        v = value[k] if fixed else value[k].item() # too
        seen[k] = envs[k].step(a)
)";

inline const std::string iterated = R"(import torch
def mask(ends):
    lengths = ends[1:] - ends[:-1]
    for entry in lengths:
        n = int(entry) # here
        rows.append(n)
)";

} // namespace python_patched
