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

/// Whether a machine can have it; what simcuda does without moving anything has 7e16 bytes a second. A trace
/// may say anything; what follows from rates within these bounds are times that fit their types.
bool is_possible(std::string_view name, double value) {
    if (name.ends_with("_bytes_per_s"))
        return value >= 1e7 && value <= 1e18;
    if (name.ends_with("_ns"))
        return value >= 1e-2 && value <= 1e10;
    return value >= 1e-2 && value <= 1e3;
}

struct ReadRates {
    Rates rates;
    std::string trouble; ///< empty: none
};

ReadRates read_one(const nlohmann::json& document) {
    ReadRates read;
    if (!document.is_object() || !document.contains("schema") || document["schema"] != schema)
        return {{}, "is no profile of a machine"};
    const auto device = document.find("device");
    const auto rates = document.find("rates");
    if (device == document.end() || !device->is_string() || rates == document.end() || !rates->is_object())
        return {{}, "lacks its device or rates"};
    read.rates.device = reader::plain(device->get<std::string>());
    Rates::each(read.rates, [&](const char* name, double& value) {
        const auto found = rates->find(name);
        if (found == rates->end())
            return; // was not measured
        value = found->is_number() ? found->get<double>() : 0;
        if (!is_possible(name, value))
            read.trouble = fmt::format("{} is no rate", name);
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
    std::vector<Rates> all;
    const auto add = [&](const nlohmann::json& one) {
        ReadRates read = read_one(one);
        if (!read.trouble.empty())
            throw reader::Error(path + ": " + read.trouble + "; create it again with umadvisor calibrate");
        all.push_back(std::move(read.rates));
    };
    if (!document.is_array() || document.empty())
        add(document);
    else
        for (const nlohmann::json& each : document)
            add(each);
    return all;
}

std::optional<Rates> rates_in(std::string_view text) {
    ReadRates read = read_one(nlohmann::json::parse(text, nullptr, false));
    return read.trouble.empty() ? std::optional(std::move(read.rates)) : std::nullopt;
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
