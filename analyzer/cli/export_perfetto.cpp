#include "analyzer/cli/export_format.hpp"
#include "analyzer/reports/perfetto.hpp"

namespace umadvisor::cli {
namespace {

void write_perfetto(const Arguments& arguments, OutputFile& file) {
    reports::PerfettoExport out([&](std::string_view bytes) { file.write(bytes); });
    for_each_report(arguments, [&](reports::Report& report, const std::string&) { out.add(report); });
    out.finish();
}

} // namespace

const ExportFormat& perfetto_format() {
    static const ExportFormat format{
        {"--perfetto", "", "A timeline for ui.perfetto.dev and trace_processor, of any number of traces"},
        {},
        SIZE_MAX,
        nullptr,
        &write_perfetto};
    return format;
}

} // namespace umadvisor::cli
