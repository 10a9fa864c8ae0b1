#include "analyzer/machine/rates.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/whole_file.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::machine {
namespace {

constexpr const char* schema = "umadvisor-machine-1";
constexpr std::uint64_t most_bytes = 1 << 20; ///< some thirty numbers have far fewer

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw reader::Error(path + ": " + why + "; make it anew with umadvisor calibrate");
}

} // namespace

Rates read_rates(const std::string& path) {
    const auto document = nlohmann::json::parse(reader::read_whole_file(path, most_bytes), nullptr, false);
    if (!document.is_object() || !document.contains("schema") || document["schema"] != schema)
        refuse(path, "is no profile of a machine");
    const auto device = document.find("device");
    const auto rates = document.find("rates");
    if (device == document.end() || !device->is_string() || rates == document.end() || !rates->is_object())
        refuse(path, "lacks its device or rates");
    Rates read;
    read.device = reader::plain(device->get<std::string>());
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

std::string rates_text(const Rates& rates) {
    nlohmann::ordered_json document{{"schema", schema}, {"device", rates.device}};
    document["rates"] = nlohmann::ordered_json::object();
    Rates::each(rates, [&](const char* name, double value) {
        if (value > 0)
            document["rates"][name] = value;
    });
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace umadvisor::machine
