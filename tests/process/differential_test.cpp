/// Random programs under each `--act`: what they print, a digest of every answer and byte, is what it is bare;
/// also while calls that the actions make fail. tools/bench/differential runs many more of them.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_AUTO_TEST_SUITE(process_differential_test)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

// Without what the actions do too, so that a failure set for their calls does not meet the program's own.
const std::string few_steps = sim + "random_program --seed 4 --steps 3000 --without invalid "
                                    "--without queries --without directions --without pinned "
                                    "--without register --without attributes";

Outcome run_bare(const std::string& command, const std::string& config = "") {
    const Folder folder;
    const Outcome bare = run_sim(folder, "SIMCUDA_CONFIG=" + config + " " + command);
    BOOST_TEST(says(bare.out, "digest"), bare.err);
    return bare;
}

/// `bare` is what `command` says without --act; simcuda is set up by `config`, and is the one in `driver`.
void compare(const Outcome& bare, const std::string& command, const std::string& act, const std::string& config,
             const std::string& driver = simcuda) {
    const Folder folder;
    const Outcome acted = run_acted(
        folder, command, act, "LD_LIBRARY_PATH='" + driver + "' SIMCUDA_CONFIG=" + config + " timeout 100");
    BOOST_TEST(same(acted, bare), act << " " << config << ": " << acted.err);
}

/// Once, later, and always; one of the answers looks like a good one.
void compare_failing(const std::string& act, const std::string& entry) {
    static const Outcome bare = run_bare(few_steps);
    for (const char* failure : {":1:719", ":4:600", ":0:719"})
        compare(bare, few_steps, act, "fail=" + entry + failure);
}

std::string steps_of(int seed) {
    return sim + "random_program --steps 2500 --seed " + std::to_string(seed);
}

} // namespace

BOOST_DATA_TEST_CASE(programs_get_the_same,
                     data::make({"prefetch", "relieve", "rewrite=all", "rewrite=64K+", "stage",
                                 "auto,rewrite=all", "reuse", "pinned", "pools", "join", "batch", "skip",
                                 "auto"}) *
                         data::make({1, 3}),
                     act, seed) {
    compare(run_bare(steps_of(seed)), steps_of(seed), act, "");
}

/// What the actions do has to be ordered by what CUDA promises, and by nothing that only happens to be so.
BOOST_DATA_TEST_CASE(programs_get_the_same_of_a_driver_that_works_late,
                     data::make({"prefetch", "relieve", "rewrite=all", "stage", "auto,rewrite=all", "reuse",
                                 "pinned", "pools", "join", "batch", "skip", "auto"}) *
                         data::make({1, 3}),
                     act, seed) {
    compare(run_bare(steps_of(seed)), steps_of(seed), act, "", simcuda + "-late");
}

BOOST_DATA_TEST_CASE(programs_get_the_same_on_a_card_that_is_too_small, data::make({1, 3}), seed) {
    compare(run_bare(steps_of(seed)), steps_of(seed), "prefetch", "capacity=20M");
    // Arrays, which stay on the card, have to fit it: it only looks full.
    compare(run_bare(steps_of(seed)), steps_of(seed), "rewrite=spill --pretend-memory 1M", "");
}

BOOST_DATA_TEST_CASE(calls_of_prefetch_may_fail,
                     data::make({"cuMemPrefetchAsync", "cuCtxGetDevice", "cuStreamIsCapturing",
                                 "cuThreadExchangeStreamCaptureMode", "cuDeviceGetCount",
                                 "cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "cuKernelGetParamInfo",
                                 "cuPointerGetAttribute"}),
                     entry) {
    compare_failing("prefetch", entry);
}

BOOST_DATA_TEST_CASE(calls_of_stage_may_fail,
                     data::make({"cuMemHostAlloc", "cuStreamGetCtx", "cuStreamIsCapturing",
                                 "cuThreadExchangeStreamCaptureMode", "cuEventSynchronize", "cuEventQuery",
                                 "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}),
                     entry) {
    compare_failing("stage", entry);
}

BOOST_DATA_TEST_CASE(calls_of_reuse_may_fail,
                     data::make({"cuCtxGetDevice", "cuMemGetInfo_v2", "cuPointerGetAttributes", "cuEventQuery",
                                 "cuCtxPushCurrent_v2"}),
                     entry) {
    compare_failing("reuse", entry);
}

/// The program makes these itself: they fail for it, and for the actions, always.
BOOST_DATA_TEST_CASE(calls_of_both_may_fail,
                     data::make({"prefetch", "stage"}) *
                         data::make({"cuEventCreate", "cuEventRecord", "cuStreamSynchronize",
                                     "cuMemPrefetchAsync_v2"}),
                     act, entry) {
    const std::string config = std::string("fail=") + entry + ":0:719";
    compare(run_bare(few_steps, config), few_steps, act, config);
}

BOOST_AUTO_TEST_SUITE_END()
