#include "managed_life.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_verdicts)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

constexpr std::uint64_t all = 4 << 20, page = 4096;

/// Rounds of a program in which the host takes all of it back.
void bounce(Life& life, int rounds, bool write = false, std::uint64_t content = 0, std::uint64_t change = 0) {
    life.look(0).device_round();
    for (int i = 0; i < rounds; ++i, content += change)
        life.host_fault(0, write, 4).totals(all).look(all, content).device_round();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(ping_pong, Life) {
    bounce(*this, 4, true, 1, 1);
    BOOST_TEST(names() == "ping_pong");
    BOOST_TEST(verdicts()[0].times == 4u);
    BOOST_TEST(verdicts()[0].bytes == 8 * all);
    BOOST_TEST(verdicts()[0].host_code == 90u);
    BOOST_TEST(verdicts()[0].kernel.stack == 70u);
    BOOST_TEST(verdicts()[0].pulls == 4u);
    BOOST_TEST(verdicts()[0].host_ticks == 0u); // one fault each time
}

BOOST_AUTO_TEST_CASE(two_returns_alternate_one_does_not) {
    Life once, twice;
    bounce(once, 1);
    BOOST_TEST(once.names() == "read_back");
    bounce(twice, 2);
    BOOST_TEST(twice.names() == "ping_pong");
}

BOOST_FIXTURE_TEST_CASE(kernels_alone_are_fine, Life) {
    look(0).device_round().device_round().device_round();
    BOOST_TEST(names() == "");
}

BOOST_AUTO_TEST_CASE(read_only_bouncing) {
    Life same, changed, unknown, written;
    bounce(same, 4, false, 5);
    BOOST_TEST(same.names() == "read_only_bouncing");
    bounce(changed, 4, false, 5, 1);
    BOOST_TEST(changed.names() == "ping_pong");
    bounce(unknown, 4);
    BOOST_TEST(unknown.names() == "ping_pong");
    bounce(written, 4, true, 5);
    BOOST_TEST(written.names() == "ping_pong");
}

BOOST_AUTO_TEST_CASE(false_sharing) {
    const auto flag = [](std::uint64_t offset, bool write, std::uint64_t faults, std::uint64_t moving = 0,
                         std::uint64_t came = 1 << 16) {
        Life life;
        life.look(0).device_round();
        for (std::uint64_t i = 0; i < 3; ++i)
            life.host_fault(offset + i * moving, write, faults).totals(came).look(came).device_round();
        return life.names();
    };
    BOOST_TEST(flag(5 * page, true, 1) == "false_sharing");
    BOOST_TEST(flag(5 * page, false, 1) == "ping_pong");            // the host reads what the kernel made
    BOOST_TEST(flag(5 * page, true, 3) == "ping_pong");             // more than one page
    BOOST_TEST(flag(5 * page, true, 1, page) == "ping_pong");       // not the same one
    BOOST_TEST(flag(5 * page, true, 1, 0, 1 << 20) == "ping_pong"); // all of it comes, and is copied
    BOOST_TEST(flag(16 * page, true, 1) == "ping_pong");            // a loop over the granule begins there, too
    Life watched; // all of it comes, and one line of it has changed
    watched.look(0).device_round();
    for (std::uint64_t i = 0; i < 3; ++i)
        watched.host_fault(5 * page, true).totals(1 << 20).look(1 << 20, 7 + i, 5 * page + 64).device_round();
    BOOST_TEST(watched.names() == "false_sharing");
    // The granules are the driver's: an allocation may begin in the middle of one.
    Life shifted;
    shifted.marks.address = 0x7f00'0000'b000;
    shifted.look(0).device_round();
    for (int i = 0; i < 3; ++i)
        shifted.host_fault(5 * page, true).totals(1 << 16).look(1 << 16).device_round();
    BOOST_TEST(shifted.names() == "ping_pong");
    Life variable(page);
    variable.look(0).device_round();
    for (int i = 0; i < 3; ++i)
        variable.host_fault(0, true).totals(page).look(page).device_round();
    BOOST_TEST(variable.names() == "false_sharing");
}

namespace {

/// Rounds after each of which `came` is on the host again, as the looks have it; content 0: not looked at.
struct Seen {
    std::uint64_t content, lone_line;
};
std::string names_by_looks(std::uint64_t bytes, std::uint64_t came, const std::vector<Seen>& rounds,
                           bool faults_known = false) {
    Life life(bytes);
    life.terms.faults_known = faults_known;
    life.look(0).device_round();
    for (const Seen& seen : rounds) {
        if (faults_known)
            life.host_fault(0, true, 4).totals(came);
        life.look(came, seen.content, seen.lone_line).device_round();
    }
    return life.names();
}

} // namespace

BOOST_AUTO_TEST_CASE(false_sharing_where_nobody_tells_of_faults) {
    constexpr std::uint64_t granule = 64 << 10;
    const auto granule_of = [](const std::vector<Seen>& rounds, bool faults_known = false) {
        return names_by_looks(all, granule, rounds, faults_known);
    };
    BOOST_TEST(granule_of({{1, 0}, {2, 81}, {3, 81}}) == "false_sharing");
    BOOST_TEST(granule_of({{1, 0}, {2, 81}}) == "false_sharing");
    BOOST_TEST(granule_of({{1, 0}, {2, 81}, {0, 0}}) ==
               "false_sharing");                                       // the look before the free reads nothing
    BOOST_TEST(granule_of({{1, 0}, {2, 81}, {3, 82}}) == "ping_pong"); // not the same place
    BOOST_TEST(granule_of({{1, 0}, {2, 81}, {3, 0}}) == "ping_pong");  // more than one line
    BOOST_TEST(granule_of({{1, 0}, {2, 0}, {3, 0}}) == "ping_pong");   // a loop over all of it, on either side
    BOOST_TEST(granule_of({{1, 0}}) == "");
    BOOST_TEST(granule_of({{1, 0}, {1, 0}, {1, 0}}) == "read_only_bouncing");
    BOOST_TEST(granule_of({{1, 0}, {2, 81}, {3, 81}}, true) == "ping_pong"); // the faults say more
}

BOOST_AUTO_TEST_CASE(what_is_no_larger_than_a_page_has_one_place) {
    const auto small = [](std::uint64_t bytes, std::uint64_t content, std::uint64_t change) {
        return names_by_looks(bytes, bytes, {{content, 0}, {content + change, 0}, {content + 2 * change, 0}});
    };
    BOOST_TEST(small(page, 1, 1) == "false_sharing");
    BOOST_TEST(small(page, 1, 0) == "read_only_bouncing");
    BOOST_TEST(small(page, 0, 0) == "ping_pong");
    BOOST_TEST(small(2 * page, 1, 1) == "ping_pong");
    BOOST_TEST(small(64, 1, 1) == "ping_pong"); // a line is used by both
}

BOOST_AUTO_TEST_CASE(thrashing_is_what_the_driver_says) {
    Life life, silent;
    bounce(life, 4, true);
    life.marks.thrashing_pages = 3;
    BOOST_TEST(life.names() == "thrashing");
    silent.pace = 1000;
    bounce(silent, 4, true);
    BOOST_TEST(silent.names() == "ping_pong");
}

BOOST_AUTO_TEST_CASE(thrashing_by_the_drivers_rule_where_it_is_not_told) {
    Life quick, slow;
    quick.terms.thrashing_known = slow.terms.thrashing_known = false;
    quick.pace = 50'000; // two to five steps from one arrival to the next
    bounce(quick, 4, true);
    BOOST_TEST(quick.names() == "thrashing");
    slow.pace = 400'000;
    bounce(slow, 4, true);
    BOOST_TEST(slow.names() == "ping_pong");
    slow.marks.replayed_pages = 16; // of its moves, which the stays do not know
    BOOST_TEST(slow.names() == "thrashing");
    BOOST_TEST(slow.verdicts()[0].times == 16u);
    slow.terms.thrashing_known = true;
    BOOST_TEST(slow.names() == "ping_pong"); // the driver knows better
}

BOOST_AUTO_TEST_CASE(first_touch) {
    Life faulted, prefetched, little;
    faulted.fill().device_round();
    BOOST_TEST(faulted.names() == "first_touch");
    BOOST_TEST(faulted.verdicts()[0].bytes == all);
    prefetched.fill().to_device().look(0).device_round();
    BOOST_TEST(prefetched.names() == "");
    little.fill().launch().wait().look_after(all - all / 8);
    BOOST_TEST(little.names() == "");
}

BOOST_AUTO_TEST_CASE(host_populate) {
    Life used, used_once, comes_back, from_outside;
    used.fill().to_device().look(0).device_round().device_round();
    BOOST_TEST(used.names() == "host_populate");
    used_once.fill().to_device().look(0).device_round();
    BOOST_TEST(used_once.names() == "");
    comes_back.fill().to_device().look(0).device_round().device_round().to_host().wait();
    BOOST_TEST(comes_back.names() == "");
    for (const bool regular : {true, false}) {
        Life filled;
        filled.fill().look_at_filled(regular).to_device().look(0).device_round().device_round();
        BOOST_TEST(filled.names() == (regular ? "host_populate" : "")); // no kernel could have made it
    }
    from_outside.look(all).to_device().look(0).device_round().device_round();
    BOOST_TEST(from_outside.names() == ""); // nobody saw the host write it
}

BOOST_AUTO_TEST_CASE(host_populate_where_nobody_tells_of_faults) {
    const auto names = [](bool regular, bool prefetched, int rounds, bool back = false,
                          bool faults_known = false) {
        Life life;
        life.terms.faults_known = faults_known;
        life.look_at_filled(regular);
        if (prefetched)
            life.to_device().look(0);
        for (int i = 0; i < rounds; ++i)
            life.device_round();
        if (back)
            life.to_host().wait();
        return life.names();
    };
    BOOST_TEST(names(true, false, 2) == "first_touch host_populate");
    BOOST_TEST(names(true, true, 2) == "host_populate");
    BOOST_TEST(names(false, false, 2) == "first_touch"); // no kernel could have made it
    BOOST_TEST(names(false, true, 2) == "");
    BOOST_TEST(names(true, true, 1) == "");
    BOOST_TEST(names(true, true, 2, true) == "");
    BOOST_TEST(names(true, true, 2, false, true) == ""); // no code of the program's has faulted
}

BOOST_AUTO_TEST_CASE(read_back) {
    Life whole, part, nobody_computed;
    whole.look(0).device_round().host_fault(0, false, 2).totals(all);
    BOOST_TEST(whole.names() == "read_back");
    part.look(0).device_round().host_fault().totals(1 << 16);
    BOOST_TEST(part.names() == "");
    nobody_computed.fill().to_device().wait().host_fault(0, false, 2).totals(all);
    BOOST_TEST(nobody_computed.names() == "unused_prefetch");
    for (const std::uint64_t writing : {0, 1}) { // what kernels only read is the host's own
        Life life;
        life.marks.launches = 2;
        life.marks.writing_launches = writing;
        life.look(0).device_round().host_fault(0, false, 2).totals(all);
        BOOST_TEST(life.names() == (writing != 0 ? "read_back" : ""));
    }
}

BOOST_AUTO_TEST_CASE(remote_access) {
    const auto remote = [](int launches, bool advised) {
        Life life;
        life.marks.far_advised = advised;
        life.fill();
        for (int i = 0; i < launches; ++i)
            life.launch();
        life.wait().look_after(all);
        return life.names();
    };
    BOOST_TEST(remote(3, true) == "remote_access");
    BOOST_TEST(remote(2, true) == "");
    BOOST_TEST(remote(9, false) == ""); // that they could reach it does not say that they did
}

BOOST_AUTO_TEST_CASE(oversubscribed) {
    Life life, small;
    life.look(0).device_round().totals(all, 0, 2 << 20).device_round();
    BOOST_TEST(life.names() == "oversubscribed");
    small.look(0).device_round().totals(all, 0, 1 << 16).device_round();
    BOOST_TEST(small.names() == "");
}

BOOST_AUTO_TEST_SUITE_END()
