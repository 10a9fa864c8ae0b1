/// A program of ours bare and under the shim on simcuda: it must not notice.
#pragma once

#include "process.hpp"

#include <boost/test/unit_test.hpp>

namespace umadvisor::test {

inline Outcome bare(const Folder& folder, const std::string& program) {
    fs::create_directory(folder.path / "bare");
    return run_sim(folder, "cd bare; " + programs + "/" + program);
}

/// Its trace is in x.umtrace.
inline Outcome under_shim(const Folder& folder, const std::string& program,
                          const std::string& environment = "") {
    return run_sim(folder, environment + " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs +
                               "/" + program);
}

/// Output and status must be the same.
inline void check_unnoticed(const Outcome& alone, const Outcome& watched) {
    BOOST_TEST(watched.status == alone.status, watched.err);
    BOOST_TEST(watched.out == alone.out);
    BOOST_TEST(!alone.out.empty());
}

inline Outcome check_unnoticed(const Folder& folder, const std::string& program,
                               const std::string& environment = "") {
    const Outcome alone = bare(folder, program);
    Outcome watched = under_shim(folder, program, environment);
    check_unnoticed(alone, watched);
    return watched;
}

} // namespace umadvisor::test
