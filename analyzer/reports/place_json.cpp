#include "analyzer/reports/place_json.hpp"

#include "analyzer/reader/shown_name.hpp"

namespace umadvisor::reports {

nlohmann::ordered_json place_json(Report& report, std::uint64_t stack) {
    if (stack == 0)
        return nullptr;
    const symbols::CodePlace place = report.symbolizer.line(stack);
    return {{"text", place.text()},
            {"function", place.function},
            {"file", reader::shown_name(place.file)},
            {"line", place.line},
            {"module", reader::shown_name(place.module)},
            {"offset", place.offset},
            {"source", report.symbolizer.source_text(place)}};
}

} // namespace umadvisor::reports
