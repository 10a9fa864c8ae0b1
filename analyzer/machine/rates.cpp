#include "analyzer/machine/rates.hpp"

#include "analyzer/reader/error.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace umadvisor::machine {
namespace {

namespace fs = std::filesystem;

constexpr const char* schema = "umadvisor-machine-1";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw reader::Error(path + ": " + why + "; make it anew with umadvisor calibrate");
}

} // namespace

Rates read_rates(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        throw reader::Error(path + ": cannot be read; umadvisor calibrate writes such a file");
    const auto document = nlohmann::json::parse(file, nullptr, false);
    if (!document.is_object() || !document.contains("schema") || document["schema"] != schema)
        refuse(path, "is no profile of a machine");
    const auto device = document.find("device");
    const auto rates = document.find("rates");
    if (device == document.end() || !device->is_string() || rates == document.end() || !rates->is_object())
        refuse(path, "lacks its device or rates");
    Rates read;
    read.device = device->get<std::string>();
    Rates::each(read, [&](const char* name, double& value) {
        const auto found = rates->find(name);
        if (found == rates->end())
            return; // was not measured
        if (!found->is_number() || !(found->get<double>() > 0))
            refuse(path, std::string(name) + " is no rate");
        value = found->get<double>();
    });
    return read;
}

void write_rates(const Rates& rates, const std::string& path) {
    nlohmann::ordered_json document{{"schema", schema}, {"device", rates.device}};
    document["rates"] = nlohmann::ordered_json::object();
    Rates::each(rates, [&](const char* name, double value) {
        if (value > 0)
            document["rates"][name] = value;
    });
    std::error_code error;
    if (const fs::path folder = fs::path(path).parent_path(); !folder.empty())
        fs::create_directories(folder, error);
    const std::string fresh = path + "." + std::to_string(::getpid());
    std::ofstream file(fresh);
    file << document.dump(2) << "\n";
    file.close();
    if (file)
        fs::rename(fresh, path, error);
    if (!file || error) {
        const std::string why = error ? error.message() : "cannot be written";
        fs::remove(fresh, error);
        throw reader::Error(path + ": " + why);
    }
}

} // namespace umadvisor::machine
