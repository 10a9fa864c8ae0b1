/// The most that is in use at once, against a count of every moment.
#include "analyzer/tables/peak_use.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_peak_use)

using umadvisor::tables::PeakUse;

namespace {

/// Keeps the first and the last use of every allocation.
struct Counted {
    struct Use {
        std::uint64_t bytes = 0;
        std::size_t first = 0, last = 0; ///< moments; first > last: none
    };
    std::vector<Use> uses;
    std::size_t now = 0;

    std::uint64_t most() const {
        std::uint64_t most = 0;
        for (std::size_t moment = 0; moment <= now; ++moment) {
            std::uint64_t here = 0;
            for (const Use& use : uses)
                here += use.first <= moment && moment <= use.last ? use.bytes : 0;
            most = std::max(most, here);
        }
        return most;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(memory_that_is_used_in_turn_counts_once) {
    PeakUse use;
    BOOST_TEST(use.bytes() == 0u);
    const auto a = use.add(10), b = use.add(7);
    BOOST_TEST(use.bytes() == 0u);
    use.begin(a);
    use.begin(b);
    BOOST_TEST(use.bytes() == 10u);
    use.extend(a);
    BOOST_TEST(use.bytes() == 17u);
    use.remove(a);
    use.remove(b);
    BOOST_TEST(use.bytes() == 17u);
}

BOOST_AUTO_TEST_CASE(any_order_of_uses_gives_what_counting_gives) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        PeakUse use;
        Counted counted;
        struct Live {
            PeakUse::Slot slot;
            std::size_t index;
            bool used;
        };
        std::vector<Live> live;
        for (int step = 0; step < 60; ++step) {
            ++counted.now;
            const auto what = random() % 8;
            if (live.empty() || what < 2) {
                const std::uint64_t bytes = 1 + random() % 100;
                live.push_back({use.add(bytes), counted.uses.size(), false});
                counted.uses.push_back({bytes, 1, 0});
                continue;
            }
            const std::size_t which = random() % live.size();
            Live& one = live[which];
            Counted::Use& known = counted.uses[one.index];
            if (what == 7) {
                use.remove(one.slot);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            } else if (one.used) {
                use.extend(one.slot);
                known.last = counted.now;
            } else {
                use.begin(one.slot);
                known.first = known.last = counted.now;
                one.used = true;
            }
            BOOST_REQUIRE_EQUAL(use.bytes(), counted.most());
        }
    }
}

BOOST_AUTO_TEST_CASE(memory_that_may_have_been_used_before_is_in_use_since_it_exists) {
    PeakUse use;
    const auto a = use.add(10), b = use.add(7);
    use.begin(b);
    use.remove(b);
    use.extend(a);
    BOOST_TEST(use.bytes() == 17u);
}

BOOST_AUTO_TEST_SUITE_END()
