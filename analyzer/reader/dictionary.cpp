#include "analyzer/reader/dictionary.hpp"

#include "analyzer/reader/chunk_walk.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/trace_file.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace umadvisor::reader {
namespace {

/// Visits a record's fields and moves each text to storage that stays.
template <class Own>
struct TextKeeper {
    Own own;
    template <class T>
    void number(std::string_view, T&) {}
    void time(std::string_view, std::uint64_t&) {}
    void address(std::string_view, std::uint64_t&) {}
    void handle(std::string_view, auto&) {}
    void text(std::string_view key, std::string_view& value) { value = own(key, value); }
    void numbers(std::string_view, auto&) {}
};

/// Each of a list, which zeros end.
std::string plain_arguments(std::string_view list) {
    std::string result;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find('\0'), list.size());
        result += plain(std::string(list.substr(0, end)), trace::Plain::name);
        if (end < list.size())
            result += '\0';
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return result;
}

} // namespace

std::string_view Dictionary::own(std::string_view key, std::string_view text) {
    if (text.empty())
        return {};
    std::string& kept = texts_.emplace_back(text);
    if (key == "command_line") // zeros stand between the arguments
        kept = plain_arguments(text);
    else if (key != "build_id" && key != "lines" && key != "rates") // bytes, and JSON that is read as such
        kept = plain(std::move(kept), trace::Plain::name);
    return kept;
}

template <class Record>
void Dictionary::keep(Record record) {
    auto owner = [this](std::string_view key, std::string_view text) { return own(key, text); };
    TextKeeper<decltype(owner)> keeper{owner};
    Record::fields(record, keeper);
    if constexpr (std::is_same_v<Record, trace::Entry>) {
        entries.insert_or_assign(record.id, record);
        stream_ordered_[record.id] = record.symbol.find("Async") != std::string_view::npos;
    } else if constexpr (std::is_same_v<Record, trace::String>)
        strings.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::Thread>)
        threads.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::Module>)
        modules.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::Frame>)
        frames.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::Function>)
        functions.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::HostRange>)
        host_ranges.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::Process>)
        processes.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Device>)
        devices.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Driver>)
        drivers.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Option>)
        options.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::UnknownLookup>)
        unknown_lookups.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Runtime>)
        runtimes.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Notice>)
        notices.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Interpreter>)
        interpreters.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::ManagedSource>)
        managed_sources.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::HostReturn>)
        host_returns.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::PeerLink>)
        peer_links.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::MachineRates>)
        machine_rates.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::Recording>)
        recordings.push_back(record);
    else if constexpr (std::is_same_v<Record, trace::PythonCode>)
        python_codes.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::PythonLines>)
        python_lines[record.code].insert_or_assign(record.offset, record.lines);
    else if constexpr (std::is_same_v<Record, trace::PythonFrame>)
        python_frames.insert_or_assign(record.id, record);
    else if constexpr (std::is_same_v<Record, trace::GraphNode>)
        graph_versions[record.version].add(record);
}

void Dictionary::read(TraceFile& file) {
    for_each_definition(file, [this](const auto& record) { keep(record); });
}

std::string_view Dictionary::symbol(std::uint64_t entry) const {
    const auto found = entries.find(entry);
    return found == entries.end() ? "unknown" : found->second.symbol;
}

std::string_view Dictionary::function_symbol(std::uint64_t function) const {
    const auto found = functions.find(function);
    return found == functions.end() ? std::string_view{} : found->second.symbol;
}

std::string_view Dictionary::string(std::uint64_t id) const {
    const auto found = strings.find(id);
    return found == strings.end() ? std::string_view{} : found->second.text;
}

} // namespace umadvisor::reader
