/// Verdicts on managed memory in words.
#pragma once

#include "analyzer/rules/profile.hpp"

#include <string>

namespace umadvisor::rules {

/// What was seen, in one sentence.
std::string verdict_text(managed::VerdictKind kind, const managed::VerdictTotals& totals);

/// False: what the symbols say of its code takes it back. Data that a library's copy routine put there was read
/// or received, not computed by the host.
bool holds(const Profile& profile, managed::VerdictKind kind, const managed::VerdictTotals& totals);

} // namespace umadvisor::rules
