/// Advice for people.
#pragma once

#include "analyzer/advice/report.hpp"

#include <iosfwd>
#include <string>

namespace umadvisor::reports {

void write_text(advice::Report& report, std::ostream& out);

/// "name · pid 4242 · 1.84 s · device · ...": what every text report opens with.
std::string headline(const advice::Report& report);

} // namespace umadvisor::reports
