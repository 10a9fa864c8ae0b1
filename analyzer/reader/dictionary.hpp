/// The definitions of a trace, found before its events are read.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/graph_versions.hpp"
#include "trace/records.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace umadvisor::reader {

class TraceFile;

/// Every dictionary record. Texts are owned here: the dictionary outlives the file, and is not copied. They are
/// plain (trace::Plain::name), whatever the file has: they become parts of lines.
class Dictionary {
public:
    Dictionary() = default;
    Dictionary(const Dictionary&) = delete;
    Dictionary& operator=(const Dictionary&) = delete;

    /// Reads all dictionary chunks; losses are counted in the file's completeness.
    void read(TraceFile& file);

    std::unordered_map<std::uint64_t, trace::Entry> entries;
    std::unordered_map<std::uint64_t, trace::String> strings;
    std::unordered_map<std::uint64_t, trace::Thread> threads;
    std::unordered_map<std::uint64_t, trace::Module> modules;
    std::unordered_map<std::uint64_t, trace::Frame> frames;
    std::unordered_map<std::uint64_t, trace::Function> functions;
    std::unordered_map<std::uint64_t, trace::HostRange> host_ranges;
    std::unordered_map<std::uint64_t, trace::PythonCode> python_codes;
    std::unordered_map<std::uint64_t, std::map<std::uint64_t, std::string_view>> python_lines; ///< by offset
    std::unordered_map<std::uint64_t, trace::PythonFrame> python_frames;
    std::map<std::uint64_t, GraphVersion> graph_versions;
    std::vector<trace::Process> processes;
    std::vector<trace::Device> devices;
    std::vector<trace::Driver> drivers;
    std::vector<trace::Option> options;
    std::vector<trace::UnknownLookup> unknown_lookups;
    std::vector<trace::Runtime> runtimes;
    std::vector<trace::Notice> notices;
    std::vector<trace::Interpreter> interpreters;
    std::vector<trace::ManagedSource> managed_sources; ///< the last is in use
    std::vector<trace::HostReturn> host_returns;
    std::vector<trace::PeerLink> peer_links;
    std::vector<trace::MachineRates> machine_rates;
    std::vector<trace::Recording> recordings;

    /// A driver of the run was simcuda, which models a device.
    bool is_simulated() const {
        return std::ranges::any_of(drivers, [](const trace::Driver& driver) { return driver.simulated != 0; });
    }
    /// Exported driver symbol of an entry point; "unknown" when its definition is lost.
    std::string_view symbol(std::uint64_t entry) const;
    /// Whether an entry point allocates, frees or copies in the order of a stream, judged by its name.
    bool is_stream_ordered(std::uint64_t entry) const {
        const bool* const known = stream_ordered_.find(entry);
        return known != nullptr && *known;
    }
    /// Whether a stack has Python frames.
    bool is_python(ids::StackId stack) const {
        const auto frame = frames.find(stack.number());
        return frame != frames.end() && frame->second.python != 0;
    }
    /// Mangled kernel name; empty where it is not known.
    std::string_view function_symbol(std::uint64_t function) const;
    std::string_view string(std::uint64_t id) const;

private:
    template <class Record>
    void keep(Record record);
    std::string_view own(std::string_view key, std::string_view text);

    std::deque<std::string> texts_;
    FlatMap<bool> stream_ordered_; ///< by entry
};

} // namespace umadvisor::reader
