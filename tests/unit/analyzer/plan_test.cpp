/// Plans: what a trace says of allocations that are shared with other processes.
#include "analyzer/reports/plan.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(analyzer_plan)

using namespace umadvisor;
using nlohmann::ordered_json;
using test::mib;

namespace {

/// Allocates under --act rewrite, and shares.
struct Sharing : test::Scenario {
    std::uint64_t site(std::uint64_t key) {
        trace::Frame frame;
        frame.id = 1000 + ++frames_;
        frame.address = 0x400000 + frame.id * 16;
        frame.key = key;
        builder.add(frame);
        return frame.id;
    }
    std::uint64_t rewritten(std::uint64_t stack) {
        return allocate(2 * mib, trace::Memory::managed, stack, trace::Origin::umadvisor, "cuMemAlloc_v2");
    }
    void left(std::uint64_t stack) {
        trace::Alloc record;
        record.entry = entry("cuMemAlloc_v2");
        record.start = now;
        record.stack = stack;
        record.memory = trace::Memory::device;
        record.bytes = mib;
        record.reason = trace::Reason::never_rewrite;
        builder.add(record);
        now += 1000;
    }
    void share(std::uint64_t allocation, std::uint64_t offset = 0, std::uint64_t status = 1,
               trace::IpcAction action = trace::IpcAction::export_memory) {
        trace::Ipc record;
        record.entry = entry("cuIpcGetMemHandle");
        record.start = now;
        record.action = action;
        record.address = 0x7f00'0000'0000 + (allocation << 32) + offset;
        record.status = status;
        builder.add(record);
        now += 1000;
    }

private:
    std::uint64_t frames_ = 0;
};

ordered_json sites(const std::string& path) {
    reports::Report report(path);
    reports::Plan plan;
    plan.add(report);
    return plan.document()["never_rewrite"];
}

} // namespace

BOOST_AUTO_TEST_CASE(what_could_not_be_shared_is_never_rewritten) {
    Sharing program;
    const std::uint64_t first = program.rewritten(program.site(0xabc)),
                        second = program.rewritten(program.site(0xdef));
    program.rewritten(program.site(0x123));
    program.share(first, mib);
    program.share(second);
    program.share(second);
    const ordered_json told = sites(program.path());
    BOOST_TEST_REQUIRE(told.size() == 2u);
    BOOST_TEST(told[0]["key"] == "0000000000000abc");
    BOOST_TEST(told[0]["why"].get<std::string>().find("shared with other processes") != std::string::npos);
    BOOST_TEST(told[1]["key"] == "0000000000000def");
}

BOOST_AUTO_TEST_CASE(what_was_not_refused_or_is_not_ours_is_left_out) {
    Sharing program;
    const std::uint64_t fine = program.rewritten(program.site(1)), gone = program.rewritten(program.site(2)),
                        nameless = program.rewritten(program.site(0)),
                        theirs = program.allocate(mib, trace::Memory::managed, program.site(3));
    program.share(fine, 0, 0);
    program.share(fine, 2 * mib); // just behind it
    program.share(fine, 0, 1, trace::IpcAction::close_memory);
    program.free(gone);
    program.share(gone);
    program.share(nameless);
    program.share(theirs);
    program.share(0);
    BOOST_TEST(sites(program.path()).empty());
}

BOOST_AUTO_TEST_CASE(what_the_last_plan_named_is_kept) {
    Sharing program;
    const std::uint64_t both = program.site(7);
    program.left(program.site(5));
    program.left(both);
    program.share(program.rewritten(both));
    const ordered_json told = sites(program.path());
    BOOST_TEST_REQUIRE(told.size() == 2u);
    BOOST_TEST(told[0]["key"] == "0000000000000005");
    BOOST_TEST(told[0]["why"] == "an earlier plan names it");
    BOOST_TEST(told[1]["why"] != told[0]["why"]);
}

BOOST_AUTO_TEST_SUITE_END()
