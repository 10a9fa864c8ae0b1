#include "analyzer/machine/rates.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/whole_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::machine {
namespace {

constexpr const char* schema = "umadvisor-machine-1";
constexpr std::uint64_t most_bytes = 1 << 20; ///< some thirty numbers of each device have far fewer

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw reader::Error(path + ": " + why + "; make it anew with umadvisor calibrate");
}

Rates read_one(const std::string& path, const nlohmann::json& document) {
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

nlohmann::ordered_json to_json(const Rates& rates) {
    nlohmann::ordered_json document{{"schema", schema}, {"device", rates.device}};
    document["rates"] = nlohmann::ordered_json::object();
    Rates::each(rates, [&](const char* name, double value) {
        if (value > 0)
            document["rates"][name] = value;
    });
    return document;
}

} // namespace

std::vector<Rates> read_rates(const std::string& path) {
    const auto document = nlohmann::json::parse(reader::read_whole_file(path, most_bytes), nullptr, false);
    if (!document.is_array() || document.empty())
        return {read_one(path, document)};
    std::vector<Rates> all;
    for (const nlohmann::json& each : document)
        all.push_back(read_one(path, each));
    return all;
}

const Rates& rates_of(const std::vector<Rates>& all, const std::string& device) {
    const auto found = std::ranges::find(all, device, &Rates::device);
    return found == all.end() ? all.front() : *found;
}

std::string rates_text(const std::vector<Rates>& all) {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const Rates& rates : all)
        document.push_back(to_json(rates));
    const nlohmann::ordered_json& whole = all.size() == 1 ? document.front() : document;
    return whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace umadvisor::machine
