/// The timeline as the page's script reads it.
#pragma once

#include "analyzer/reports/html/timeline/packed_bytes.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <nlohmann/json_fwd.hpp>

namespace umadvisor::html {

/// What the rows are called; their contents are put into `bytes`, at the offsets that it names. `with_source`:
/// names of variables come from source lines.
nlohmann::ordered_json timeline_json(advice::Report& report, const Timeline& timeline, bool with_source,
                                     PackedBytes& bytes);

} // namespace umadvisor::html
