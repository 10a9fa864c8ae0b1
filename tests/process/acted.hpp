/// Programs on simcuda, bare and under `--act`, and what the driver did for them.
#pragma once

#include "process.hpp"

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

/// The same; what it prints and how it ends is as bare, with `before_bare` in front of it, which is tried once.
inline Outcome run_unseen(const Folder& folder, const std::string& command, const std::string& act,
                          const std::string& before = "", const std::string& before_bare = "") {
    static std::map<std::string, Outcome> known;
    auto bare = known.find(before_bare + " " + command);
    if (bare == known.end())
        bare = known.emplace(before_bare + " " + command, run_bare(folder, command, before_bare)).first;
    Outcome acted = run_acted(folder, command, act, before);
    BOOST_TEST_CONTEXT(before << " " << command << " under " << act) {
        BOOST_TEST(same(acted, bare->second));
    }
    return acted;
}

/// What simcuda did for a run with SIMCUDA_REPORT=sim.json.
inline Json driver_report(const Folder& folder) {
    return Json::parse(read(folder / "sim.json"));
}

/// Calls and bytes of a report's copies by direction and kinds of memory are what simcuda has counted.
inline void check_copies(const Json& report, const Json& driver) {
    std::map<std::vector<std::string>, std::pair<std::uint64_t, std::uint64_t>> counted, recorded;
    for (const Json& row : driver.at("copies"))
        counted[{row.at("direction"), row.at("source"), row.at("target")}] = {row.at("calls"), row.at("bytes")};
    for (const Json& row : report.at("copies")) {
        auto& to = recorded[{row.at("direction"), row.at("source_memory"), row.at("destination_memory")}];
        to.first += row.at("count").get<std::uint64_t>();
        to.second += row.at("bytes").get<std::uint64_t>();
    }
    BOOST_TEST((recorded == counted), driver.at("copies") << "\n" << report.at("copies"));
    BOOST_TEST(!counted.empty());
}

/// What a run printed, and what simcuda counted beside it.
struct Counted {
    std::string out;
    std::uint64_t host_faults, device_faults;
    std::uint64_t to_device, to_host; ///< bytes

    std::uint64_t moved() const { return to_device + to_host; }
};

/// In front of a program whose looks are allowed a share of the wall clock: where the machine lets us, other
/// programs take none of it meanwhile.
inline const std::string& undisturbed() {
    static const std::string prefix = run(Folder(), "chrt -f 1 true").status == 0 ? " chrt -f 1" : "";
    return prefix;
}

/// Empty `act`: bare. The program ends well.
inline Counted count(const Folder& folder, const std::string& command, const std::string& act,
                     const std::string& config = "") {
    const std::string before = "SIMCUDA_REPORT=sim.json SIMCUDA_CONFIG=" + config + undisturbed();
    const Outcome outcome =
        act.empty() ? run_bare(folder, command, before) : run_acted(folder, command, act, before);
    BOOST_TEST_REQUIRE(outcome.status == 0, command << ": " << outcome.out << outcome.err);
    const Json told = driver_report(folder);
    return {outcome.out, told.at("host_faults"), told.at("device_fault_groups"),
            sum(told.at("bytes_to_device")), sum(told.at("bytes_to_host"))};
}

struct Repair {
    Counted bare, repaired;
};
/// Of a program that prints the same. The trace is that of the repaired run.
inline Repair repair(const Folder& folder, const std::string& command, const std::string& act,
                     const std::string& config = "") {
    const Repair done{count(folder, command, "", config), count(folder, command, act, config)};
    BOOST_TEST(done.repaired.out == done.bare.out);
    return done;
}

} // namespace umadvisor::test
