#include "record_image.hpp"

#include "interposer/record/number_table.hpp"
#include "tests/unit/in_threads.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/resource.h>

BOOST_AUTO_TEST_SUITE(record_limits)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

bool set_limit(__rlimit_resource of, std::uint64_t to) {
    const rlimit limit{to, to};
    return setrlimit(of, &limit) == 0;
}

void write_allocs(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        trace::Alloc alloc{
            .allocation = trace::AllocationId{i + 1}, .address = 0x7f0000000000 + i * 4096, .bytes = 4096};
        alloc.start = record::now();
        record::write(alloc);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(at_the_size_cap_records_are_counted) {
    constexpr std::uint64_t count = 200'000, cap = 1'000'000;
    const TraceImage image = recorded({.max_bytes = cap}, [&] {
        write_allocs(count);
        // Definitions still have their chunk: events that nobody can name are worth nothing.
        for (int i = 0; i < 5000; ++i)
            record::string_id("a text that fills the dictionary, number " + std::to_string(i));
        record::close();
        return said().find("size cap") != said().npos && said().find('\n') == said().size() - 1;
    });
    BOOST_TEST(image.size() <= cap);
    const auto kept = image.all<trace::Alloc>();
    const std::uint64_t strings = image.all<trace::String>().size();
    BOOST_TEST(!kept.empty());
    BOOST_TEST(strings > 1000u);
    BOOST_TEST(kept.size() + strings + image.dropped(trace::DropReason::size_cap) == count + 5000);
    for (std::size_t i = 0; i < kept.size(); ++i) // the first ones, without a gap
        BOOST_TEST_REQUIRE(number(kept[i].allocation) == i + 1);
    BOOST_TEST(image.is_closed());
}

BOOST_AUTO_TEST_CASE(a_full_disk_neither_kills_nor_blocks) {
    constexpr std::uint64_t count = 400'000;
    // SIGXFSZ keeps its default here: it would kill the program if the recorder ran into the limit.
    const auto before = [] { return set_limit(RLIMIT_FSIZE, 3'000'000); };
    const TraceImage image = recorded({.before = before}, [] {
        test::in_threads(4, [](std::size_t) { write_allocs(count / 4); });
        return said().find("full") != said().npos && said().find('\n') == said().size() - 1;
    });
    BOOST_TEST(image.size() <= 3'000'000u);
    BOOST_TEST(image.size() > 2'900'000u); // to the last blocks
    BOOST_TEST(image.all<trace::Alloc>().size() + image.dropped(trace::DropReason::disk_full) == count);
}

/// For the first page, or for the first records.
BOOST_AUTO_TEST_CASE(no_space_to_begin_with_is_told_and_leaves_no_file) {
    for (const std::uint64_t room : {1000u, trace::header_bytes + 1000u}) {
        const ScratchDirectory scratch;
        const std::string path = scratch / "t.umtrace";
        BOOST_TEST(succeeds_in_child([&] {
                       const char* why = set_limit(RLIMIT_FSIZE, room) ? open_trace(path) : "";
                       write_allocs(10);
                       // Who asked says it; that the trace is full would be untrue: there is none.
                       return why != nullptr && std::strstr(why, "File too large") != nullptr && said().empty();
                   }),
                   room);
        BOOST_TEST(!std::filesystem::exists(path));
    }
}

BOOST_AUTO_TEST_CASE(a_definition_larger_than_a_chunk_is_counted) {
    const TraceImage image = recorded([&] {
        const std::string text(trace::max_text, 'x');
        trace::Process process;
        process.executable = process.command_line = process.directory = process.host = process.rank = text;
        record::define(process);
        record::string_id(text);
    });
    BOOST_TEST(image.dropped(trace::DropReason::oversized) == 1u);
    BOOST_TEST(image.all<trace::Process>().size() == 1u); // its own
    BOOST_TEST(image.all<trace::String>().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_few_descriptors_are_enough) {
    const TraceImage image = recorded({.before = [] { return set_limit(RLIMIT_NOFILE, 32); }}, [] {
        write_allocs(200'000);
        return said().empty();
    });
    BOOST_TEST(image.all<trace::Alloc>().size() == 200'000u);
}

BOOST_AUTO_TEST_CASE(a_full_table_of_numbers_gives_those_that_it_gave) {
    NumberTable table(Bound::python_frames, 3);
    bool fresh = false;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        BOOST_TEST(table.number(i, 0, fresh) == i);
        BOOST_TEST(fresh);
    }
    BOOST_TEST(table.number(4, 0, fresh) == 0u);
    BOOST_TEST(!fresh);
    BOOST_TEST(table.number(2, 0, fresh) == 2u);
    BOOST_TEST(!fresh);
}

BOOST_AUTO_TEST_SUITE_END()
