/// Remedies with the program's own names, as far as its source shows them.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/symbols/symbolizer.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::advice {

/// Pairs of a remedy's placeholder ("ptr") and the program's own expression for it ("data").
using OwnNames = std::vector<std::pair<std::string_view, std::string>>;

/// Replaces each argument of a call of CUDA that is one of these names, and nothing else of the text; of names
/// with a space, the words themselves.
std::string in_own_names(std::string text, const OwnNames& names);

/// In advice and edits, where exactly one value is known that means the same at their line.
void advise_in_own_names(std::vector<rules::Finding>& findings, symbols::Symbolizer& symbolizer);

} // namespace umadvisor::advice
