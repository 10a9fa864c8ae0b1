#include "analyzer/cli/usual_rates.hpp"

#include "analyzer/cli/user_folders.hpp"

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
    machine::Rates rates = machine::read_rates(path);
    return rates.device == device ? rates : machine::Rates{};
}

} // namespace umadvisor::cli
