/// A program of ours bare and under the shim on simcuda: it must not notice.
#pragma once

#include "process.hpp"

namespace umadvisor::test {

inline Outcome bare(const Folder& folder, const std::string& program, const std::string& variant = "") {
    fs::create_directory(folder.path / "bare");
    return run_sim(folder, "cd bare; " + programs + "/" + program, variant);
}

/// Its trace is in x.umtrace.
inline Outcome under_shim(const Folder& folder, const std::string& program, const std::string& environment = "",
                          const std::string& variant = "") {
    return run_sim(
        folder, environment + " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs + "/" + program,
        variant);
}

inline Outcome check_unnoticed(const Folder& folder, const std::string& program,
                               const std::string& environment = "", const std::string& variant = "") {
    const Outcome alone = bare(folder, program, variant);
    Outcome watched = under_shim(folder, program, environment, variant);
    BOOST_TEST(same(watched, alone));
    BOOST_TEST(!alone.out.empty());
    return watched;
}

} // namespace umadvisor::test
