/// A library with an address whose functions and lines are known, to be taken apart by objcopy.
#pragma once

#include "analyzer/symbols/options.hpp"
#include "analyzer/symbols/symbolizer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::test {

struct Sample {
    /// "plain", "dwarf4", "split": as built beside the test.
    explicit Sample(const std::string& name);

    std::string path;          ///< of the library as it was linked, with all of its debug information
    std::string build_id;      ///< raw
    std::uint64_t address = 0; ///< virtual, to return to: in sample::inlined, inlined into sample::outer
    std::uint64_t last = 0;    ///< in code behind that of the last function with debug information
    int inlined_line = 0, outer_line = 0;

    /// ".build-id/xx/yyyy.debug"
    std::string debug_name() const;
};

/// A folder of its own, gone at the end.
struct SampleFolder {
    SampleFolder();
    ~SampleFolder();
    SampleFolder(const SampleFolder&) = delete;
    SampleFolder& operator=(const SampleFolder&) = delete;
    /// A path in it, with the folders that lead there.
    std::string operator/(const std::string& name) const;
    std::string path;
};

/// Runs objcopy; the test fails when it does.
void objcopy(const std::string& arguments);

std::vector<std::uint8_t> bytes_of(const std::string& path);

struct LookedUp {
    std::vector<symbols::CodePlace> places;
    std::vector<std::string> warnings;
    /// "FUNCTION:LINE FUNCTION:LINE"
    std::string text() const;
};

/// Looks the address up in a trace whose module was at `path`.
LookedUp look_up(const Sample& sample, const std::string& path, const symbols::Options& options = {});

/// What text() is where the debug information was found.
std::string whole_text(const Sample& sample);

} // namespace umadvisor::test
