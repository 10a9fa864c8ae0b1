/// UMA-123: write-combined memory that the host reads.
#include "found.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_write_combined)

using namespace umadvisor;
using findings::Confidence;
using findings::Finding;
using test::mib;
using test::ms;
using trace::Memory;

namespace {

struct Combined : test::Scenario {
    static constexpr std::uint64_t bytes = 16 * mib;
    std::uint64_t line = stack(), host_line = stack();
    std::uint64_t data = allocate(bytes, Memory::device), host;

    explicit Combined(std::uint64_t flags = 4) {
        trace::Alloc record;
        record.entry = entry("cuMemHostAlloc");
        record.start = now;
        record.stack = host_line;
        record.allocation = host = 900;
        record.address = 0x7f80'0000'0000;
        record.bytes = bytes;
        record.memory = Memory::pinned;
        record.flags = flags;
        builder.add(record);
        now += 1000;
    }
    void download(std::uint64_t duration = 300'000, bool asynchronous = false) {
        copy(bytes, duration,
             {.symbol = asynchronous ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoH_v2",
              .source = Memory::device,
              .destination = Memory::pinned,
              .stack = line,
              .asynchronous = asynchronous,
              .from = data,
              .to = host});
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
    std::vector<Finding> found() {
        synchronize();
        auto found = test::findings_of(*this);
        std::erase_if(found, [](const Finding& finding) { return finding.rule->id != "UMA-123"; });
        return found;
    }
};

constexpr double cached_ns = Combined::bytes / 10.0, uncached_ns = Combined::bytes / 0.2;

} // namespace

BOOST_AUTO_TEST_CASE(copies_out_of_it_show_how_slow_it_is) {
    Combined s;
    for (int i = 0; i < 5; ++i)
        s.copy_out(80 * ms);
    const Finding finding = test::lone(s.found(), "UMA-123");
    BOOST_TEST(finding.saving_ns == 5 * (80 * ms - cached_ns), test::nearly);
    BOOST_TEST(finding.stack == s.line);
    BOOST_TEST(finding.allocation_stack == s.host_line);
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_AUTO_TEST_CASE(a_host_that_is_busy_behind_a_download_reads_it) {
    Combined s;
    for (int i = 0; i < 5; ++i) {
        s.download();
        s.now += 60 * ms;
        s.download(2000, true);
        s.synchronize({.duration = 300'000});
        s.now += 200 * ms; // longer than reading takes
    }
    const Finding finding = test::lone(s.found(), "UMA-123");
    BOOST_TEST(finding.saving_ns == 5 * (60 * ms + uncached_ns - 2 * cached_ns), test::nearly);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(memory_without_the_flag_is_clean) {
    Combined s(0);
    for (int i = 0; i < 5; ++i) {
        s.download();
        s.now += 60 * ms;
        s.copy_out(80 * ms);
    }
    test::nothing_in(s.found());
}

BOOST_AUTO_TEST_CASE(what_the_host_only_writes_is_what_the_flag_is_for) {
    Combined s;
    for (int i = 0; i < 5; ++i) {
        s.now += 60 * ms;
        s.upload();
    }
    test::nothing_in(s.found());
}

BOOST_AUTO_TEST_CASE(a_host_that_goes_on_at_once_has_not_read_it) {
    Combined s;
    for (int i = 0; i < 50; ++i) {
        s.download();
        s.now += 10 * ms;
    }
    test::nothing_in(s.found());
}

BOOST_AUTO_TEST_CASE(what_goes_up_again_is_passed_on) {
    Combined s;
    for (int i = 0; i < 5; ++i) {
        s.download();
        s.now += 60 * ms;
        s.upload();
    }
    test::nothing_in(s.found());
}

BOOST_AUTO_TEST_SUITE_END()
