#include "found.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

BOOST_AUTO_TEST_SUITE(analyzer_content_findings)

using namespace umadvisor;
using findings::Confidence;
using findings::Finding;
using test::evidence;
using test::mib;
using test::ms;
using test::Scenario;
using trace::Memory;

namespace {
constexpr std::uint64_t bytes = 8 * mib;
constexpr std::uint64_t copy_ns = 156'000; ///< at the rate of the link
/// Kernels before it are taken to run for a moment of it.
const auto roughly = boost::test_tools::tolerance(0.02);
} // namespace

/// Device memory that a kernel's parameter has reached, and copies between it and pinned memory.
struct Transfers : Scenario {
    const std::uint64_t kernel = function("kernel"), allocated = stack(), uploading = stack(),
                        downloading = stack(), setting = stack(), freeing = stack();
    const std::uint64_t table = allocate(bytes, Memory::device, allocated);
    const std::uint64_t other = allocate(bytes, Memory::device);

    Transfers() {
        upload(999);
        launch(kernel, {table, other});
    }
    /// `whole` 0: some bytes were looked at only.
    void upload(std::uint64_t part, std::uint64_t whole = 0, CopyOptions options = {}) {
        options.source = Memory::pinned;
        options.stack = uploading;
        options.to = table;
        options.part = part;
        options.whole = whole;
        copy(options.height != 0 ? 2 * bytes : bytes, copy_ns, options);
    }
    void download(std::uint64_t part, std::uint64_t whole, CopyOptions options = {}) {
        options.symbol = options.asynchronous ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoH_v2";
        options.source = Memory::device;
        options.destination = Memory::pinned;
        options.stack = downloading;
        options.from = table;
        options.part = part;
        options.whole = whole;
        copy(bytes, copy_ns, options);
    }
    std::vector<Finding> findings() { return test::findings_of(*this); }
    std::vector<std::string> rules() { return test::rules_of(findings()); }
    Finding lone(std::string_view id) { return test::lone(findings(), id); }
};

namespace {

using Rules = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(repeated_upload, Transfers)

BOOST_AUTO_TEST_CASE(the_same_bytes_again_and_again) {
    for (int round = 0; round < 10; ++round) {
        upload(1, 7);
        launch(kernel, {other});
    }
    const Finding finding = lone("UMA-106");
    BOOST_TEST(finding.stack == uploading);
    BOOST_TEST(finding.allocation_stack == allocated);
    BOOST_TEST(finding.summary.find("cudaMemcpy 8 MiB x 9 of the very bytes") != std::string::npos,
               finding.summary);
    BOOST_TEST(evidence(finding, "transfers") == 9);
    BOOST_TEST(finding.saving_ns == 9.0 * copy_ns, roughly);
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_AUTO_TEST_CASE(equal_parts_count_where_the_whole_was_equal_whenever_it_was_compared) {
    for (const int whole : {0, 0, 7, 7, 7, 0, 0})
        upload(1, static_cast<std::uint64_t>(whole));
    const Finding finding = lone("UMA-106");
    BOOST_TEST(evidence(finding, "transfers") == 6);
    BOOST_TEST(evidence(finding, "compared_in_part") == 4);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(equal_parts_alone_say_nothing) {
    for (int round = 0; round < 10; ++round)
        upload(1, round < 2 ? 7 : 0); // the whole was compared once
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_differs_in_the_whole_leaves_those_that_were_compared) {
    for (const int whole : {0, 7, 7, 7, 8, 8})
        upload(1, static_cast<std::uint64_t>(whole));
    const auto found = findings(); // and one was overwritten
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found.front().rule->id == "UMA-106");
    BOOST_TEST(evidence(found.front(), "transfers") == 3);
}

BOOST_AUTO_TEST_CASE(whatever_may_have_written_there_in_between) {
    const std::vector<std::function<void()>> writers{
        [&] { launch(kernel, {table}); },
        [&] {
            trace::LaunchShape shape; // its parameters are not known
            shape.shape = 2;
            shape.entry = entry("cuLaunchKernel");
            builder.add(shape);
            trace::Launch call;
            call.shape = 2;
            call.start = now;
            builder.add(call);
            now += 3000;
        },
        [&] {
            trace::GraphLaunch graph;
            graph.entry = entry("cuGraphLaunch");
            graph.start = now;
            builder.add(graph);
            now += 3000;
        },
        [&] {
            trace::Stream write;
            write.entry = entry("cuStreamWriteValue32_v2");
            write.start = now;
            write.action = trace::StreamAction::write_value;
            builder.add(write);
            now += 1000;
        },
        [&] {
            trace::Pause pause;
            pause.start = now;
            builder.add(pause);
            now += 1000;
        },
        [&] { upload(2, 0, {.height = 4}); }, // rows
        [&] { copy(mib, 1000, {.source = Memory::pinned, .origin = trace::Origin::umadvisor, .to = table}); },
    };
    for (const auto& write : writers)
        for (int round = 0; round < 4; ++round) {
            upload(1, 7);
            write();
        }
    BOOST_TEST(rules() == Rules{"UMA-114"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_same_bytes_beside_a_kernel_that_takes_them_as_const) {
    const std::uint64_t reads = function("_Z5triadPKfPff");
    upload(1, 7);
    upload(1, 7); // twice before the first kernel
    for (int round = 0; round < 3; ++round) {
        launch(reads, {table, other});
        upload(1, 7);
    }
    const Finding finding = lone("UMA-106");
    BOOST_TEST(evidence(finding, "transfers") == 4);
    BOOST_TEST(finding.saving_ns == 4.0 * copy_ns, roughly);
    Transfers written;
    for (int round = 0; round < 4; ++round) {
        written.upload(1, 7);
        written.launch(written.function("_Z5scalePfPKff"), {written.table, written.other});
    }
    BOOST_TEST(written.rules() == Rules{"UMA-114"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_that_no_parameter_ever_reaches) {
    const auto through_a_pointer = allocate(bytes, Memory::device);
    for (int round = 0; round < 10; ++round) {
        copy(bytes, ms,
             {.source = Memory::pinned, .stack = uploading, .to = through_a_pointer, .part = 1, .whole = 7});
        launch(kernel, {other});
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_that_others_reach) {
    trace::Ipc shared;
    shared.entry = entry("cuIpcGetMemHandle");
    shared.start = now;
    builder.add(shared);
    for (int round = 0; round < 10; ++round)
        upload(1, 7);
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(calls_that_the_trace_lacks) {
    for (int round = 0; round < 10; ++round)
        upload(1, 7);
    builder.dropped[trace::DropReason::size_cap] = 1;
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pageable_ones_are_not_counted_by_another_rule_too) {
    for (int round = 0; round < 10; ++round)
        copy(bytes, ms, {.stack = uploading, .to = table, .part = 1, .whole = 7});
    lone("UMA-106"); // what is left of the copies is one, which is not worth page-locking
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(same_source, Transfers)

BOOST_AUTO_TEST_CASE(the_same_start_for_each_round) {
    for (int round = 0; round < 10; ++round) {
        upload(1, 7);
        launch(kernel, {table}); // may write it
    }
    const Finding finding = lone("UMA-114");
    BOOST_TEST(finding.stack == uploading);
    BOOST_TEST(finding.allocation_stack == allocated);
    BOOST_TEST(evidence(finding, "transfers") == 9);
    // Nine copies inside the device, each a call and its bytes at 1.17 TB/s.
    BOOST_TEST(finding.saving_ns == 9 * (copy_ns - 2400 - bytes / 1170.0), roughly);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(memory_made_anew_for_each_round) {
    for (int round = 0; round < 10; ++round) {
        const auto brief = allocate(bytes, Memory::device);
        copy(bytes, ms, {.source = Memory::pinned, .stack = uploading, .to = brief, .part = 1, .whole = 7});
        launch(kernel, {brief});
        free(brief, 1000, freeing);
    }
    const auto found = findings();
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found.front().rule->id == "UMA-114");
    BOOST_TEST(evidence(found.front(), "transfers") == 9);
}

BOOST_AUTO_TEST_CASE(unchanged_in_most_rounds) {
    for (std::uint64_t round = 0; round < 60; ++round) {
        upload(1, round % 4 > 1 ? 0 : round < 56 ? 7 : 100 + round); // one in four is compared
        launch(kernel, {table});
        now += ms;
    }
    const Finding finding = lone("UMA-114");
    BOOST_TEST(evidence(finding, "transfers") == 14 + 44 * 14 / 15); // 14 of 15 were equal
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(those_that_were_not_looked_at_are_taken_for_alike_if_most_were) {
    const auto rounds = [](Transfers& program, std::uint64_t not_looked_at) {
        for (std::uint64_t round = 0; round < 12; ++round) {
            const bool looked = round >= not_looked_at;
            program.upload(looked ? 1 : 0, looked ? 7 : 0);
            program.launch(program.kernel, {program.table});
        }
    };
    rounds(*this, 4); // 7 of the 9 others, with the first of all, repeat one
    const Finding finding = lone("UMA-114");
    BOOST_TEST(evidence(finding, "transfers") == 7 + 4 * 7 / 9);
    BOOST_TEST(evidence(finding, "not_looked_at") == 4 * 7 / 9);
    BOOST_TEST(evidence(finding, "compared_in_part") == 0);
    BOOST_TEST((finding.confidence == Confidence::low));
    BOOST_TEST(finding.details.size() == 1u);
    Transfers few;
    rounds(few, 8);
    BOOST_TEST(evidence(few.lone("UMA-114"), "transfers") == 3);
}

BOOST_AUTO_TEST_CASE(other_bytes_in_each_round) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        upload(round, 100 + round);
        launch(kernel, {table});
        upload(1, 200 + round); // some bytes are equal
        launch(kernel, {table});
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(small_ones_cost_no_more_than_a_copy_inside_the_device) {
    for (int round = 0; round < 200; ++round) {
        copy(4096, 8000, {.source = Memory::pinned, .stack = uploading, .to = table, .part = 1, .whole = 7});
        launch(kernel, {table});
    }
    const Rules found = rules();
    BOOST_TEST(std::ranges::count(found, "UMA-114") == 0);
}

BOOST_AUTO_TEST_CASE(to_two_places) {
    const std::uint64_t second = stack();
    for (std::uint64_t round = 1; round <= 10; ++round) {
        upload(round); // the host has no time to write them in between
        copy(bytes, ms, {.source = Memory::pinned, .stack = second, .to = other, .part = round});
        launch(kernel, {table, other});
    }
    const Finding finding = lone("UMA-115");
    BOOST_TEST(finding.stack == second);
    BOOST_REQUIRE_EQUAL(finding.places.size(), 1u);
    BOOST_TEST(finding.places.front().second == uploading);
    BOOST_TEST(finding.saving_ns == 10 * (1e6 - 2400 - bytes / 1170.0), test::close);
}

BOOST_AUTO_TEST_CASE(two_places_with_time_to_write_the_bytes_anew) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        upload(round);
        now += ms;
        copy(bytes, ms, {.source = Memory::pinned, .to = other, .part = round});
        launch(kernel, {table, other});
    }
    const Rules found = rules();
    BOOST_TEST(std::ranges::count(found, "UMA-115") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(round_trip, Transfers)

BOOST_AUTO_TEST_CASE(unchanged_by_the_host) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        launch(kernel, {table});
        download(round, 100 + round);
        upload(round, 100 + round);
    }
    const Finding finding = lone("UMA-107");
    BOOST_TEST(finding.stack == uploading);
    BOOST_REQUIRE_EQUAL(finding.places.size(), 1u);
    BOOST_TEST(finding.places.front().second == downloading);
    BOOST_TEST(finding.saving_ns == 10.0 * copy_ns, roughly);
}

BOOST_AUTO_TEST_CASE(unchanged_by_the_host_and_compared_once_as_a_whole) {
    const auto rounds_of = [](std::uint64_t rounds) {
        Transfers t;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            t.launch(t.kernel, {t.table});
            t.download(round, round == 1 ? 7 : 0);
            t.upload(round, round == 1 ? 7 : 0);
        }
        return t.rules();
    };
    BOOST_TEST(rounds_of(9) == Rules{"UMA-107"}, boost::test_tools::per_element());
    // Fewer parts say nothing. What they may say keeps the rule on overlap silent, too.
    BOOST_TEST(rounds_of(8) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(changed_by_the_host) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        launch(kernel, {table});
        download(round, 100 + round);
        upload(round, 200 + round);
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_an_asynchronous_download_brought_is_told_later) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        launch(kernel, {table});
        const std::uint64_t start = now;
        download(0, 0, {.asynchronous = true, .content_follows = true});
        synchronize();
        trace::Content content;
        content.start = now;
        content.copy = start;
        content.content.part_hash = round;
        content.content.whole_hash = 100 + round;
        builder.add(content);
        now += 100;
        upload(round, 100 + round);
    }
    BOOST_TEST(lone("UMA-107").saving_ns == 10.0 * copy_ns, roughly);
}

BOOST_AUTO_TEST_CASE(a_kernel_after_the_download) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        download(round, 100 + round);
        launch(kernel, {table});
        upload(round, 100 + round);
        launch(kernel, {table});
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_part_of_what_was_downloaded) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
        launch(kernel, {table});
        download(1, 7);
        copy(bytes / 2, copy_ns / 2,
             {.source = Memory::pinned, .stack = uploading, .to = table, .part = 1, .whole = 7});
    }
    BOOST_TEST(rules() == Rules{"UMA-114"}, boost::test_tools::per_element()); // the host has sent it before
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(constant_upload, Transfers)

BOOST_AUTO_TEST_CASE(a_memory_set_would_do) {
    for (int round = 0; round < 10; ++round) {
        upload(1, 7, {.value_bytes = 1});
        launch(kernel, {table});
    }
    const Finding finding = lone("UMA-108");
    BOOST_TEST(finding.advice == "write it on the device: cudaMemset(destination, 0, bytes)");
    // Ten sets, each a call and its bytes at 2.8 TB/s.
    BOOST_TEST(finding.saving_ns == 10 * (copy_ns - 2400 - bytes / 2.8e3), roughly);
    machine::Rates rates;
    rates.launch_call_ns = 50'000;
    const Finding calibrated = test::lone(test::findings_of(*this, rates), "UMA-108");
    BOOST_TEST(calibrated.saving_ns == 10 * (copy_ns - 50'000 - bytes / 2.8e3), roughly);
}

BOOST_AUTO_TEST_CASE(parts_count_where_the_whole_was_one_value_whenever_it_was_looked_at) {
    for (const std::uint64_t whole : {7, 7, 0, 0, 0}) {
        upload(1, whole, {.value_bytes = 1});
        launch(kernel, {table});
    }
    const Finding finding = lone("UMA-108");
    BOOST_TEST(evidence(finding, "transfers") == 5);
    BOOST_TEST(evidence(finding, "compared_in_part") == 3);
    upload(1, 8); // another is not, though its part is the same
    launch(kernel, {table});
    BOOST_TEST(evidence(lone("UMA-108"), "transfers") == 2);
}

BOOST_AUTO_TEST_CASE(parts_alone_say_nothing) {
    for (int round = 0; round < 10; ++round) {
        upload(1, 0, {.value_bytes = 1});
        launch(kernel, {table});
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(many_buffers_of_one_value_that_are_uploaded_once_each) {
    const auto upload_each = [](Transfers& s, int count) {
        for (int i = 0; i < count; ++i) {
            const auto zeros = s.allocate(bytes, Memory::device, s.stack());
            s.copy(bytes, ms,
                   {.stack = s.stack(), .to = zeros, .part = 1, .value_bytes = 1}); // a part is looked at
            s.launch(s.kernel, {zeros});
        }
    };
    upload_each(*this, 15);
    const auto found = findings();
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found.front().rule->id == "UMA-108");
    BOOST_TEST(evidence(found.front(), "transfers") == 15);
    BOOST_TEST(evidence(found.front(), "compared_in_part") == 15);
    BOOST_TEST(found.front().places.size() == 14u);
    BOOST_TEST(found.front().details.size() == 1u);
    BOOST_TEST(found.front().saving_ns == 15 * (1e6 - 2400 - bytes / 2.8e3), roughly);
    for (const Finding& finding : found)
        BOOST_TEST(finding.rule->id != "UMA-101");
    Transfers few, differs;
    upload_each(few, 3);
    for (const std::string& rule : few.rules())
        BOOST_TEST(rule != "UMA-108");
    upload_each(differs, 15);
    differs.upload(1, 7, {.value_bytes = 1});
    differs.launch(differs.kernel, {differs.table});
    differs.upload(1, 8); // the whole of one is no single value, though its part is
    differs.launch(differs.kernel, {differs.table});
    for (const Finding& finding : differs.findings())
        if (finding.rule->id == "UMA-108")
            BOOST_TEST(evidence(finding, "transfers") == 1);
}

BOOST_AUTO_TEST_CASE(words_are_set_by_another_call) {
    for (int round = 0; round < 10; ++round) {
        upload(1, 7, {.value_bytes = 4, .value = 0x3f800000});
        launch(kernel, {table});
    }
    const Finding finding = lone("UMA-108");
    BOOST_TEST(finding.advice.find("cuMemsetD32(destination, 0x3f800000, bytes / 4)") != std::string::npos,
               finding.advice);
}

BOOST_AUTO_TEST_CASE(the_same_value_again_is_a_repeated_upload) {
    for (int round = 0; round < 10; ++round)
        upload(1, 7, {.value_bytes = 1});
    const auto found = findings();
    BOOST_REQUIRE_EQUAL(found.size(), 2u);
    BOOST_TEST(found[0].rule->id == "UMA-106");
    BOOST_TEST(evidence(found[0], "transfers") == 9);
    BOOST_TEST(evidence(found[1], "transfers") == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(unused_transfer, Transfers)

BOOST_AUTO_TEST_CASE(overwritten_before_any_use) {
    for (std::uint64_t round = 0; round < 10; ++round) {
        upload(2 * round);
        copy(bytes, copy_ns,
             {.source = Memory::pinned, .stack = downloading, .to = table, .part = 2 * round + 1});
        launch(kernel, {table});
    }
    const Finding finding = lone("UMA-303");
    BOOST_TEST(finding.stack == uploading);
    BOOST_REQUIRE_EQUAL(finding.places.size(), 1u);
    BOOST_TEST(finding.places.front().second == downloading);
    BOOST_TEST(finding.saving_ns == 10.0 * copy_ns, roughly);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(freed_before_any_use) {
    for (int round = 0; round < 4; ++round) {
        const auto brief = allocate(bytes, Memory::device);
        copy(bytes, copy_ns, {.source = Memory::pinned, .stack = uploading, .to = brief});
        free(brief, 1000, freeing);
    }
    const Finding finding = lone("UMA-303");
    BOOST_TEST(finding.saving_ns == 4.0 * copy_ns, roughly);
    BOOST_TEST(finding.places.front().second == freeing);
}

BOOST_AUTO_TEST_CASE(memory_sets_are_priced_by_the_rate_of_the_memory) {
    for (int round = 0; round < 100; ++round) {
        set(table, bytes, setting);
        upload(static_cast<std::uint64_t>(round));
        launch(kernel, {table});
    }
    const Finding finding = lone("UMA-303");
    BOOST_TEST(finding.stack == setting);
    BOOST_TEST(finding.saving_ns == 100 * 3000.0); // more than 8 MiB at 2.8 TB/s
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(whatever_may_have_used_it) {
    for (std::uint64_t round = 0; round < 10; ++round) {
        upload(3 * round);
        launch(kernel, {table});
        upload(3 * round + 1);
        download(0, 0);
        upload(3 * round + 2);
        copy(bytes, 5000, {.symbol = "cuMemcpyDtoD_v2", .source = Memory::device, .from = table, .to = other});
        launch(kernel, {other});
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(overwritten_in_part) {
    for (std::uint64_t round = 0; round < 10; ++round) {
        upload(round);
        copy(bytes / 2, copy_ns / 2, {.source = Memory::pinned, .to = table});
        launch(kernel, {table});
    }
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_of_others_and_variables) {
    trace::Alloc variable;
    variable.entry = entry("cuModuleGetGlobal_v2");
    variable.start = now;
    variable.allocation = 5000;
    variable.address = 0x7f00'0000'0000 + (5000ull << 32);
    variable.bytes = bytes;
    variable.memory = Memory::device;
    variable.symbol = 1;
    builder.add(variable);
    for (int round = 0; round < 10; ++round)
        copy(bytes, copy_ns, {.source = Memory::pinned, .to = 5000});
    BOOST_TEST(rules() == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
