#include "analyzer/cli/usual_rates.hpp"

#include "analyzer/cli/output_file.hpp"
#include "analyzer/cli/user_folders.hpp"
#include "analyzer/reader/error.hpp"

#include <filesystem>

namespace umadvisor::cli {

std::string usual_rates_file() {
    const std::string folder = config_folder();
    return folder.empty() ? folder : folder + "/machine.json";
}

machine::Rates usual_rates(const std::string& device) {
    const std::string path = usual_rates_file();
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error))
        return {};
    machine::Rates rates = machine::rates_of(machine::read_rates(path), device);
    return rates.device == device ? rates : machine::Rates{};
}

void keep_usual_rates(const machine::Rates& rates) {
    const std::string path = usual_rates_file();
    std::vector<machine::Rates> all{rates};
    try {
        for (machine::Rates& known : machine::read_rates(path))
            if (known.device != rates.device)
                all.push_back(std::move(known));
    } catch (const reader::Error&) { // it is not there, or is made anew
    }
    write_output_file(path, true, machine::rates_text(all));
}

} // namespace umadvisor::cli
