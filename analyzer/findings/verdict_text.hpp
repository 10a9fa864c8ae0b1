/// Verdicts on managed memory in words.
#pragma once

#include "analyzer/model/profile.hpp"

#include <string>

namespace umadvisor::findings {

/// What was seen, in one sentence.
std::string verdict_text(verdicts::VerdictKind kind, const verdicts::VerdictTotals& totals);

/// False: what the symbols say of its code takes it back. Data that a library's copy routine put there was read
/// or received, not computed by the host.
bool holds(const model::Profile& profile, verdicts::VerdictKind kind, const verdicts::VerdictTotals& totals);

} // namespace umadvisor::findings
