#include "interposer/observe/regular_content.hpp"
#include "managed_like.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_content)

using namespace umadvisor;
using namespace umadvisor::observe;
using trace::Regularity;

namespace {

constexpr std::size_t page = 4096;

template <class Number, class Value>
std::vector<Number> page_of(Value value) {
    std::vector<Number> words(page / sizeof(Number));
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = static_cast<Number>(value(i));
    return words;
}

template <class Number>
bool is_regular(const std::vector<Number>& words) {
    const Regularity found =
        regularity(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * sizeof(Number));
    BOOST_TEST((found != Regularity::unknown));
    return found == Regularity::regular;
}
/// The same of a page of such numbers.
template <class Number, class Value>
bool is_regular(Value value) {
    return is_regular(page_of<Number>(value));
}

/// A word more than it should be.
template <class Number>
bool is_regular_with_one_off(std::vector<Number> words, std::size_t which, Number by = 1) {
    words[which] = static_cast<Number>(words[which] + by);
    return is_regular(words);
}

} // namespace

BOOST_AUTO_TEST_CASE(one_value_is_regular) {
    BOOST_TEST(is_regular<std::uint32_t>([](auto) { return 0; }));
    BOOST_TEST(is_regular<std::uint32_t>([](auto) { return 0xdeadbeef; }));
    BOOST_TEST(is_regular<float>([](auto) { return 0.1f; }));
    BOOST_TEST(is_regular<double>([](auto) { return -1e300; }));
}

BOOST_AUTO_TEST_CASE(numbers_that_go_up_by_one_step_are_regular) {
    BOOST_TEST(is_regular<std::uint32_t>([](auto i) { return 5 - 3 * i; }));
    BOOST_TEST(is_regular<std::uint32_t>([](auto i) { return i * 2654435761u; }));
    BOOST_TEST(is_regular<std::uint64_t>([](auto i) { return i * 0x9e3779b97f4a7c15u; }));
    BOOST_TEST(is_regular<float>([](auto i) { return static_cast<float>(i) * 0.1f; }));
    BOOST_TEST(is_regular<double>([](auto i) { return 1 - static_cast<double>(i) / 3; }));
}

BOOST_AUTO_TEST_CASE(every_other_word_may_be_of_another_sequence) {
    // One used word a cache line, as of a counter that has its line to itself.
    BOOST_TEST(is_regular<std::uint32_t>([](auto i) { return i % 16 == 0 ? i * 77777777 : 0; }));
    struct Particle {
        std::uint32_t id;
        float x;
        double mass;
    };
    std::vector<Particle> particles(page / sizeof(Particle));
    for (std::size_t i = 0; i < particles.size(); ++i)
        particles[i] = {static_cast<std::uint32_t>(i), static_cast<float>(i) * 0.25f, 1.5};
    BOOST_TEST(is_regular(particles));
    particles[100].x += 1;
    BOOST_TEST(!is_regular(particles));
}

BOOST_AUTO_TEST_CASE(one_word_off_is_irregular) {
    const auto zeros = page_of<std::uint32_t>([](auto) { return 0; });
    const auto counted = page_of<std::uint32_t>([](auto i) { return i * 2654435761u; });
    const auto wide = page_of<std::uint64_t>([](auto i) { return i * 0x9e3779b97f4a7c15u; });
    for (const std::size_t which : {0, 1, 33, 500, 511}) {
        BOOST_TEST(!is_regular_with_one_off(zeros, 2 * which + 1));
        BOOST_TEST(!is_regular_with_one_off(counted, 2 * which + 1));
        BOOST_TEST(!is_regular_with_one_off(wide, which));
        BOOST_TEST(!is_regular_with_one_off(page_of<float>([](auto i) { return static_cast<float>(i) * 0.1f; }),
                                            which, 0.01f));
        BOOST_TEST(!is_regular_with_one_off(page_of<double>([](auto i) { return static_cast<double>(i) / 3; }),
                                            which, 1e-6));
    }
}

BOOST_AUTO_TEST_CASE(what_no_kernel_would_have_made_is_irregular) {
    std::mt19937 random(7);
    BOOST_TEST(!is_regular<std::uint32_t>([&](auto) { return random(); }));
    BOOST_TEST(!is_regular<float>([](auto i) { return std::sin(static_cast<float>(i)); }));
    BOOST_TEST(!is_regular<std::uint32_t>([](auto i) { return i * i; }));
    BOOST_TEST(!is_regular<double>([](auto i) { return i == 7 ? NAN : 1.0; }));
    BOOST_TEST(!is_regular<float>([](auto i) { return i < 512 ? 1.0f : INFINITY; }));
    BOOST_TEST(
        !is_regular<char>([](auto i) { return "for the host to read, and for no kernel to make; "[i % 49]; }));
}

BOOST_AUTO_TEST_CASE(of_a_few_words_nothing_is_known) {
    const std::vector<std::uint32_t> words(128, 3);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words.data());
    BOOST_TEST((regularity(bytes, 512) == Regularity::regular));
    BOOST_TEST((regularity(bytes, 508) == Regularity::unknown));
    BOOST_TEST((regularity(bytes, 0) == Regularity::unknown));
}

BOOST_FIXTURE_TEST_SUITE(host_content, SamplerDrive)

BOOST_AUTO_TEST_CASE(what_came_back_to_the_host_is_told_from_what_was_written_meanwhile) {
    ManagedLike memory(512);
    const auto content = [&](std::uint64_t pages = 512) { return come_back(memory, pages).content; };
    BOOST_TEST(content() == 0u); // for the first time
    const std::uint64_t unwritten = content();
    BOOST_TEST(unwritten != 0u);
    BOOST_TEST(content() == unwritten);
    BOOST_TEST(content(2) != unwritten);
    for (const std::uint64_t at : {0, 170, 340, 511}) {
        memory.write(at, 1);
        BOOST_TEST(content() != unwritten);
        memory.write(at, 0);
        BOOST_TEST(content() == unwritten);
    }
    for (const trace::Residency& sample : recorder().residency)
        BOOST_TEST((sample.moment == trace::SampleMoment::before_launch || sample.content == 0));
}

BOOST_AUTO_TEST_CASE(what_never_left_the_host_is_not_read) {
    ManagedLike memory(64);
    memory.touch(0, 64);
    for (int round = 0; round < 3; ++round) {
        sampler->before_launch(touching({&memory}));
        sampler->after_synchronize();
    }
    BOOST_TEST(recorder().residency.size() == 6u);
    for (const trace::Residency& sample : recorder().residency)
        BOOST_TEST(sample.content == 0u);
}

BOOST_AUTO_TEST_CASE(of_many_runs_the_last_page_is_read_too) {
    ManagedLike memory(64);
    const auto content = [&] {
        memory.leave(0, 64);
        sampler->after_synchronize();
        for (std::uint64_t at = 0; at < 64; at += 2)
            memory.touch(at, 1);
        sampler->before_launch(touching({&memory}));
        return last().content;
    };
    BOOST_TEST(content() == 0u);
    const std::uint64_t before = content();
    BOOST_TEST(content() == before);
    memory.write(62, 1);
    BOOST_TEST(content() != before);
}

BOOST_AUTO_TEST_CASE(a_page_that_may_not_be_read_is_an_error_and_no_signal) {
    ManagedLike memory(64);
    const auto content = [&] {
        memory.leave(0, 64);
        sampler->after_synchronize();
        memory.touch(0, 64);
        memory.protect(21, PROT_NONE);
        sampler->before_launch(touching({&memory}));
        memory.protect(21, PROT_READ | PROT_WRITE);
        BOOST_TEST(last().host_pages == 64u);
        return last().content;
    };
    BOOST_TEST(content() == 0u);
    BOOST_TEST(content() == 0u);
}

BOOST_AUTO_TEST_CASE(a_neighbour_on_the_same_page_may_write) {
    ManagedLike memory(1);
    memory.shrink(64);
    const auto content = [&] { return come_back(memory, 1).content; };
    content();
    const std::uint64_t before = content();
    BOOST_TEST(before != 0u);
    memory.write(0, 1);
    BOOST_TEST(content() == before);
}

/// The device takes all of it, and some pages come back.
struct Returning : SamplerDrive {
    ManagedLike memory{64};

    Returning() {
        sampler->before_launch(touching({&memory}));
        round(16);
        round(16);
    }
    trace::Residency round(std::uint64_t pages, std::uint64_t first = 16) {
        return come_back(memory, pages, first);
    }
    /// Every line of it.
    void write_page(std::uint64_t at, char value) {
        for (std::uint64_t offset = 0; offset < page; offset += 64)
            memory.write(at, value, offset);
    }
};

BOOST_FIXTURE_TEST_CASE(of_a_place_that_comes_back_the_one_line_that_has_changed_is_told, Returning) {
    const std::uint64_t before = round(16).content;
    memory.write(21, 1, 200);
    const trace::Residency seen = round(16);
    BOOST_TEST(seen.lone_line == 21 * 64 + 200 / 64 + 1u);
    BOOST_TEST(seen.content != before); // however little it is
    const trace::Residency unchanged = round(16);
    BOOST_TEST(unchanged.content == seen.content);
    BOOST_TEST(unchanged.lone_line == 0u);
}

BOOST_FIXTURE_TEST_CASE(around_a_lone_line_all_may_change, Returning) {
    for (std::uint64_t at = 16; at < 32; ++at)
        if (at != 21)
            write_page(at, 1);
    memory.write(21, 1, 200);
    BOOST_TEST(round(16).lone_line == 21 * 64 + 200 / 64 + 1u);
}

BOOST_FIXTURE_TEST_CASE(two_lines_are_none_alone, Returning) {
    memory.write(21, 1, 200);
    memory.write(21, 1, 300);
    BOOST_TEST(round(16).lone_line == 0u); // of one page
    memory.write(21, 2, 200);
    memory.write(22, 2, 200);
    BOOST_TEST(round(16).lone_line == 0u); // of two
    for (std::uint64_t at = 16; at < 32; ++at)
        write_page(at, 3);
    BOOST_TEST(round(16).lone_line == 0u); // a loop over all of it
}

BOOST_FIXTURE_TEST_CASE(another_place_is_held_against_nothing, Returning) {
    memory.write(21, 1, 200);
    BOOST_TEST(round(15).lone_line == 0u);
    memory.write(21, 2, 200);
    BOOST_TEST(round(15, 17).lone_line == 0u);
    memory.write(21, 3, 200);
    BOOST_TEST(round(17).lone_line == 0u); // more than a fault brings
    round(17);
    memory.write(21, 4, 200);
    BOOST_TEST(round(17).lone_line == 0u);
}

BOOST_FIXTURE_TEST_CASE(where_faults_are_told_no_line_is_looked_for, Returning) {
    managed_watch().begin();
    driver().managed_watched = true;
    memory.write(21, 1, 200);
    BOOST_TEST(round(16).lone_line == 0u);
}

BOOST_AUTO_TEST_CASE(of_a_page_that_the_allocation_ends_in_one_line_is_none_alone) {
    ManagedLike memory(2);
    memory.shrink(page + 64);
    const auto lone_line = [&] { return come_back(memory, 2).lone_line; };
    lone_line();
    lone_line();
    memory.write(1, 1, 0); // all there is
    BOOST_TEST(lone_line() == 0u);
    memory.write(0, 1, 0);
    BOOST_TEST(lone_line() == 1u);
}

BOOST_AUTO_TEST_CASE(what_no_launch_has_had_yet_may_be_regular) {
    const auto first_look = [&](char text) {
        ManagedLike memory(64);
        memory.touch(0, 64);
        memory.write(21, text, 2000);
        sampler->before_launch(touching({&memory}));
        return last().regularity;
    };
    BOOST_TEST((first_look(0) == Regularity::regular));
    BOOST_TEST((first_look('x') == Regularity::irregular));
}

BOOST_AUTO_TEST_CASE(what_is_prefetched_before_any_launch_is_looked_at_then) {
    ManagedLike memory(64);
    memory.touch(0, 64);
    sampler->before_prefetch(memory.allocation);
    BOOST_TEST((last().regularity == Regularity::regular));
    memory.leave(0, 64);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST((last().regularity == Regularity::unknown));
}

/// The host has its pages until the prefetch has moved them.
BOOST_AUTO_TEST_CASE(what_a_prefetch_may_be_moving_is_not_read) {
    ManagedLike memory(64);
    memory.touch(0, 64);
    sampler->before_prefetch(memory.allocation);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(last().host_pages == 64u);
    BOOST_TEST((last().regularity == Regularity::unknown));
}

BOOST_FIXTURE_TEST_CASE(what_came_back_is_not_read_while_the_next_prefetch_moves_it, Returning) {
    memory.leave(0, 64);
    sampler->after_synchronize();
    memory.touch(16, 16);
    sampler->before_prefetch(memory.allocation);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(last().host_pages == 16u);
    BOOST_TEST(last().content == 0u);
    BOOST_TEST(round(16).content != 0u); // nothing moves it any more
}

BOOST_AUTO_TEST_CASE(what_is_not_all_on_the_host_or_was_launched_on_is_not_read_for_it) {
    ManagedLike part(64), used(64);
    part.touch(0, 63);
    sampler->before_launch(touching({&part}));
    BOOST_TEST((last().regularity == Regularity::unknown));
    used.touch(0, 64);
    sampler->before_launch(touching({&used}));
    BOOST_TEST((last().regularity == Regularity::regular));
    sampler->after_synchronize(); // it stayed where it was, or the host took all of it back
    sampler->before_launch(touching({&used}));
    BOOST_TEST((last().regularity == Regularity::unknown));
}

BOOST_AUTO_TEST_CASE(where_the_driver_tells_of_faults_the_first_prefetch_is_looked_at_and_no_other) {
    ManagedLike memory(64);
    managed_watch().begin();
    driver().managed_watched = true;
    memory.touch(0, 64);
    sampler->before_prefetch(memory.allocation);
    BOOST_REQUIRE(recorder().residency.size() == 1u);
    BOOST_TEST((last().regularity == Regularity::regular));
    sampler->before_launch(touching({&memory}));
    sampler->after_synchronize();
    const auto looks = recorder().residency.size();
    sampler->before_prefetch(memory.allocation);
    BOOST_TEST(recorder().residency.size() == looks);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
