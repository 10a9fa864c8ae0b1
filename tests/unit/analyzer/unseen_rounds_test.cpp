/// What is said to have moved when the sampler has left out looks, against what did move.
#include "managed_life.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>

BOOST_AUTO_TEST_SUITE(analyzer_unseen_rounds)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

constexpr std::uint64_t all = 4 << 20;

struct Crossed {
    std::uint64_t to_device = 0, to_host = 0;
    bool operator==(const Crossed&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Crossed& crossed) {
    return out << crossed.to_device << " to the device, " << crossed.to_host << " to the host";
}

/// Of one kind; those that would show the same are left out as the sampler does when it is hurried.
class Looks {
public:
    bool left_out() { return skip_ != 0 && skip_-- != 0; }
    void saw(std::uint64_t host_bytes) {
        interval_ = host_bytes == last_ ? std::min(2 * interval_ + 1, 63u) : 0;
        skip_ = interval_;
        last_ = host_bytes;
    }

private:
    std::uint64_t last_ = UINT64_MAX;
    unsigned skip_ = 0, interval_ = 0;
};

/// A kernel uses all of it in every round; between rounds the host may.
class Rounds {
public:
    using Wanted = std::function<bool(unsigned)>; ///< by round

    Rounds() { life_.terms.faults_known = false; }

    /// `left_out`, where there is one, says what the sampler leaves out; by look.
    Rounds& run(unsigned count, const Wanted& host_uses, const Wanted& left_out = {}) {
        for (const unsigned end = round_ + count; round_ < end; ++round_) {
            if (host_uses(round_)) {
                truth_.to_host += where_ == Where::device;
                where_ = Where::host;
            }
            look(true, left_out, where_ == Where::host ? all : 0);
            life_.launch();
            truth_.to_device += where_ == Where::host;
            where_ = Where::device;
            life_.wait();
            look(false, left_out, 0);
        }
        return *this;
    }

    /// The sampler looks then, too.
    Rounds& free() {
        life_.look(where_ == Where::host ? all : 0);
        return *this;
    }

    Crossed truth() const { return truth_; }
    Crossed told() { return {life_.stays().arrived(true) / all, life_.stays().arrived(false) / all}; }

private:
    enum class Where : std::uint8_t { nowhere, host, device };

    void look(bool before, const Wanted& left_out, std::uint64_t host_bytes) {
        Looks& looks = before ? before_ : after_;
        if (left_out ? left_out(look_++) : looks.left_out())
            return;
        before ? life_.look(host_bytes) : life_.look_after(host_bytes);
        looks.saw(host_bytes);
    }

    Life life_{all};
    Looks before_, after_;
    unsigned round_ = 0, look_ = 0;
    Where where_ = Where::nowhere;
    Crossed truth_;
};

bool always(unsigned) {
    return true;
}

bool never(unsigned) {
    return false;
}

bool at_first(unsigned round) {
    return round == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(where_every_round_is_alike_estimates_are_exact) {
    for (unsigned count = 1; count < 300; ++count)
        for (const auto& host_uses : {always, never, at_first}) {
            Rounds rounds;
            rounds.run(count, host_uses);
            BOOST_TEST(rounds.told() == rounds.truth());
        }
}

BOOST_AUTO_TEST_CASE(what_the_host_uses_every_other_time_is_seen_in_full) {
    for (unsigned count = 1; count < 300; ++count)
        for (unsigned first = 0; first < 2; ++first) {
            Rounds rounds;
            rounds.run(count, [first](unsigned round) { return round % 2 == first; }).free();
            BOOST_TEST(rounds.told() == rounds.truth());
        }
}

BOOST_AUTO_TEST_CASE(whatever_moves_nothing_is_estimated_where_all_looks_are_there) {
    std::mt19937 chance;
    for (unsigned i = 0; i < 200; ++i) {
        Rounds rounds;
        rounds.run(
            1 + chance() % 100, [&](unsigned) { return chance() % 4 < i % 5; }, never);
        BOOST_TEST(rounds.told() == rounds.truth());
    }
}

BOOST_AUTO_TEST_CASE(it_does_not_matter_which_looks_are_left_out_of_rounds_that_are_alike) {
    std::mt19937 chance;
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned kept = 1 + chance() % 4; // of five
        Rounds rounds;
        rounds.run(100 + chance() % 100, always, [&](unsigned) { return chance() % 5 >= kept; });
        BOOST_TEST(rounds.told() == rounds.truth());
    }
}

/// The sampler leaves out more after two looks that agree: what they saw counts for more than its share.
BOOST_AUTO_TEST_CASE(what_crosses_at_random_is_met_roughly) {
    std::mt19937 chance;
    Crossed truth, told;
    for (unsigned i = 0; i < 400; ++i) {
        Rounds rounds;
        rounds.run(300, [&](unsigned) { return chance() % 2 == 0; }).free();
        truth = {truth.to_device + rounds.truth().to_device, truth.to_host + rounds.truth().to_host};
        told = {told.to_device + rounds.told().to_device, told.to_host + rounds.told().to_host};
    }
    const auto roughly = boost::test_tools::tolerance(0.2);
    BOOST_TEST(static_cast<double>(told.to_device) == static_cast<double>(truth.to_device), roughly);
    BOOST_TEST(static_cast<double>(told.to_host) == static_cast<double>(truth.to_host), roughly);
}

BOOST_FIXTURE_TEST_CASE(launches_that_are_waited_for_together_are_one_round, Life) {
    terms.faults_known = false;
    for (int i = 0; i < 2; ++i)
        look(all).launch().launch().wait().look_after(0);
    launch(1).launch(2).launch(1).wait().look(all).device_round();
    BOOST_TEST(stays().arrived(true) == 4 * all);
    BOOST_TEST(stays().arrived(false) == 3 * all);
}

BOOST_FIXTURE_TEST_CASE(what_a_look_met_on_its_way_is_a_part_of_what_went, Life) {
    terms.faults_known = false;
    look(all).launch().look(all / 2).wait().look_after(0).look(all).launch().wait().launch().wait();
    BOOST_TEST(stays().arrived(true) == 3 * all);
    BOOST_TEST(stays().arrived(false) == 2 * all);
}

BOOST_FIXTURE_TEST_CASE(what_stayed_on_the_host_did_not_come_there_before_it_went, Life) {
    terms.faults_known = false;
    look(all).launch().wait().look_after(all).device_round().look(all).device_round();
    BOOST_TEST(stays().arrived(true) == 2 * all);
    BOOST_TEST(stays().arrived(false) == all);
}

BOOST_AUTO_TEST_CASE(where_prefetches_move_it_or_faults_are_told_nothing_is_estimated) {
    Life prefetched, told;
    prefetched.terms.faults_known = false;
    prefetched.look(all).to_device().wait().look(all).device_round().launch().wait();
    BOOST_TEST(prefetched.stays().arrived(true) == 2 * all);
    told.look(all).device_round().launch().wait();
    BOOST_TEST(told.stays().arrived(true) == all);
}

BOOST_AUTO_TEST_SUITE_END()
