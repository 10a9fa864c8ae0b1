/// Programs that use managed memory, and what traces tell of it.
#pragma once

#include "process.hpp"

#include <boost/test/unit_test.hpp>

namespace umadvisor::test {

/// An example or another program under the shim, and what simcuda counted beside it.
struct Watched {
    Folder folder;
    Outcome outcome;
    nlohmann::json counted;

    explicit Watched(const std::string& program, const std::string& settings = "UMADVISOR_UM_DETAIL=full",
                     const std::string& where = examples + "/sim")
        : outcome(run_sim(
              folder,
              "export SIMCUDA_REPORT=counted; export UMADVISOR_QUIET=1; export UMADVISOR_OUTPUT=x.umtrace; " +
                  settings + " LD_PRELOAD=" + shim + " " + where + "/" + program)) {
        BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
        counted = nlohmann::json::parse(read(folder / "counted"));
    }
    std::vector<nlohmann::json> records(const std::string& kind) const {
        return dump(folder, "x.umtrace", kind);
    }
    std::vector<nlohmann::json> events(const std::string& kind) const {
        std::vector<nlohmann::json> found;
        for (nlohmann::json& event : records("ManagedEvent"))
            if (event.at("kind") == kind)
                found.push_back(std::move(event));
        return found;
    }
    nlohmann::json source() const {
        const auto sources = records("ManagedSource");
        BOOST_TEST_REQUIRE(sources.size() == 1u);
        return sources.front();
    }
};

inline std::uint64_t moved(const std::vector<nlohmann::json>& migrations, int from, int to) {
    std::uint64_t bytes = 0;
    for (const nlohmann::json& event : migrations)
        if (event.at("from") == from && event.at("to") == to)
            bytes += event.at("bytes").get<std::uint64_t>();
    return bytes;
}

inline std::uint64_t counted_faults(const std::vector<nlohmann::json>& faults) {
    std::uint64_t count = 0;
    for (const nlohmann::json& event : faults)
        count += 1 + event.at("count").get<std::uint64_t>();
    return count;
}

} // namespace umadvisor::test
