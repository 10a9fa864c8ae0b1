/// Programs that use managed memory, and what traces tell of it.
#pragma once

#include "process.hpp"

namespace umadvisor::test {

/// An example or another program under the shim, and what simcuda counted beside it.
struct Watched {
    Folder folder;
    Outcome outcome;
    Json counted;

    explicit Watched(const std::string& program, const std::string& settings = "UMADVISOR_UM_DETAIL=full",
                     const std::string& where = examples + "/sim")
        : outcome(run_sim(
              folder,
              "export SIMCUDA_REPORT=counted; export UMADVISOR_QUIET=1; export UMADVISOR_OUTPUT=x.umtrace; " +
                  settings + " LD_PRELOAD=" + shim + " " + where + "/" + program)) {
        BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
        counted = Json::parse(read(folder / "counted"));
    }
    std::vector<Json> records(const std::string& kind, const Json& fields = {}) const {
        return dump(folder, kind, fields);
    }
    std::vector<Json> events(const std::string& kind) const {
        return records("ManagedEvent", {{"kind", kind}});
    }
    Json source() const {
        const auto sources = records("ManagedSource");
        BOOST_TEST_REQUIRE(sources.size() == 1u);
        return sources.front();
    }
};

inline std::uint64_t moved(const std::vector<Json>& migrations, int from, int to) {
    std::uint64_t bytes = 0;
    for (const Json& event : migrations)
        if (event.at("from") == from && event.at("to") == to)
            bytes += event.at("bytes").get<std::uint64_t>();
    return bytes;
}

inline std::uint64_t counted_faults(const std::vector<Json>& faults) {
    std::uint64_t count = 0;
    for (const Json& event : faults)
        count += 1 + event.at("count").get<std::uint64_t>();
    return count;
}

/// The trace has each byte and host fault that simcuda counted, as events and in all.
inline void check_counted(const Watched& watched) {
    const auto migrations = watched.events("migration");
    BOOST_TEST(!migrations.empty());
    const std::uint64_t to_device = sum(watched.counted.at("bytes_to_device")),
                        to_host = sum(watched.counted.at("bytes_to_host"));
    const Json& host_faults = watched.counted.at("host_faults");
    BOOST_TEST(moved(migrations, 0, 1) == to_device);
    BOOST_TEST(moved(migrations, 1, 0) == to_host);
    BOOST_TEST(counted_faults(watched.events("host_fault")) == host_faults);
    BOOST_TEST(
        holds(watched.records("ManagedCounters").back(),
              {{"bytes_to_device", to_device}, {"bytes_to_host", to_host}, {"host_faults", host_faults}}));
}

} // namespace umadvisor::test
