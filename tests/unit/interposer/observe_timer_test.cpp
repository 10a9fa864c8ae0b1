#include "interposer/observe/device_timer.hpp"
#include "observe_doubles.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(observe_timer)

using namespace umadvisor;
using namespace umadvisor::observe;

namespace {

std::uint64_t next_key = 1000;

} // namespace

struct Drive {
    Drive() {
        install_driver();
        driver().context = reinterpret_cast<CUcontext>(++contexts * 0x1000); // a pool of its own
        device_timer().set_allowance(1'000'000'000'000);
    }
    ~Drive() { // what is under way is read, so that the next test begins with nothing
        driver().finished = true;
        for (int i = 0; i < 40; ++i)
            device_timer().collect();
    }
    static inline std::uint64_t contexts = 0;
    std::uint64_t key = next_key += 7;
    CUstream stream = reinterpret_cast<CUstream>(0x70);

    bool timed() {
        const DeviceSample sample = device_timer().begin(stream, key);
        device_timer().end(sample, stream);
        return sample.number != 0;
    }
    int timed_of(int calls) {
        int count = 0;
        for (int i = 0; i < calls; ++i)
            count += timed();
        return count;
    }
};

BOOST_FIXTURE_TEST_SUITE(device_timer_suite, Drive)

BOOST_AUTO_TEST_CASE(the_first_eight_and_then_one_in_sixty_four) {
    BOOST_TEST(timed_of(8) == 8);
    BOOST_TEST(timed_of(56) == 0); // calls 8 to 63
    BOOST_TEST(timed_of(640) == 10);
}

BOOST_AUTO_TEST_CASE(of_very_many_calls_one_in_a_thousand) {
    const auto timed_and_read = [&](int calls) {
        int count = 0;
        for (int i = 0; i < calls; i += 1024) {
            count += timed_of(1024);
            device_timer().collect();
        }
        return count;
    };
    timed_and_read(4096);
    BOOST_TEST(timed_and_read(61440) == 240); // one in 256
    BOOST_TEST(timed_and_read(10240) == 10);
}

BOOST_AUTO_TEST_CASE(who_counts_by_itself_asks_as_often_as_it_is_told) {
    int count = 0;
    std::uint32_t calls = 1, asked = 0;
    for (std::uint64_t made = 0; made < 640; made += calls) {
        ++asked;
        std::uint32_t next = calls;
        const DeviceSample sample = device_timer().begin(stream, key, next);
        device_timer().end(sample, stream);
        count += sample.number != 0;
        calls = next;
    }
    BOOST_TEST(count == 17); // eight, and one in 64
    BOOST_TEST(asked <= 18u);
}

BOOST_AUTO_TEST_CASE(a_finished_pair_becomes_a_record_with_the_floor_of_nothing) {
    driver().milliseconds = 0.002f;
    const DeviceSample sample = device_timer().begin(stream, key);
    device_timer().end(sample, stream);
    BOOST_REQUIRE(sample.number != 0u);
    driver().finished = false;
    device_timer().collect();
    BOOST_TEST(recorder().device_times.empty());
    driver().finished = true;
    device_timer().collect();
    BOOST_REQUIRE(recorder().device_times.size() == 1u);
    BOOST_TEST(recorder().device_times[0].sample == sample.number);
    BOOST_TEST(recorder().device_times[0].nanoseconds == 2000u);
    BOOST_TEST(recorder().device_times[0].floor_nanoseconds == 2000u);
    const std::uint64_t queries = driver().queries;
    device_timer().collect(); // nothing under way: nothing asked
    BOOST_TEST(driver().queries == queries);
    BOOST_TEST(driver().relaxed_at_every_call);
    BOOST_TEST((driver().thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)); // as it was
    BOOST_TEST(std::all_of(driver().record_streams.begin(), driver().record_streams.end(),
                           [&](CUstream used) { return used == stream; }));
}

BOOST_AUTO_TEST_CASE(a_capturing_stream_gets_no_event) {
    driver().capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    BOOST_TEST(!timed());
    driver().capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    driver().capture_answer = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    BOOST_TEST(!timed());
    driver().capture_answer = CUDA_SUCCESS;
    remove_entry(attach::Entry::cuStreamIsCapturing);
    BOOST_TEST(!timed());
    BOOST_TEST(driver().records == 0u);
}

BOOST_AUTO_TEST_CASE(an_exhausted_pool_times_nothing) {
    driver().finished = false;
    int count = 0;
    for (int i = 0; i < 400; ++i) {
        key = next_key += 7;
        count += timed();
    }
    BOOST_TEST(count == 252); // 256 pairs, 4 of them around nothing
    driver().finished = true;
    for (int i = 0; i < 4; ++i)
        device_timer().collect();
    BOOST_TEST(recorder().device_times.size() == 252u);
    key = next_key += 7;
    BOOST_TEST(timed());
}

BOOST_AUTO_TEST_CASE(events_that_cannot_be_recorded_are_not_read) {
    driver().event_answer = CUDA_ERROR_INVALID_HANDLE; // a stream of another context
    BOOST_TEST(!timed());
    driver().event_answer = CUDA_SUCCESS;
    const DeviceSample sample = device_timer().begin(stream, key);
    driver().event_answer = CUDA_ERROR_INVALID_HANDLE;
    device_timer().end(sample, stream);
    device_timer().collect();
    for (const auto& record : recorder().device_times)
        BOOST_TEST(record.sample != sample.number);
}

BOOST_AUTO_TEST_CASE(a_context_that_came_back_at_its_address_starts_anew) {
    BOOST_TEST(timed());
    const std::uint64_t events = driver().events;
    driver().context_id = 99;
    BOOST_TEST(timed());
    BOOST_TEST(driver().events > events); // those of the old one went with it
    device_timer().collect();
    BOOST_TEST(recorder().device_times.size() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_context_or_an_allowance_nothing_is_timed) {
    driver().context = nullptr;
    BOOST_TEST(!timed());
    driver().context = reinterpret_cast<CUcontext>(0x99000);
    device_timer().set_allowance(0);
    key = next_key += 7;
    BOOST_TEST(timed_of(8) == 0);
}

BOOST_AUTO_TEST_CASE(a_driver_that_keeps_refusing_is_left_alone) { // the last test: it stays so
    driver().event_answer = CUDA_ERROR_INVALID_HANDLE;
    for (int i = 0; i < 200; ++i) {
        key = next_key += 7;
        BOOST_TEST(!timed());
    }
    BOOST_TEST(driver().records < 200u);
    BOOST_TEST(recorder().notes.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
