/// What becomes of a call to each of the driver's entry points.
#pragma once

#include <iosfwd>

namespace umadvisor::cli {

/// The table of docs/recording.md: by area, how many entry points are recorded in full, how many are only
/// counted although they move memory or launch work, with the reasons, and how many move nothing.
void write_coverage(std::ostream& out);

} // namespace umadvisor::cli
