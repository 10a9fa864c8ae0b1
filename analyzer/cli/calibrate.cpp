#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/usual_rates.hpp"
#include "analyzer/machine/calibration.hpp"
#include "analyzer/reader/error.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>

namespace umadvisor::cli {
namespace {

int calibrate(const Arguments& arguments) {
    int ordinal = 0;
    if (const std::string text = arguments.value("--device"); !text.empty()) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
        if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) {
            say("--device takes a number from 0, not " + text);
            return usage_error;
        }
    }
    std::string path = arguments.value("--output");
    if (path.empty())
        path = usual_rates_file();
    if (path.empty())
        throw reader::Error("neither XDG_CONFIG_HOME nor HOME says where to write; give -o FILE");
    std::error_code failed; // should it not be there, the file cannot be written
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
        std::filesystem::create_directories(folder, failed);
    check_output_name(path, true);
    const machine::Calibration found = machine::calibrate(ordinal);
    write_output_file(path, true, machine::rates_text(found.rates));
    std::cout << found.rates.device << "\n";
    machine::Rates::each(found.rates, [](std::string_view name, double value) {
        if (value <= 0)
            return;
        const bool rate = name.ends_with("_bytes_per_s"), time = name.ends_with("_ns");
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(),
                      rate   ? "%8.4g GB/s"
                      : time ? "%8.4g us  "
                             : "%8.4g times",
                      value / (rate   ? 1e9
                               : time ? 1e3
                                      : 1));
        std::cout << "  " << text.data() << "  " << name << "\n";
    });
    for (const std::string& sentence : found.unmeasured)
        std::cout << "not measured: " << sentence << "\n";
    std::cout << "written to " << path << "\n";
    return done;
}

} // namespace

const Command calibrate_command{
    "calibrate",
    "Measure what moving memory costs on this machine, for the estimates of reports",
    "",
    0,
    0,
    {{"-o,--output", "FILE",
      "Where it is kept; ~/.config/umadvisor/machine.json if not said, where reports look for it"},
     {"--device", "N", "The device to measure; 0 if not said"}},
    &calibrate};

} // namespace umadvisor::cli
