/// What the host takes back after waits, and what a wait is known by.
#include "interposer/act/prefetch.hpp"
#include "policy/host_returns.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <optional>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_host_returns)

using namespace umadvisor::act;
using namespace umadvisor::policy;

namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t base = 0x7000'0000'0000;

} // namespace

BOOST_AUTO_TEST_SUITE(host_returns)

/// Rounds of a loop: the program waits at a site for launches that reached one allocation, the host takes some
/// of it, the next launch begins.
struct Loop {
    static constexpr std::uint64_t id = 7, bytes = 32 * mib;

    HostReturns::Span round(std::uint64_t first, std::uint64_t last, std::uint64_t site = 1) {
        const HostReturns::Span span = returns->wait(site, id, base, bytes);
        returns->looking(id);
        // What was brought is known; the host faults for the rest.
        if (span.first == span.last && first != last)
            returns->host_has(id, base + first, base + last);
        else if (span.left_out != 0 && span.left_out >= base + first && span.left_out < base + last)
            returns->host_has(id, span.left_out, span.left_out + 2 * mib);
        returns->launch(id);
        return span;
    }
    static bool brings(const HostReturns::Span& span) { return span.first != span.last; }
    std::unique_ptr<HostReturns> returns = std::make_unique<HostReturns>();
};

BOOST_FIXTURE_TEST_CASE(what_was_taken_once_is_brought_from_then_on, Loop) {
    BOOST_TEST(!brings(round(4 * mib, 12 * mib)));
    for (int i = 0; i < 200; ++i) {
        const HostReturns::Span span = round(4 * mib, 12 * mib);
        BOOST_TEST(span.first == base + 4 * mib);
        BOOST_TEST(span.last == base + 12 * mib);
    }
}

BOOST_FIXTURE_TEST_CASE(another_place_is_another_habit, Loop) {
    round(0, bytes, 1);
    BOOST_TEST(!brings(round(0, 0, 2)));
    BOOST_TEST(brings(round(0, bytes, 1)));
    BOOST_TEST(!brings(round(0, 0, 2)));
}

BOOST_FIXTURE_TEST_CASE(many_allocations_have_habits_of_their_own, Loop) {
    constexpr std::uint64_t count = 128;
    unsigned brought = 0;
    for (int i = 0; i < 2; ++i)
        for (std::uint64_t each = 0; each < count; ++each) {
            const std::uint64_t address = base + each * 2 * mib;
            const HostReturns::Span span = returns->wait(1, each + 1, address, mib);
            brought += brings(span);
            returns->looking(each + 1);
            if (!brings(span))
                returns->host_has(each + 1, address, address + mib);
            returns->launch(each + 1);
        }
    BOOST_TEST(brought >= count * 8 / 10);
}

BOOST_FIXTURE_TEST_CASE(little_or_scattered_is_left_to_faults, Loop) {
    round(0, 64 * 1024);
    BOOST_TEST(!brings(round(0, 64 * 1024)));
    returns->wait(1, id, base, bytes);
    returns->looking(id);
    returns->host_has(id, base, base + mib);
    returns->host_has(id, base + bytes - mib, base + bytes);
    returns->launch(id);
    BOOST_TEST(!brings(round(0, 0)));
}

BOOST_FIXTURE_TEST_CASE(a_block_is_left_out_now_and_then_and_ends_a_habit_that_is_none, Loop) {
    round(0, bytes);
    int left_out = 0;
    for (int i = 0; i < 100; ++i)
        left_out += round(0, bytes).left_out != 0;
    BOOST_TEST(left_out == 3); // 4, 16, 64
    int brought = 0;
    for (int i = 0; i < 200; ++i)
        brought += brings(round(0, 0));
    BOOST_TEST(brought > 0);
    BOOST_TEST(brought <= 64);
    BOOST_TEST(!brings(round(0, 0)));
}

BOOST_FIXTURE_TEST_CASE(nothing_is_learned_from_what_nobody_looked_at, Loop) {
    returns->wait(1, id, base, bytes);
    returns->host_has(id, base, base + bytes);
    returns->launch(id);
    BOOST_TEST(!brings(round(0, 0)));
}

BOOST_FIXTURE_TEST_CASE(what_an_earlier_run_learned_is_brought_at_the_first_wait, Loop) {
    constexpr std::uint64_t stable_key = 0x1234'5678'9abc'def1;
    returns->expect(stable_key, 4 * mib, 12 * mib);
    BOOST_TEST(!brings(returns->wait(2, id, base, bytes, stable_key + (1 << 20)))); // another wait
    BOOST_TEST(!brings(returns->wait(3, id, base, 8 * mib, stable_key)));           // it has shrunk
    const HostReturns::Span span = returns->wait(1, id, base, bytes, stable_key);
    BOOST_TEST(span.first == base + 4 * mib);
    BOOST_TEST(span.last == base + 12 * mib);
    BOOST_TEST(span.left_out == 0u);
    HostReturns::Lesson lesson{};
    BOOST_TEST_REQUIRE(returns->pop_lesson(lesson)); // for the run after this
    BOOST_TEST(lesson.stable_key == stable_key);
    BOOST_TEST(!lesson.given_up);
    BOOST_TEST(!returns->pop_lesson(lesson));
}

BOOST_FIXTURE_TEST_CASE(what_an_earlier_run_learned_is_given_up_where_it_does_not_hold, Loop) {
    constexpr std::uint64_t stable_key = 0x1234'5678'9abc'def1;
    returns->expect(stable_key, 0, bytes);
    int brought = 0;
    for (int i = 0; i < 100; ++i) {
        brought += brings(returns->wait(1, id, base, bytes, stable_key));
        returns->looking(id);
        returns->launch(id);
    }
    BOOST_TEST(brought > 0);
    BOOST_TEST(brought <= 16);
    HostReturns::Lesson lesson{};
    while (returns->pop_lesson(lesson))
        continue;
    BOOST_TEST(lesson.given_up);
}

BOOST_FIXTURE_TEST_CASE(what_is_learned_is_told_once_and_taken_back, Loop) {
    HostReturns::Lesson lesson{};
    const auto round_in_runs = [&](bool takes) {
        const HostReturns::Span span = returns->wait(1, id, base, bytes, 99);
        returns->looking(id);
        if (takes && (!brings(span) || span.left_out != 0))
            returns->host_has(id, base, base + bytes);
        returns->launch(id);
    };
    round_in_runs(true);
    BOOST_TEST(!returns->pop_lesson(lesson));
    for (int i = 0; i < 3; ++i)
        round_in_runs(true);
    BOOST_TEST_REQUIRE(returns->pop_lesson(lesson));
    BOOST_TEST(lesson.stable_key == 99u);
    BOOST_TEST(lesson.first == 0u);
    BOOST_TEST(lesson.last == bytes);
    BOOST_TEST(!lesson.given_up);
    BOOST_TEST(!returns->pop_lesson(lesson));
    for (int i = 0; i < 20; ++i)
        round_in_runs(false);
    BOOST_TEST_REQUIRE(returns->pop_lesson(lesson));
    BOOST_TEST(lesson.given_up);
}

/// Slots of one allocation, of which the host takes one each round.
struct Slots : Loop {
    static constexpr std::uint64_t slot = 2 * mib, slots = bytes / slot;

    /// The slot that was brought before the host took `which`; nothing: none was.
    std::optional<std::uint64_t> take(std::uint64_t which, bool looked = true) {
        const HostReturns::Span span = returns->wait(1, id, base, bytes);
        const std::uint64_t first = base + which * slot;
        if (looked) {
            returns->looking(id);
            span.for_each_part(
                [&](std::uint64_t from, std::uint64_t last) { returns->host_has(id, from, last); });
            returns->host_has(id, first, first + slot);
        }
        returns->launch(id);
        return brings(span) ? std::optional((span.first - base) / slot) : std::nullopt;
    }
};

BOOST_FIXTURE_TEST_CASE(another_part_each_time_is_no_habit, Slots) {
    BOOST_TEST(!take(0));
    BOOST_TEST((take(1) == 0));                                     // as if it were the first again
    for (const std::uint64_t which : {5, 7, 3, 9, 10, 2, 4, 11, 0}) // once was enough
        BOOST_TEST(!take(which));
    BOOST_TEST(!take(7));
    BOOST_TEST(!take(7)); // now it settles
    BOOST_TEST((take(7) == 7));
}

BOOST_FIXTURE_TEST_CASE(what_moves_on_by_as_much_each_time_is_brought_from_where_it_will_be, Slots) {
    BOOST_TEST(!take(0));
    BOOST_TEST((take(5) == 0));
    BOOST_TEST(!take(10));                              // twice as far: from now on
    for (std::uint64_t round = 3; round < 200; ++round) // and around the end
        BOOST_TEST((take(round * 5 % slots) == round * 5 % slots));
}

BOOST_FIXTURE_TEST_CASE(what_moves_on_unseen_is_still_followed, Slots) {
    for (std::uint64_t round = 0; round < 4; ++round)
        take(round);
    for (std::uint64_t round = 4; round < 8; ++round)
        BOOST_TEST((take(round, false) == round));
    BOOST_TEST((take(8) == 8));
}

BOOST_FIXTURE_TEST_CASE(a_way_that_ends_elsewhere_each_time_is_given_up, Slots) {
    int in_vain = 0;
    for (std::uint64_t round = 0; round < 400; ++round) {
        const std::uint64_t way = round / 4, which = (way * way * 7 + round % 4) % slots;
        const auto brought = take(which);
        in_vain += brought && *brought != which;
    }
    BOOST_TEST(in_vain > 0);
    BOOST_TEST(in_vain <= 4);
}

BOOST_FIXTURE_TEST_CASE(what_moves_is_told_to_no_later_run, Slots) {
    HostReturns::Lesson lesson{};
    for (std::uint64_t round = 0; round < 20; ++round) {
        returns->wait(1, id, base, bytes, 99);
        returns->looking(id);
        const std::uint64_t first = base + round % slots * slot;
        if (round < 3)
            returns->host_has(id, first, first + slot);
        returns->launch(id);
        while (returns->pop_lesson(lesson))
            BOOST_TEST((lesson.given_up || round < 2));
    }
}

BOOST_FIXTURE_TEST_CASE(what_would_lie_beyond_the_end_is_not_brought, Loop) {
    for (const std::uint64_t first : {0, 10, 20}) {
        returns->wait(1, id, base, bytes);
        returns->looking(id);
        returns->host_has(id, base + first * mib, base + (first + 8) * mib);
        returns->launch(id);
    }
    BOOST_TEST(!brings(returns->wait(1, id, base, bytes)));
}

BOOST_FIXTURE_TEST_CASE(what_followed_the_launch_is_not_brought_again_at_the_wait, Loop) {
    const auto ahead = [&] { return returns->ahead_of_wait({1, bytes}, id, base, bytes); };
    BOOST_TEST(!brings(ahead())); // no habit yet
    returns->launch(id);
    round(0, bytes);
    for (int i = 0; i < 3; ++i) {
        const HostReturns::Span span = ahead();
        BOOST_TEST(span.last == base + bytes);
        BOOST_TEST(returns->has_brought(id));
        BOOST_TEST(!returns->has_brought(id + 1));
        BOOST_TEST(!brings(returns->wait(1, id, base, bytes)));
        returns->looking(id);
        if (span.left_out != 0)
            returns->host_has(id, span.left_out, span.left_out + 2 * mib);
        returns->launch(id);
        BOOST_TEST(!returns->has_brought(id));
    }
    ahead();
    returns->launch(id); // no wait came: what was brought is no lesson
    BOOST_TEST(brings(returns->wait(1, id, base, bytes)));
    returns->launch(id);
    ahead();
    BOOST_TEST(!brings(returns->wait(2, id, base, bytes))); // another site: it has habits of its own
    returns->launch(id);
    ahead();
    returns->cancel(id); // it could not be brought
    BOOST_TEST(brings(returns->wait(1, id, base, bytes)));
}

BOOST_FIXTURE_TEST_CASE(much_is_left_to_a_wait_that_comes_at_once, Loop) {
    round(0, bytes);
    BOOST_TEST(!brings(returns->ahead_of_wait({1, bytes / 64 - 1}, id, base, bytes)));
    BOOST_TEST(brings(returns->wait(1, id, base, bytes)));
    returns->launch(id);
    BOOST_TEST(brings(returns->ahead_of_wait({1, bytes / 64}, id, base, bytes)));
    returns->launch(id);
    round(0, mib, 2);
    BOOST_TEST(brings(returns->ahead_of_wait({2, 0}, id, base, bytes))); // little
}

BOOST_FIXTURE_TEST_CASE(what_a_launch_is_to_come_for_does_not_follow_it, Loop) {
    const std::uint64_t tried = base + 6 * mib;
    round(0, bytes);
    for (int i = 0; i < 20; ++i) {
        const HostReturns::Span span = returns->ahead_of_wait({1, bytes}, id, base, bytes, tried);
        BOOST_TEST(span.left_out == tried);
        BOOST_TEST(span.last == base + bytes);
        returns->wait(1, id, base, bytes);
        returns->looking(id);
        returns->host_has(id, tried, tried + 2 * mib); // it is no other part than those before
        returns->launch(id);
    }
    for (int i = 0; i < 2; ++i) // somewhere else
        BOOST_TEST(returns->ahead_of_wait({1, bytes}, id, base, bytes, base + bytes).left_out == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(reached)

struct Waits {
    void launch(std::initializer_list<std::uint64_t> ids, std::uint64_t stream = 5) {
        umadvisor::observe::Touched touched;
        for (const std::uint64_t id : ids) {
            touched.managed[touched.managed_count].id = id;
            touched.managed[touched.managed_count++].address = base + id * mib;
        }
        reached.add(touched, stream);
    }
    std::vector<std::uint64_t> wait(Wait::For what, std::uint64_t stream = 5, std::uint64_t stack = 1) {
        std::vector<std::uint64_t> ids;
        const auto no_name = [](std::uint64_t) { return std::uint64_t{0}; };
        Reached::WaitSite found{};
        reached.remove_covered({what, stream, stack, 0}, found, no_name,
                               [&](std::uint64_t id, std::uint64_t) { ids.push_back(id); });
        site = found.key;
        return ids;
    }
    Reached reached;
    std::uint64_t site = 0;
};

using Ids = std::vector<std::uint64_t>;

BOOST_FIXTURE_TEST_CASE(a_wait_covers_its_stream_once, Waits) {
    launch({1, 2});
    launch({2, 3}, 6);
    BOOST_TEST(wait(Wait::For::part).empty());
    BOOST_TEST((wait(Wait::For::stream, 5) == Ids{1, 2}));
    BOOST_TEST(wait(Wait::For::stream, 5).empty());
    BOOST_TEST((wait(Wait::For::everything) == Ids{2, 3}));
    launch({4}, 0);
    BOOST_TEST((wait(Wait::For::stream, reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY)) == Ids{4}));
}

BOOST_FIXTURE_TEST_CASE(a_place_is_where_and_after_what, Waits) {
    const auto site_of = [&](std::initializer_list<std::uint64_t> ids, std::uint64_t stack) {
        launch(ids);
        launch(ids); // however often
        wait(Wait::For::everything, 0, stack);
        return site;
    };
    const std::uint64_t usual = site_of({1, 2}, 1);
    BOOST_TEST(site_of({1, 2}, 1) == usual);
    BOOST_TEST(site_of({1, 2}, 2) != usual);
    BOOST_TEST(site_of({1, 3}, 1) != usual);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
