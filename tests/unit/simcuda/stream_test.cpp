#include "tests/unit/simcuda/driver_library.hpp"

BOOST_AUTO_TEST_SUITE(simcuda_stream)

using namespace simcuda;

constexpr std::size_t size = 16 << 20;

struct StreamFixture : DriverFixture {
    void upload(CUstream stream) { DO(cuMemcpyHtoDAsync_v2, device, host, size, stream); }
    void download(CUstream stream) { DO(cuMemcpyDtoHAsync_v2, host, device, size, stream); }
    std::uint64_t synchronized(std::uint64_t since) {
        DRIVER(cuCtxSynchronize)();
        return now() - since;
    }
    const CUstream streams[2]{make_stream(), make_stream()};
    const CUevent events[2]{make_event(CU_EVENT_DEFAULT), make_event(CU_EVENT_DEFAULT)};
    const CUdeviceptr device = allocate(size);
    void* const host = pin(size);
};

BOOST_FIXTURE_TEST_SUITE(streams_and_events, StreamFixture)

BOOST_AUTO_TEST_CASE(the_two_directions_overlap) {
    auto since = now();
    upload(streams[0]);
    download(streams[0]);
    const auto serial = synchronized(since);
    since = now();
    upload(streams[0]);
    download(streams[1]);
    const auto parallel = synchronized(since);
    BOOST_TEST(parallel * 3 < serial * 2);
}

BOOST_AUTO_TEST_CASE(one_direction_does_not) {
    auto since = now();
    upload(streams[0]);
    const auto one = synchronized(since);
    since = now();
    upload(streams[0]);
    upload(streams[1]);
    BOOST_TEST(synchronized(since) * 2 > one * 3);
}

BOOST_AUTO_TEST_CASE(events_time_what_lies_between_them) {
    DRIVER(cuEventRecord)(events[0], streams[0]);
    upload(streams[0]);
    DRIVER(cuEventRecord)(events[1], streams[0]);
    float milliseconds = 0;
    BOOST_TEST(DRIVER(cuEventElapsedTime)(&milliseconds, events[0], events[1]) == CUDA_ERROR_NOT_READY);
    DO(cuEventSynchronize, events[1]);
    DO(cuEventElapsedTime, &milliseconds, events[0], events[1]);
    BOOST_TEST(milliseconds > 0.25f);
    BOOST_TEST(milliseconds < 0.40f);
}

BOOST_AUTO_TEST_CASE(polling_ends) {
    upload(streams[0]);
    DRIVER(cuEventRecord)(events[0], streams[0]);
    unsigned polls = 0;
    while (DRIVER(cuEventQuery)(events[0]) == CUDA_ERROR_NOT_READY)
        BOOST_REQUIRE(++polls < 100'000u);
    BOOST_TEST(polls > 10u);
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_an_event) {
    upload(streams[0]);
    DRIVER(cuEventRecord)(events[0], streams[0]);
    DRIVER(cuStreamWaitEvent)(streams[1], events[0], 0);
    const auto since = now();
    DRIVER(cuStreamSynchronize)(streams[1]);
    BOOST_TEST(now() - since > 200'000u);
}

BOOST_AUTO_TEST_CASE(the_legacy_stream_waits_for_blocking_streams_only) {
    const CUstream blocking = make_stream(CU_STREAM_DEFAULT);
    upload(streams[0]);
    DO(cuStreamQuery, nullptr);
    upload(blocking);
    BOOST_TEST(DRIVER(cuStreamQuery)(nullptr) == CUDA_ERROR_NOT_READY);
    DO(cuStreamQuery_ptsz, nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
