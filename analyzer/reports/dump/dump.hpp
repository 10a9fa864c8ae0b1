/// Every record of a trace, for developers, scripts and tests.
#pragma once

#include "analyzer/reader/trace.hpp"

#include <iosfwd>

namespace umadvisor::reports {

/// One JSON object a line: "record" first, then the fields by their names. Times are nanoseconds since the
/// trace began. docs/dump-schema.md is the contract. Definitions first, then events in the order of time.
void write_json_dump(reader::Trace& trace, std::ostream& out);

/// The same for people: one line a record.
void write_text_dump(reader::Trace& trace, std::ostream& out);

} // namespace umadvisor::reports
