/// A context on device 0 of a program that works on another device: a note of the text report.
#include "command_run.hpp"
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_default_context)

using namespace umadvisor;
using namespace umadvisor::test;

struct TwoDevices : Scenario {
    const std::uint64_t kernel = function("_Z4stepPf");

    TwoDevices() {
        make_context(0);
        make_context(1);
        use_device(1);
        launch(kernel, {allocate(64 * mib, Memory::device, {.device = 1})});
    }
    void make_context(std::uint64_t device) {
        trace::Context record{
            .action = trace::ContextAction::retain_primary, .context = 0x900 + device, .device = device};
        call(record, "cuDevicePrimaryCtxRetain", 200 * ms);
    }
    bool is_noted() {
        return run({"report", path()}).out.find("device 0 has a context that nothing used") !=
               std::string::npos;
    }
};

BOOST_FIXTURE_TEST_CASE(all_work_is_on_the_other_device, TwoDevices) {
    allocate(mib, Memory::device, {.device = 0}); // a library's
    allocate(64 * mib, Memory::pinned, {.device = 0});
    const std::string text = run({"report", path()}).out;
    BOOST_TEST(text.find("(200 ms to make it); it takes memory of that device: choose the device before any "
                         "other call (cudaSetDevice") != std::string::npos,
               text);
}

BOOST_FIXTURE_TEST_CASE(a_launch_went_there, TwoDevices) {
    use_device(0);
    launch(kernel, {});
    BOOST_TEST(!is_noted());
}

BOOST_FIXTURE_TEST_CASE(a_small_copy_went_there, TwoDevices) {
    use_device(0);
    copy(4, 1000, {});
    BOOST_TEST(!is_noted());
}

BOOST_FIXTURE_TEST_CASE(memory_is_there, TwoDevices) {
    allocate(8 * mib, Memory::device, {.device = 0});
    BOOST_TEST(!is_noted());
}

BOOST_FIXTURE_TEST_CASE(the_other_device_reaches_it, TwoDevices) {
    call(trace::Peer{.device = 1, .peer = 0}, "cuCtxEnablePeerAccess");
    BOOST_TEST(!is_noted());
}

BOOST_FIXTURE_TEST_CASE(not_all_is_recorded, TwoDevices) {
    pause();
    BOOST_TEST(!is_noted());
}

BOOST_FIXTURE_TEST_CASE(the_context_of_the_other_device_is_the_only_one, Scenario) {
    trace::Context record{.action = trace::ContextAction::retain_primary, .context = 0x901, .device = 1};
    call(record, "cuDevicePrimaryCtxRetain");
    use_device(1);
    launch(function("_Z4stepPf"), {});
    BOOST_TEST(run({"report", path()}).out.find("that nothing used") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
