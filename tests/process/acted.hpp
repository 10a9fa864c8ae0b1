/// Programs on simcuda, bare and under `--act`, and what the driver did for them.
#pragma once

#include "process.hpp"

#include <boost/test/unit_test.hpp>

namespace umadvisor::test {

/// `before` is put in front of the command. Bare, a program ends well.
inline Outcome run_bare(const Folder& folder, const std::string& command, const std::string& before = "") {
    const Outcome bare = run_sim(folder, before + " " + command);
    BOOST_TEST(bare.status == 0, bare.out << bare.err);
    return bare;
}

/// The same under the shim; its trace is in x.umtrace.
inline Outcome run_acted(const Folder& folder, const std::string& command, const std::string& act,
                         const std::string& before = "") {
    return run_sim(folder, before + " " + advisor + " run -f -o x.umtrace --act " + act + " -- " + command);
}

/// What a run printed, and what simcuda counted beside it.
struct Counted {
    std::string out;
    std::uint64_t host_faults, device_faults;
    std::uint64_t to_device, to_host; ///< bytes

    std::uint64_t moved() const { return to_device + to_host; }
};

/// Empty `act`: bare. The program ends well.
inline Counted count(const Folder& folder, const std::string& command, const std::string& act,
                     const std::string& config = "") {
    const std::string before = "SIMCUDA_REPORT=sim.json SIMCUDA_CONFIG=" + config;
    const Outcome outcome =
        act.empty() ? run_bare(folder, command, before) : run_acted(folder, command, act, before);
    BOOST_TEST_REQUIRE(outcome.status == 0, command << ": " << outcome.out << outcome.err);
    const auto told = nlohmann::json::parse(read(folder / "sim.json"));
    return {outcome.out, told.at("host_faults"), told.at("device_fault_groups"),
            sum(told.at("bytes_to_device")), sum(told.at("bytes_to_host"))};
}

} // namespace umadvisor::test
