#include "interposer/act/stage_ring.hpp"
#include "interposer/observe/contexts.hpp"
#include "observe_doubles.hpp"
#include "policy/stage_plan.hpp"
#include "tests/unit/in_threads.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <thread>

BOOST_AUTO_TEST_SUITE(act_stage)

using namespace umadvisor;
using namespace umadvisor::act;
using namespace umadvisor::policy;
using observe::driver;
using trace::Memory;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(long_copies_between_pageable_and_device_memory_are_staged) {
    trace::Copy copy{.bytes = staged_to_device_from,
                     .source_memory = Memory::pageable,
                     .destination_memory = Memory::device};
    BOOST_TEST((stage_direction(copy) == StageDirection::to_device));
    copy.bytes = staged_to_device_from - 1;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.bytes = staged_to_host_from;
    std::swap(copy.source_memory, copy.destination_memory);
    BOOST_TEST((stage_direction(copy) == StageDirection::to_host));
    copy.bytes = staged_to_host_from - 1;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.bytes = 1u << 30;
    copy.captured = 1;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.captured = 0;
    copy.batch = 1;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.batch = 0;
    copy.width = 1u << 20;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
}

BOOST_AUTO_TEST_CASE(no_other_memory_is) {
    for (const Memory from : {Memory::unknown, Memory::pageable, Memory::pinned, Memory::registered,
                              Memory::device, Memory::managed, Memory::array})
        for (const Memory to : {Memory::unknown, Memory::pageable, Memory::pinned, Memory::registered,
                                Memory::device, Memory::managed, Memory::array}) {
            trace::Copy copy{.bytes = 1u << 30, .source_memory = from, .destination_memory = to};
            const bool staged = (from == Memory::pageable && to == Memory::device) ||
                                (from == Memory::device && to == Memory::pageable);
            BOOST_TEST((stage_direction(copy) != StageDirection::none) == staged);
        }
}

BOOST_DATA_TEST_CASE(pieces_cover_a_copy_once_and_fit_a_buffer,
                     data::make({std::uint64_t{1}, std::uint64_t{2u << 20}, std::uint64_t{(2u << 20) + 1},
                                 std::uint64_t{(4u << 20) - 1}, std::uint64_t{16u << 20},
                                 std::uint64_t{(16u << 20) + 1}, std::uint64_t{1u << 30} + 12'345,
                                 std::uint64_t{5} << 40}),
                     bytes) {
    const StagePlan plan(bytes, stage_buffer_bytes);
    std::uint64_t covered = 0;
    const std::size_t looked_at = std::min<std::size_t>(plan.count(), 2000);
    for (std::size_t piece = 0; piece < looked_at; ++piece) {
        BOOST_TEST_REQUIRE(plan.offset(piece) == covered);
        BOOST_TEST_REQUIRE(plan.bytes(piece) > 0u);
        BOOST_TEST_REQUIRE(plan.bytes(piece) <= stage_buffer_bytes);
        if (piece + 1 != plan.count())
            BOOST_TEST_REQUIRE(plan.bytes(piece) >= stage_piece_least);
        covered += plan.bytes(piece);
    }
    if (looked_at == plan.count())
        BOOST_TEST(covered == bytes);
    BOOST_TEST(plan.offset(plan.count() - 1) + plan.bytes(plan.count() - 1) == bytes);
}

BOOST_AUTO_TEST_CASE(rows_stay_whole) {
    for (const std::uint64_t row : {std::uint64_t{1024}, std::uint64_t{100'003}, std::uint64_t{2u << 20}}) {
        const StagePlan plan(row * 333, stage_buffer_bytes, row);
        std::uint64_t covered = 0;
        for (std::size_t piece = 0; piece < plan.count(); ++piece) {
            BOOST_TEST_REQUIRE(plan.offset(piece) == covered);
            BOOST_TEST_REQUIRE(plan.bytes(piece) % row == 0u);
            BOOST_TEST_REQUIRE(plan.bytes(piece) <= stage_buffer_bytes);
            covered += plan.bytes(piece);
        }
        BOOST_TEST(covered == row * 333);
    }
}

BOOST_AUTO_TEST_CASE(copies_of_rows_by_the_table) {
    trace::Copy copy{.source_memory = trace::Memory::pageable,
                     .destination_memory = trace::Memory::device,
                     .width = 4096,
                     .height = 2048,
                     .depth = 1};
    copy.bytes = copy.width * copy.height;
    copy.source_pitch = 5000;
    copy.destination_pitch = 4096;
    BOOST_TEST((stage_direction(copy) == StageDirection::to_device));
    BOOST_TEST(stage_rows(copy, StageDirection::to_device).host_pitch == 5000u);
    BOOST_TEST(stage_rows(copy, StageDirection::to_device).device_pitch == 4096u);
    BOOST_TEST(stage_rows(copy, StageDirection::to_host).host_pitch == 4096u);
    copy.source_pitch = 4096; // rows without a gap are one piece of memory
    BOOST_TEST(stage_rows(copy, StageDirection::to_device).width == 0u);
    copy.depth = 2;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.depth = 1;
    copy.source_pitch = 4095;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.source_pitch = 4096;
    copy.width = staged_row_least - 1;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
    copy.width = copy.source_pitch = copy.destination_pitch = staged_row_most + 1;
    BOOST_TEST((stage_direction(copy) == StageDirection::none));
}

BOOST_AUTO_TEST_CASE(long_copies_go_through_the_cache_but_for_what_nothing_is_written_after) {
    const auto is = [](StageManner manner, unsigned threads, bool past_caches) {
        return manner.threads == threads && manner.past_caches == past_caches;
    };
    constexpr std::size_t last = stage_cached_from - 1;
    BOOST_TEST(is(stage_manner(0, stage_cached_from, true), stage_threads, false));
    BOOST_TEST(is(stage_manner(last - stage_buffers, stage_cached_from, true), stage_threads, false));
    BOOST_TEST(is(stage_manner(last - stage_buffers + 1, stage_cached_from, true), stage_threads, true));
    BOOST_TEST(is(stage_manner(last, stage_cached_from, true), stage_threads, true));
    BOOST_TEST(is(stage_manner(0, stage_cached_from, false), stage_few_threads, true));
    BOOST_TEST(is(stage_manner(0, stage_cached_from - 1, true), stage_few_threads, true));
}

BOOST_AUTO_TEST_CASE(a_core_is_left_to_the_caller) {
    BOOST_TEST(stage_threads_for(0) == 0u);
    BOOST_TEST(stage_threads_for(1) == 0u);
    BOOST_TEST(stage_threads_for(2) == 1u);
    BOOST_TEST(stage_threads_for(1000) == stage_threads);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pool)

namespace {

std::vector<char> pattern(std::size_t bytes, unsigned seed) {
    std::vector<char> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<char>((i * 2654435761u + seed) >> 13);
    return data;
}

} // namespace

BOOST_AUTO_TEST_CASE(all_bytes_are_copied_past_the_caches_and_no_others) {
    const auto from = pattern(1024, 5);
    for (std::size_t first = 0; first < 70; ++first)
        for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 127u, 200u, 700u})
            for (const std::size_t to_first : {std::size_t{0}, std::size_t{1}, first}) {
                std::vector<char> to(1024, 'x'), expected = to;
                copy_past_caches(to.data() + to_first, from.data() + first, bytes);
                std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), bytes,
                            expected.begin() + static_cast<std::ptrdiff_t>(to_first));
                BOOST_TEST_REQUIRE((to == expected));
            }
}

#ifdef __x86_64__
BOOST_AUTO_TEST_CASE(lines_are_streamed_on_old_processors_too) {
    alignas(64) static char to[1024];
    const auto from = pattern(1024 + 7, 6);
    const auto check = [&](void (*stream)(char*, const char*, std::size_t) noexcept) {
        std::fill(std::begin(to), std::end(to), 'x');
        stream(to + 64, from.data() + 7, 13);
        BOOST_TEST(std::equal(to + 64, to + 14 * 64, from.begin() + 7));
        BOOST_TEST((to[63] == 'x' && to[14 * 64] == 'x'));
    };
    check(&detail::stream_lines);
    if (__builtin_cpu_supports("avx512f"))
        check(&detail::stream_lines_wide);
}
#endif

BOOST_AUTO_TEST_CASE(rows_are_packed_and_unpacked) {
    StagePool alone; // never started: whoever waits copies
    constexpr std::size_t width = 100'003, rows = 7, pitch = 100'100;
    const auto from = pattern(rows * pitch, 9);
    for (const bool past_caches : {true, false}) {
        std::vector<char> packed(rows * width), back(rows * pitch, 'x'), expected = back;
        StageJob pack{.to = packed.data(),
                      .from = from.data(),
                      .bytes = packed.size(),
                      .manner = {stage_threads, past_caches},
                      .width = width,
                      .to_pitch = width,
                      .from_pitch = pitch};
        alone.put(pack);
        alone.wait(pack);
        StageJob unpack{.to = back.data(),
                        .from = packed.data(),
                        .bytes = packed.size(),
                        .manner = {stage_threads, past_caches},
                        .width = width,
                        .to_pitch = pitch,
                        .from_pitch = width};
        alone.put(unpack);
        alone.wait(unpack);
        for (std::size_t row = 0; row < rows; ++row)
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * pitch), width,
                        expected.begin() + static_cast<std::ptrdiff_t>(row * pitch));
        BOOST_TEST((back == expected));
    }
}

/// Those that take part in all jobs, and those that do not, both get to know of theirs.
BOOST_AUTO_TEST_CASE(jobs_of_few_and_of_all_threads_follow_each_other) {
    static StagePool pool;
    BOOST_TEST_REQUIRE(pool.start(stage_threads));
    const auto from = pattern(8 * stage_slice_bytes, 4);
    for (unsigned round = 0; round < 50; ++round) {
        std::vector<char> to[4];
        StageJob jobs[4];
        for (unsigned i = 0; i < 4; ++i) {
            to[i].resize(from.size());
            jobs[i] = {to[i].data(),
                       from.data(),
                       from.size(),
                       {(i + round) % 2 == 0 ? stage_threads : stage_few_threads, true}};
            pool.put(jobs[i]);
        }
        for (unsigned i = 0; i < 4; ++i) {
            pool.wait(jobs[i]);
            BOOST_TEST_REQUIRE((to[i] == from));
        }
    }
}

BOOST_AUTO_TEST_CASE(whoever_waits_copies_where_no_thread_does) {
    StagePool alone; // never started
    const auto from = pattern(3 * stage_slice_bytes + 5, 1), more = pattern(7, 2);
    std::vector<char> to(from.size()), rest(more.size());
    StageJob first{to.data(), from.data(), from.size()}, second{rest.data(), more.data(), more.size()};
    alone.put(first);
    alone.put(second);
    BOOST_TEST(!alone.finished(first));
    alone.wait(second);
    BOOST_TEST(alone.finished(second));
    alone.wait(first);
    BOOST_TEST((to == from));
    BOOST_TEST((rest == more));
}

BOOST_AUTO_TEST_CASE(threads_share_the_jobs_of_many) {
    static StagePool pool; // its threads never end
    BOOST_TEST_REQUIRE(pool.start(3));
    std::atomic<unsigned> wrong{0};
    test::in_threads(3, [&](unsigned caller) {
        for (unsigned round = 0; round < 40; ++round) {
            const auto from = pattern((round % 5) * stage_slice_bytes + 1 + caller, round);
            std::vector<char> to(from.size()), again(from.size());
            StageJob jobs[] = {{to.data(), from.data(), from.size()}, {again.data(), from.data(), from.size()}};
            for (StageJob& job : jobs)
                pool.put(job);
            for (StageJob& job : jobs)
                pool.wait(job);
            wrong += to != from || again != from || !pool.finished(jobs[0]);
        }
    });
    BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(threads_copy_while_nobody_waits) {
    static StagePool pool;
    BOOST_TEST_REQUIRE(pool.start(1));
    const auto from = pattern(2 * stage_slice_bytes, 3);
    std::vector<char> to(from.size());
    StageJob job{to.data(), from.data(), from.size()};
    pool.put(job);
    while (!pool.finished(job))
        std::this_thread::yield();
    BOOST_TEST((to == from));
}

BOOST_AUTO_TEST_SUITE_END()

/// Contexts of their own for each test: rings live as long as their contexts.
struct Rings {
    Rings() { observe::install_driver(); }
    ~Rings() {
        expect_to_pass(0);
        for (const CUcontext context : made)
            forget_ring(observe::retire_context(context));
    }
    CUcontext context() {
        static std::uintptr_t handle = 0x100'0000;
        made.push_back(reinterpret_cast<CUcontext>(handle += 64));
        return made.back();
    }
    StageRing* borrow(CUcontext context, std::uint64_t row = 0) { return borrow_ring(context, row, answer); }
    std::vector<CUcontext> made;
    CUresult answer = CUDA_ERROR_UNKNOWN;
};

BOOST_FIXTURE_TEST_SUITE(ring, Rings)

BOOST_AUTO_TEST_CASE(a_context_has_one_and_it_serves_one_copy_at_a_time) {
    const CUcontext mine = context(), another = context();
    StageRing* const ring = borrow(mine);
    BOOST_TEST_REQUIRE(ring != nullptr);
    BOOST_TEST(answer == CUDA_SUCCESS);
    BOOST_TEST(borrow(mine) == nullptr);
    BOOST_TEST(answer == CUDA_SUCCESS);
    StageRing* const other = borrow(another);
    BOOST_TEST(other != nullptr);
    BOOST_TEST(other != ring);
    return_ring(*ring);
    BOOST_TEST(borrow(mine) == ring);
    BOOST_TEST(driver().host_allocated == 2u);
    std::set<const char*> buffers;
    for (const StageBuffer& buffer : ring->buffers) {
        BOOST_TEST(!buffer.in_flight);
        buffers.insert(buffer.at);
    }
    BOOST_TEST(buffers.size() == stage_buffers);
    BOOST_TEST(*buffers.rbegin() - *buffers.begin() ==
               static_cast<std::ptrdiff_t>((stage_buffers - 1) * stage_first_buffer_bytes));
}

BOOST_AUTO_TEST_CASE(one_that_much_has_passed_grows_once) {
    const CUcontext mine = context();
    StageRing* const ring = borrow(mine);
    BOOST_TEST_REQUIRE(ring != nullptr);
    BOOST_TEST(ring->buffer_bytes == stage_first_buffer_bytes);
    ring->buffers[3].in_flight = true; // in memory that stays
    ring->passed = stage_grown_after;
    return_ring(*ring);
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST_REQUIRE(borrow(mine) == ring);
        BOOST_TEST(ring->buffer_bytes == stage_buffer_bytes);
        BOOST_TEST(ring->buffers[1].at - ring->buffers[0].at == std::ptrdiff_t{stage_buffer_bytes});
        ring->passed = stage_grown_after;
        return_ring(*ring);
    }
    BOOST_TEST(!ring->buffers[3].in_flight);
    BOOST_TEST(driver().host_allocated == 2u);
    BOOST_TEST(driver().host_freed == 0u);
}

BOOST_AUTO_TEST_CASE(one_that_much_is_expected_to_pass_is_large_at_once) {
    expect_to_pass(stage_grown_after - 1);
    StageRing* const small = borrow(context());
    BOOST_TEST_REQUIRE(small != nullptr);
    BOOST_TEST(small->buffer_bytes == stage_first_buffer_bytes);
    expect_to_pass(stage_grown_after);
    StageRing* const large = borrow(context());
    BOOST_TEST_REQUIRE(large != nullptr);
    BOOST_TEST(large->buffer_bytes == stage_buffer_bytes);
    BOOST_TEST(large->buffers[1].at - large->buffers[0].at == std::ptrdiff_t{stage_buffer_bytes});
    BOOST_TEST(driver().host_allocated == 2u);
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_fit_make_it_grow_or_are_left_alone) {
    const CUcontext mine = context(), poor = context();
    StageRing* const ring = borrow(mine, staged_row_most);
    BOOST_TEST_REQUIRE(ring != nullptr);
    BOOST_TEST(ring->buffer_bytes == stage_buffer_bytes);

    StageRing* const small = borrow(poor);
    BOOST_TEST_REQUIRE(small != nullptr);
    return_ring(*small);
    driver().host_answer = CUDA_ERROR_OUT_OF_MEMORY;
    BOOST_TEST(borrow(poor, stage_first_buffer_bytes + 1) == nullptr);
    BOOST_TEST(answer == CUDA_SUCCESS);
    BOOST_TEST(borrow(poor) == small);
    BOOST_TEST(small->buffer_bytes == stage_first_buffer_bytes);
}

BOOST_AUTO_TEST_CASE(a_context_that_went_takes_its_ring_along) {
    const CUcontext mine = context();
    StageRing* const ring = borrow(mine);
    BOOST_TEST_REQUIRE(ring != nullptr);
    ring->buffers[3].in_flight = true;
    return_ring(*ring);
    forget_ring(observe::retire_context(mine));
    StageRing* const fresh = borrow(mine); // the handle came back
    BOOST_TEST_REQUIRE(fresh != nullptr);
    BOOST_TEST(driver().host_allocated == 2u);
    BOOST_TEST(driver().host_freed == 0u); // it went with the context
    BOOST_TEST(!fresh->buffers[3].in_flight);
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_bounded) {
    for (unsigned i = 0; i < stage_rings; ++i)
        BOOST_TEST(borrow(context()) != nullptr);
    BOOST_TEST(borrow(context()) == nullptr);
    BOOST_TEST(answer == CUDA_SUCCESS); // no failure
    BOOST_TEST(driver().host_allocated == stage_rings);
}

BOOST_AUTO_TEST_CASE(what_the_driver_refuses_leaves_nothing_behind) {
    const CUcontext mine = context();
    driver().host_answer = CUDA_ERROR_OUT_OF_MEMORY;
    BOOST_TEST(borrow(mine) == nullptr);
    BOOST_TEST(answer == CUDA_ERROR_OUT_OF_MEMORY);
    driver().host_answer = CUDA_SUCCESS;
    driver().event_refused_at = 3;
    BOOST_TEST(borrow(mine) == nullptr);
    BOOST_TEST(answer == CUDA_ERROR_OUT_OF_MEMORY);
    BOOST_TEST(driver().host_freed == 1u);
    BOOST_TEST(driver().events_destroyed == 2u);
    BOOST_TEST(borrow(mine) != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
