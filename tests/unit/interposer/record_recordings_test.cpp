/// Several recordings of one process, and rings.
#include "interposer/record/alive.hpp"
#include "interposer/record/current_context.hpp"
#include "interposer/record/sink.hpp"
#include "record_image.hpp"
#include "tests/unit/in_threads.hpp"
#include "trace/segment.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(record_recordings)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

bool follow_for_later() {
    Following following{};
    following.for_later = true;
    return follow(following) == nullptr;
}

bool begin(const std::string& path, std::uint64_t ring_bytes = 0, std::uint64_t ring_ns = 0) {
    Settings settings{};
    settings.path = path.c_str();
    settings.cause = ring_bytes + ring_ns != 0 ? trace::PauseCause::ring : trace::PauseCause::attach;
    settings.why = "asked";
    settings.ring_bytes = ring_bytes;
    settings.ring_ns = ring_ns;
    if (record::open(settings) != nullptr)
        return false;
    resume();
    return true;
}

bool finish() {
    record::pause();
    return record::end();
}

void allocate(std::uint64_t id) {
    trace::Alloc alloc;
    alloc.start = record::now();
    alloc.allocation = trace::AllocationId{id};
    alloc.address = 0x1000 * id;
    alloc.bytes = 16 * id;
    record::write(alloc);
}

void free_again(std::uint64_t id) {
    trace::Free freed;
    freed.start = record::now();
    freed.allocation = trace::AllocationId{id};
    freed.address = 0x1000 * id;
    record::write(freed);
}

void synchronize(std::uint64_t object) {
    trace::Sync sync{.object = object};
    sync.start = record::now();
    record::write(sync);
}

std::set<std::uint64_t> alive_in(const TraceImage& image) {
    std::set<std::uint64_t> ids;
    image.each_record([&]<class Record>(const trace::ChunkHeader& chunk, const Record& record) {
        if constexpr (std::is_same_v<Record, trace::Alloc>)
            if (chunk.kind == trace::ChunkKind::state) {
                const auto id = static_cast<std::uint64_t>(record.allocation);
                BOOST_TEST(record.address == 0x1000 * id);
                BOOST_TEST(record.bytes == 16 * id);
                ids.insert(id);
            }
    });
    return ids;
}

std::vector<std::uint64_t> syncs_in(const TraceImage& image) {
    std::vector<std::uint64_t> objects;
    for (const trace::Sync& sync : image.all<trace::Sync>())
        objects.push_back(sync.object);
    return objects;
}

using Ids = std::set<std::uint64_t>;
using Objects = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_CASE(each_recording_is_a_trace_of_its_own_with_what_is_alive) {
    const ScratchDirectory scratch;
    BOOST_TEST(succeeds_in_child([&] {
        bool good = follow_for_later();
        recorded_context() = {77, 1};
        const std::uint64_t text = string_id("before");
        allocate(1);
        allocate(2);
        synchronize(1);
        free_again(1);
        good = good && begin(scratch / "first");
        synchronize(2);
        allocate(3);
        good = good && finish();
        synchronize(3);
        free_again(2);
        allocate(4);
        good = good && begin(scratch / "second");
        synchronize(4);
        return good && finish() && text == string_id("before");
    }));
    const TraceImage first(scratch / "first"), second(scratch / "second");
    BOOST_TEST(alive_in(first) == (Ids{2}), boost::test_tools::per_element());
    BOOST_TEST(alive_in(second) == (Ids{3, 4}), boost::test_tools::per_element());
    BOOST_TEST(syncs_in(first) == (Objects{2}), boost::test_tools::per_element());
    BOOST_TEST(syncs_in(second) == (Objects{4}), boost::test_tools::per_element());
    for (const TraceImage* const image : {&first, &second}) {
        BOOST_TEST(image->is_closed());
        BOOST_TEST(image->header().late == 1);
        BOOST_REQUIRE(image->all<trace::Recording>().size() == 1);
        BOOST_TEST(image->all<trace::Recording>()[0].why == "asked");
        BOOST_TEST(image->all<trace::Process>().size() == 1);
        BOOST_TEST(image->all<trace::Thread>().size() == 1);
        bool defined = false;
        for (const trace::String& string : image->all<trace::String>())
            defined = defined || string.text == "before";
        BOOST_TEST(defined);
        const auto contexts = image->all<trace::Context>(); // the thread's current one
        BOOST_REQUIRE(contexts.size() == 1);
        BOOST_TEST(contexts[0].context == 77);
        BOOST_TEST(contexts[0].device == 1);
    }
    BOOST_TEST(second.all<trace::Recording>()[0].number == 2);
}

BOOST_AUTO_TEST_CASE(nothing_is_written_while_nothing_is_asked_for) {
    const ScratchDirectory scratch;
    BOOST_TEST(succeeds_in_child([&] {
        bool good = follow_for_later();
        for (std::uint64_t i = 1; i <= 10'000; ++i) {
            allocate(i);
            synchronize(i);
            free_again(i);
        }
        return good && std::filesystem::is_empty(scratch / "");
    }));
}

/// Threads that record all the time, through a thousand recordings: what a thread has written between the
/// return of begin() and the call of finish() is there.
BOOST_AUTO_TEST_CASE(no_record_of_what_was_on_is_lost) {
    constexpr std::uint64_t threads = 3, recordings = 100;
    const ScratchDirectory scratch;
    struct Part { // first and last number that must be there, of each thread
        std::uint64_t first[threads], last[threads];
    };
    int pipe_ends[2];
    BOOST_REQUIRE(pipe(pipe_ends) == 0);
    BOOST_REQUIRE(succeeds_in_child([&] {
        bool good = follow_for_later();
        std::atomic<bool> over{false};
        std::atomic<std::uint64_t> done[threads]{};
        std::vector<std::thread> workers;
        for (std::uint64_t thread = 0; thread < threads; ++thread)
            workers.emplace_back([&, thread] {
                for (std::uint64_t i = 1; !over; ++i) {
                    allocate(thread << 32 | i);
                    if (may_take(Taking::everything))
                        synchronize(thread << 32 | i);
                    free_again(thread << 32 | i);
                    done[thread].store(i);
                }
            });
        for (std::uint64_t i = 0; i < recordings; ++i) {
            const std::string path = scratch / ("t" + std::to_string(i)).c_str();
            Part part{};
            good = good && begin(path);
            for (std::uint64_t thread = 0; thread < threads; ++thread)
                part.first[thread] = done[thread].load() + 2; // the one that is under way may have begun before
            std::this_thread::sleep_for(std::chrono::microseconds(500));
            for (std::uint64_t thread = 0; thread < threads; ++thread)
                part.last[thread] = done[thread].load();
            good = finish() && good;
            good = good && write(pipe_ends[1], &part, sizeof part) == sizeof part;
        }
        over = true;
        for (std::thread& worker : workers)
            worker.join();
        return good;
    }));
    std::uint64_t checked = 0;
    for (std::uint64_t i = 0; i < recordings; ++i) {
        Part part{};
        BOOST_REQUIRE(read(pipe_ends[0], &part, sizeof part) == sizeof part);
        const TraceImage image(scratch / ("t" + std::to_string(i)).c_str());
        std::map<std::uint64_t, int> found, made;
        for (const std::uint64_t object : syncs_in(image))
            ++found[object];
        for (const trace::Alloc& alloc : image.all<trace::Alloc>())
            ++made[static_cast<std::uint64_t>(alloc.allocation)];
        for (std::uint64_t thread = 0; thread < threads; ++thread)
            for (std::uint64_t each = part.first[thread]; each <= part.last[thread]; ++each, ++checked) {
                BOOST_REQUIRE(found[thread << 32 | each] == 1);
                BOOST_REQUIRE(made[thread << 32 | each] == 1);
            }
        for (const auto& [id, count] : made)
            BOOST_REQUIRE(count == 1);
    }
    BOOST_TEST(checked > 100u);
}

BOOST_AUTO_TEST_CASE(a_ring_keeps_the_last_part_and_no_more_than_its_length) {
    constexpr std::uint64_t ring = 4 << 20, count = 4'000'000, alive_id = 7;
    const ScratchDirectory scratch;
    const std::string path = scratch / "ring";
    BOOST_TEST(succeeds_in_child([&] {
        bool good = follow_for_later();
        allocate(alive_id);
        good = good && begin(path, ring);
        for (std::uint64_t i = 1; i <= count; ++i)
            synchronize(i);
        record::close();
        return good;
    }));
    const TraceImage image(path);
    BOOST_TEST(image.bytes_on_disk() < ring + (ring >> 2));
    std::uint64_t first_lap = 0;
    std::ifstream file(path, std::ios::binary);
    file.seekg(trace::first_lap_offset);
    file.read(reinterpret_cast<char*>(&first_lap), sizeof first_lap);
    BOOST_TEST(first_lap > 10u);
    std::set<std::uint64_t> objects;
    std::set<std::uint64_t> ids;
    image.each_record([&]<class Record>(const trace::ChunkHeader& chunk, const Record& record) {
        if (chunk.lap < first_lap)
            return;
        if constexpr (std::is_same_v<Record, trace::Sync>)
            objects.insert(record.object);
        if constexpr (std::is_same_v<Record, trace::Alloc>)
            if (chunk.kind == trace::ChunkKind::state && chunk.lap == first_lap)
                ids.insert(static_cast<std::uint64_t>(record.allocation));
    });
    BOOST_TEST(ids.contains(alive_id));
    BOOST_REQUIRE(!objects.empty());
    BOOST_TEST(*objects.rbegin() == count);
    BOOST_TEST(objects.size() == count - *objects.begin() + 1); // without a gap
    BOOST_TEST(objects.size() > 100'000u);
}

BOOST_AUTO_TEST_CASE(a_ring_of_a_killed_program_can_be_read) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "ring";
    const int status = run_in_child([&] {
        bool good = follow_for_later() && begin(path, 4 << 20);
        for (std::uint64_t i = 1; i <= 1'000'000; ++i)
            synchronize(i);
        if (good)
            raise(SIGKILL);
        return 1;
    });
    BOOST_TEST(WIFSIGNALED(status));
    const TraceImage image(path);
    std::uint64_t last = 0;
    for (const std::uint64_t object : syncs_in(image))
        last = std::max(last, object);
    BOOST_TEST(last == 1'000'000u);
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_closed_and_the_ring_goes_on) {
    const ScratchDirectory scratch;
    BOOST_TEST(succeeds_in_child([&] {
        bool good = follow_for_later();
        allocate(5);
        good = good && begin(scratch / "ring", 4 << 20);
        synchronize(1);
        good = good && snapshot((scratch / "whole").c_str(), true, "out of memory") == nullptr;
        good = good && snapshot((scratch / "whole").c_str(), true, "") != nullptr; // it exists
        synchronize(2);
        good = good && snapshot((scratch / "state").c_str(), false, "") == nullptr;
        record::close();
        return good;
    }));
    const TraceImage whole(scratch / "whole"), state(scratch / "state"), ring(scratch / "ring");
    BOOST_TEST(whole.is_closed());
    BOOST_TEST(syncs_in(whole) == (Objects{1}), boost::test_tools::per_element());
    BOOST_TEST(syncs_in(ring) == (Objects{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(syncs_in(state).empty());
    BOOST_TEST(alive_in(state) == (Ids{5}), boost::test_tools::per_element());
    BOOST_TEST(state.all<trace::Process>().size() == 1);
    bool noted = false;
    for (const trace::Notice& notice : whole.all<trace::Notice>())
        noted = noted || notice.text == "out of memory";
    BOOST_TEST(noted);
}

BOOST_AUTO_TEST_SUITE_END()
