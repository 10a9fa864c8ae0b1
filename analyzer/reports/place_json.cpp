#include "analyzer/reports/place_json.hpp"

#include "analyzer/reader/shown_name.hpp"

#include <filesystem>

namespace umadvisor::reports {

nlohmann::ordered_json place_json(const advice::ResolvedPlace& at) {
    if (!at.stack.known())
        return nullptr;
    return {
        {"text", at.text()},
        {"function", at.place.function.string()},
        {"file", reader::shown_name(std::filesystem::path(at.place.file.string()).lexically_normal().string())},
        {"line", at.place.line},
        {"module", reader::shown_name(at.place.module.view())},
        {"offset", at.place.offset},
        {"source", at.source}};
}

nlohmann::ordered_json place_json(advice::Report& report, ids::StackId stack) {
    return place_json(advice::resolve_place(report, stack, ""));
}

} // namespace umadvisor::reports
