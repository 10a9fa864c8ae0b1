#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/run/first_calibration.hpp"
#include "analyzer/cli/usual_rates.hpp"
#include "analyzer/machine/bench.hpp"
#include "analyzer/machine/calibration.hpp"
#include "analyzer/reader/error.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sys/file.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

/// One process at a time measures: two would disturb each other. Where that cannot be had, it goes without.
class Turn {
public:
    explicit Turn(const std::string& folder)
        : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        ::flock(folder_, LOCK_EX);
    }
    ~Turn() { ::close(folder_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    int folder_;
};

void print(const machine::Calibration& found, const std::string& path) {
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
}

int calibrate(const Arguments& arguments) {
    int ordinal = 0;
    if (const std::string text = arguments.value("--device"); !text.empty()) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
        if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) {
            say("--device takes a number from 0, not " + text);
            return usage_error;
        }
    }
    const std::string output = arguments.value("--output");
    const std::string path = output.empty() ? usual_rates_file() : output;
    if (path.empty())
        throw reader::Error("neither XDG_CONFIG_HOME nor HOME says where to write; give -o FILE");
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code failed; // should it not be there, the file cannot be written
    if (!folder.empty())
        std::filesystem::create_directories(folder, failed);
    check_output_name(path, true);
    const Turn turn(folder.empty() ? "." : folder.string());
    if (const std::string name = arguments.value(std::string(unknown_device_flag)); !name.empty()) {
        if (!usual_rates(name).device.empty()) // by now
            return done;
        ordinal = machine::ordinal_of(name);
    }
    const machine::Calibration found = machine::calibrate(ordinal);
    if (output.empty())
        keep_usual_rates(found.rates);
    else
        write_output_file(path, true, machine::rates_text({found.rates}));
    print(found, path);
    return done;
}

} // namespace

const Command calibrate_command{
    "calibrate",
    "Measure the rates of this machine, for the estimates of reports",
    "",
    0,
    0,
    {{"-o,--output", "FILE",
      "Output file; default: ~/.config/umadvisor/machine.json, which holds all devices and which reports read"},
     {"--device", "N", "The device to measure; default: 0"},
     {unknown_device_flag, "NAME", ""}},
    &calibrate};

} // namespace umadvisor::cli
