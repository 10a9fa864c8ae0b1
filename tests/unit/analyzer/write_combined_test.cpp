/// UMA-123: write-combined memory that the host reads.
#include "found.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_write_combined, *umadvisor::test::on_rules("UMA-123"))

using namespace umadvisor;
using namespace umadvisor::test;

struct Combined : Scenario {
    static constexpr std::uint64_t bytes = 16 * mib;
    std::uint64_t line = stack(), host_line = stack();
    std::uint64_t data = allocate(bytes, Memory::device), host;

    explicit Combined(std::uint64_t flags = 4)
        : host(allocate(bytes, Memory::pinned, {.stack = host_line, .flags = flags})) {}

    void download(std::uint64_t duration = 300'000, bool asynchronous = false) {
        Scenario::download(bytes, duration,
                           {.stack = line, .asynchronous = asynchronous, .from = data, .to = host});
    }
    void upload() { copy(bytes, 300'000, {.source = Memory::pinned, .stack = line, .from = host, .to = data}); }
    void copy_out(std::uint64_t duration) {
        copy(bytes, duration,
             {.symbol = "cuMemcpy",
              .source = Memory::pinned,
              .destination = Memory::pageable,
              .stack = line,
              .from = host});
    }
    Found found() {
        synchronize();
        return findings_of(*this);
    }
    /// Rounds of a download, and of what the host does then.
    template <class Then>
    Found rounds(int count, std::uint64_t rest, const Then& then) {
        for (int i = 0; i < count; ++i) {
            download();
            now += rest;
            then();
        }
        return found();
    }
};

constexpr double cached_ns = Combined::bytes / 10.0, uncached_ns = Combined::bytes / 0.2;

BOOST_FIXTURE_TEST_CASE(copies_out_of_it_show_how_slow_it_is, Combined) {
    for (int i = 0; i < 5; ++i)
        copy_out(80 * ms);
    const Finding finding = lone(found(), "UMA-123");
    BOOST_TEST(finding.saving_ns == 5 * (80 * ms - cached_ns), nearly);
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(finding.allocation_stack == host_line);
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_FIXTURE_TEST_CASE(a_host_that_is_busy_behind_a_download_reads_it, Combined) {
    const Finding finding = lone(rounds(5, 60 * ms,
                                        [&] {
                                            download(2000, true);
                                            synchronize({.duration = 300'000});
                                            now += 200 * ms; // longer than reading takes
                                        }),
                                 "UMA-123");
    BOOST_TEST(finding.saving_ns == 5 * (60 * ms + uncached_ns - 2 * cached_ns), nearly);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(memory_without_the_flag_is_clean) {
    Combined s(0);
    nothing_in(s.rounds(5, 60 * ms, [&] { s.copy_out(80 * ms); }));
}

BOOST_FIXTURE_TEST_CASE(what_the_host_only_writes_is_what_the_flag_is_for, Combined) {
    for (int i = 0; i < 5; ++i) {
        now += 60 * ms;
        upload();
    }
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(a_host_that_goes_on_at_once_has_not_read_it, Combined) {
    nothing_in(rounds(50, 10 * ms, [] {}));
}

BOOST_FIXTURE_TEST_CASE(what_goes_up_again_is_passed_on, Combined) {
    nothing_in(rounds(5, 60 * ms, [&] { upload(); }));
}

BOOST_AUTO_TEST_SUITE_END()
