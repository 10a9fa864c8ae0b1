#include "analyzer/cli/trace_rates.hpp"

#include "analyzer/cli/usual_rates.hpp"
#include "analyzer/machine/recorded_rates.hpp"
#include "analyzer/reader/added_chunk.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/trace.hpp"
#include "trace/encoder.hpp"

#include <cstdint>
#include <set>

namespace umadvisor::cli {
namespace {

/// Returns the prices that this machine knows and the trace lacks; empty: the trace lacks none.
std::string missing_rates(const std::string& path) {
    const reader::Trace trace(path);
    const reader::Dictionary& dictionary = trace.dictionary;
    if (dictionary.devices.empty() || !machine::recorded_rates(dictionary).device.empty())
        return {};
    const machine::Rates rates = usual_rates(std::string(dictionary.devices.front().device_name));
    return rates.device.empty() ? std::string() : machine::rates_text({rates});
}

std::vector<std::uint8_t> encoded(const trace::MachineRates& record) {
    std::vector<std::uint8_t> bytes(trace::encoded_bound(record));
    trace::DeltaState state;
    bytes.resize(static_cast<std::size_t>(trace::encode(bytes.data(), record, state) - bytes.data()));
    return bytes;
}

} // namespace

std::vector<std::string> add_usual_rates(const std::vector<std::string>& paths) {
    std::set<std::string> lines; // a damaged file of prices is the same trouble for each trace
    for (const std::string& path : paths)
        try {
            if (const std::string text = missing_rates(path); !text.empty())
                reader::add_definitions(path, encoded({.rates = text}));
        } catch (const reader::Error& error) {
            lines.insert(fmt::format("the trace has no rates of this machine: {}", error.what()));
        }
    return {lines.begin(), lines.end()};
}

} // namespace umadvisor::cli
