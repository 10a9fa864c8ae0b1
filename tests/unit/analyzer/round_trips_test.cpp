/// UMA-107: what the host has downloaded goes up again as it came.
#include "transfers.hpp"

BOOST_FIXTURE_TEST_SUITE(analyzer_round_trips, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-107 UMA-114"))

using namespace umadvisor;
using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(unchanged_by_the_host) {
    rounds(10, [&](std::uint64_t round) {
        use();
        download(round, 100 + round);
        look();
        upload(round, 100 + round);
    });
    const Finding finding = one("UMA-107");
    BOOST_TEST(finding.stack == uploading);
    BOOST_TEST(place(finding) == downloading);
    BOOST_TEST(finding.saving_ns == 10.0 * copy_ns, roughly);
}

BOOST_AUTO_TEST_CASE(downloads_that_the_host_has_no_time_to_look_at_go_as_well) {
    rounds(10, [&](std::uint64_t round) {
        use();
        download(round, 100 + round);
        upload(round, 100 + round);
    });
    const Found all = found();
    BOOST_TEST(rules_of(all) == "UMA-107 UMA-107");
    const auto down = std::ranges::find(all, ids::StackId(downloading), &Finding::stack);
    BOOST_REQUIRE((down != all.end()));
    BOOST_TEST(place(*down) == uploading);
    BOOST_TEST(down->saving_ns == 10.0 * copy_ns, roughly);
    BOOST_TEST((down->confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(unchanged_by_the_host_and_compared_once_as_a_whole) {
    const auto rounds_of = [](std::uint64_t rounds) {
        Transfers t;
        t.rounds(rounds, [&](std::uint64_t round) {
            t.use();
            t.download(round, round == 1 ? 7 : 0);
            t.look();
            t.upload(round, round == 1 ? 7 : 0);
        });
        return t.rules();
    };
    BOOST_TEST(rounds_of(9) == "UMA-107");
    // Fewer parts say nothing. What they may say keeps the rule on overlap silent, too.
    BOOST_TEST(rounds_of(8) == "");
}

BOOST_AUTO_TEST_CASE(changed_by_the_host) {
    rounds(10, [&](std::uint64_t round) {
        use();
        download(round, 100 + round);
        upload(round, 200 + round);
    });
    BOOST_TEST(rules() == "");
}

/// Arguments that go up before each launch and come down after it, though a kernel only reads them.
struct BothWays : Transfers {
    const std::uint64_t reads = function("_Z5triadPKfPff");
    trace::Content content{};
    void trips(std::uint64_t function, bool host_changes = false, bool asynchronous = false) {
        rounds(10, [&](std::uint64_t round) {
            upload(host_changes ? round : 1, host_changes ? 100 + round : 7);
            launch(function, {table, other});
            const CopyOptions later{.asynchronous = true, .content_follows = true};
            const std::uint64_t start = now;
            download(asynchronous ? 0 : content_of(round, host_changes), asynchronous ? 0 : 7,
                     asynchronous ? later : CopyOptions());
            look();
            if (!asynchronous)
                return;
            synchronize();
            content = {.start = now, .copy = start};
            content.content.part_hash = 1;
            content.content.whole_hash = 7;
            builder.add(content);
            now += 100;
        });
    }
    static std::uint64_t content_of(std::uint64_t round, bool host_changes) {
        return host_changes ? 50 + round : 1;
    }
};

BOOST_FIXTURE_TEST_CASE(downloads_of_what_the_host_sent, BothWays) {
    trips(reads);
    const Found all = found();
    BOOST_TEST(rules_of(all) == "UMA-107 UMA-107");
    const auto down = std::ranges::find(all, ids::StackId(downloading), &Finding::stack);
    BOOST_REQUIRE((down != all.end()));
    BOOST_TEST(place(*down) == uploading);
    BOOST_TEST(evidence(*down, "transfers") == 10);
    BOOST_TEST((down->confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(asynchronous_downloads_of_what_the_host_sent, BothWays) {
    trips(reads, false, true);
    BOOST_TEST(rules() == "UMA-107 UMA-107");
}

BOOST_FIXTURE_TEST_CASE(downloads_of_what_a_kernel_may_have_written, BothWays) {
    trips(kernel);
    nothing_in(of_line(found(), downloading));
}

BOOST_FIXTURE_TEST_CASE(downloads_to_where_the_host_has_something_else, BothWays) {
    rounds(10, [&](std::uint64_t) {
        upload(1, 7);
        launch(reads, {table, other});
        upload(2, 8, {.to = other}); // of the same host memory
        download(1, 7);
        look();
    });
    nothing_in(of_line(found(), downloading));
}

BOOST_AUTO_TEST_CASE(what_an_asynchronous_download_brought_is_told_later) {
    rounds(10, [&](std::uint64_t round) {
        use();
        trace::Content content{.copy = now};
        download(0, 0, {.asynchronous = true, .content_follows = true});
        synchronize();
        content.start = now;
        content.content.part_hash = round;
        content.content.whole_hash = 100 + round;
        builder.add(content);
        look();
        upload(round, 100 + round);
    });
    BOOST_TEST(one("UMA-107").saving_ns == 10.0 * copy_ns, roughly);
}

BOOST_AUTO_TEST_CASE(a_kernel_after_the_download) {
    rounds(10, [&](std::uint64_t round) {
        download(round, 100 + round);
        use();
        upload_and_use(round, 100 + round);
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(a_part_of_what_was_downloaded) {
    rounds(10, [&](std::uint64_t) {
        use();
        download(1, 7);
        copy(bytes / 2, copy_ns / 2,
             {.source = Memory::pinned, .stack = uploading, .to = table, .part = 1, .whole = 7});
    });
    BOOST_TEST(rules() == "UMA-114"); // the host has sent it before
}

BOOST_AUTO_TEST_SUITE_END()
