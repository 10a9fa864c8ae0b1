/// Which makers write the edits for a rule.
#pragma once

#include "analyzer/patch/draft.hpp"

namespace umadvisor::patch {

/// Returns whether there is a maker for findings of this rule.
bool is_known(std::string_view rule, symbols::Language language);

/// Returns the edits of the first maker for the finding's rule and this language that makes some; or why the
/// last one makes none.
Draft draft(symbols::Language language, const Request& request);

} // namespace umadvisor::patch
