/// Traces that have a part of a run: what was alive before it, and the laps of a ring.
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/trace.hpp"
#include "trace/encoder.hpp"
#include "trace/segment.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_reader_parts)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

/// As it stands in a chunk of what was alive: with no record before it.
template <class Record>
std::vector<std::uint8_t> alone(const Record& record) {
    std::vector<std::uint8_t> bytes(trace::encoded_bound(record));
    trace::DeltaState state;
    bytes.resize(static_cast<std::size_t>(trace::encode(bytes.data(), record, state) - bytes.data()));
    return bytes;
}

trace::Alloc allocated(std::uint64_t id) {
    trace::Alloc alloc;
    alloc.start = 10;
    alloc.duration = 4;
    alloc.allocation = trace::AllocationId{id};
    alloc.address = id << 20;
    alloc.bytes = 4096;
    return alloc;
}

trace::Sync waited(std::uint64_t start, std::uint64_t duration, std::uint64_t object) {
    trace::Sync sync;
    sync.start = start;
    sync.duration = duration;
    sync.object = object;
    return sync;
}

/// A ring of which laps 2 and 3 are there, and a chunk of lap 1 whose place was not used again. The chunks are
/// in the order of their places.
struct Ring {
    TraceBuilder builder;
    std::vector<std::uint8_t> bytes;

    static constexpr std::uint32_t laps[] = {3, 1, 2, 2, 3};
    static constexpr std::uint64_t begins[] = {6'000, 1'000, 5'100, 5'000, 6'000};

    Ring() {
        builder.first = {5'000, 5'000};
        for (const std::uint64_t object : {3u, 1u, 2u}) {
            builder.add(waited(1'000 + object, 0, object), 5);
            builder.next_chunk(5);
        }
        for (const std::uint64_t id : {7u, 8u}) {
            builder.add_raw(alone(allocated(id)), 9);
            builder.add_raw(
                alone(trace::Pause{.start = 5'000, .recording = 1, .cause = trace::PauseCause::ring}), 9);
            builder.next_chunk(9);
        }
        bytes = builder.bytes();
        put(offsetof(trace::FileHeader, late), std::uint16_t{1});
        put(trace::first_lap_offset, std::uint64_t{2});
        for (std::size_t i = 0; i < std::size(laps); ++i) {
            put(chunk(i) + offsetof(trace::ChunkHeader, lap), laps[i]);
            put(chunk(i) + offsetof(trace::ChunkHeader, base_time), begins[i]);
        }
        for (const std::size_t i : {3u, 4u}) {
            put(chunk(i) + offsetof(trace::ChunkHeader, kind), trace::ChunkKind::state);
            put(chunk(i) + offsetof(trace::ChunkHeader, thread), std::uint32_t{0});
        }
    }

    std::size_t chunk(std::size_t number) const { return builder.header_bytes + number * builder.chunk_size; }

    template <class Value>
    void put(std::size_t at, const Value& value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }

    struct Read {
        std::string events; ///< numbers of what was read
        bool whole;
        std::vector<trace::Alloc> alive;
    };
    Read read() const {
        reader::Trace trace(temporary_file("ring.umtrace", bytes));
        reader::EventStream events(trace.file);
        Read read;
        while (const reader::ThreadCursor* const cursor = events.next()) {
            if (const auto* const alloc = std::get_if<trace::Alloc>(&cursor->event())) {
                read.alive.push_back(*alloc);
                read.events += "a" + std::to_string(static_cast<std::uint64_t>(alloc->allocation));
                BOOST_TEST(cursor->of_state());
            } else if (const auto* const sync = std::get_if<trace::Sync>(&cursor->event())) {
                read.events += "s" + std::to_string(sync->object);
                BOOST_TEST(!cursor->of_state());
            }
        }
        read.whole = trace.file.completeness().whole();
        return read;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_ring_begins_with_what_was_alive_at_its_first_lap) {
    const Ring::Read read = Ring().read();
    BOOST_TEST(read.events == "a7s2s3");
    BOOST_TEST(read.whole);
    BOOST_REQUIRE(read.alive.size() == 1);
    BOOST_TEST(read.alive[0].start == 5'000u); // it has the time of the beginning, and took none
    BOOST_TEST(read.alive[0].duration == 0u);
    BOOST_TEST(read.alive[0].address == 7u << 20);
}

BOOST_AUTO_TEST_CASE(a_lap_without_what_was_alive_is_left_out) {
    Ring ring;
    ring.put(ring.chunk(3), std::uint32_t{0}); // handed out, not begun
    const Ring::Read read = ring.read();
    BOOST_TEST(read.events == "a8s3");
}

BOOST_AUTO_TEST_CASE(a_ring_without_anything_alive_is_damaged_and_read) {
    Ring ring;
    ring.put(ring.chunk(3), std::uint32_t{0});
    ring.put(ring.chunk(4), std::uint32_t{0});
    const Ring::Read read = ring.read();
    BOOST_TEST(read.events == "s2s3");
    BOOST_TEST(!read.whole);
}

BOOST_AUTO_TEST_CASE(a_call_that_was_under_way_counts_from_the_beginning) {
    TraceBuilder builder;
    builder.first = {5'000, 5'000};
    builder.add(waited(4'000, 3'000, 1));
    std::vector<std::uint8_t> bytes = builder.bytes();
    const std::uint16_t late = 1;
    std::memcpy(bytes.data() + offsetof(trace::FileHeader, late), &late, sizeof late);
    reader::Trace trace(temporary_file("late.umtrace", bytes));
    reader::EventStream events(trace.file);
    const reader::ThreadCursor* const cursor = events.next();
    BOOST_REQUIRE(cursor != nullptr);
    const auto& sync = std::get<trace::Sync>(cursor->event());
    BOOST_TEST(sync.start == 5'000u);
    BOOST_TEST(sync.duration == 2'000u);
}

BOOST_AUTO_TEST_SUITE_END()
