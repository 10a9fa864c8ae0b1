/// What the HTML report says of itself: texts of strangers, and where memory was.
#include "analyzer/reports/html/markup.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/reports/html/rows.hpp"
#include "analyzer/reports/html/timeline/allocated_variable.hpp"
#include "analyzer/reports/html/timeline/blocks.hpp"
#include "analyzer/reports/html/timeline/placement.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"
#include "managed_scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_page)

using namespace umadvisor;
using namespace umadvisor::test;
using html::MoveCause;
using html::Place;
using html::PlaceStep;
using Kind = PlaceStep::Kind;

constexpr double rate = 20e9;

struct Seen : html::PlacementSink {
    struct Stay {
        double begin, end;
        std::array<float, html::places> shares;
        float of(Place place) const { return shares[static_cast<std::size_t>(place)]; }
    };
    struct Move {
        double time;
        bool up;
        MoveCause cause;
        std::uint64_t bytes;
    };
    std::vector<Stay> stays;
    std::vector<Move> moves;
    std::uint64_t allocated = 0, resident = 0;

    void stay(std::uint32_t, std::uint32_t, double begin, double end, std::uint64_t,
              const std::array<float, html::places>& shares) override {
        stays.push_back({begin, end, shares});
    }
    void move(std::uint32_t, std::uint32_t, double time, bool up, MoveCause cause,
              std::uint64_t bytes) override {
        moves.push_back({time, up, cause, bytes});
    }
    void use(double, std::uint64_t now_allocated, std::uint64_t now_resident) override {
        allocated = now_allocated;
        resident = now_resident;
    }
    const Stay& at(double time) const {
        for (const Stay& stay : stays)
            if (stay.begin <= time && time < stay.end)
                return stay;
        BOOST_FAIL("nothing is told of " + std::to_string(time));
        return stays.front();
    }
};

/// One managed allocation of 4 MiB, as a trace tells of it.
struct Story {
    Seen seen;
    html::Placement placement{seen, rate};

    PlaceStep step(Kind kind, double time) {
        PlaceStep made{.kind = kind};
        made.time = made.until = time;
        made.allocation = trace::AllocationId{1};
        return made;
    }
    Story& take(const PlaceStep& step) {
        placement.take(step);
        return *this;
    }
    Story& take(Kind kind, double time) { return take(step(kind, time)); }
    explicit Story(trace::Memory memory = trace::Memory::managed) {
        PlaceStep made = step(Kind::alloc, 0);
        made.address = 16 * mib;
        made.bytes = 4 * mib;
        made.memory = memory;
        take(made);
    }
    Story& look(double time, std::uint64_t on_host, bool after_wait) {
        PlaceStep made = step(Kind::look, time);
        made.bytes = 4 * mib;
        made.on_host = on_host;
        made.after_wait = after_wait;
        return take(made);
    }
    Story& fault(double time, std::uint64_t offset) {
        PlaceStep made = step(Kind::host_fault, time);
        made.allocation = {};
        made.address = 16 * mib + offset;
        made.bytes = 4096;
        return take(made);
    }
    Story& prefetch(double time, bool moves_known) {
        PlaceStep made = step(Kind::prefetch, time);
        made.bytes = 4 * mib;
        made.up = true;
        made.moves_known = moves_known;
        return take(made);
    }
    /// A kernel that uses it, and a wait for it.
    Story& round(double launched, double waited) {
        return take(Kind::launch, launched).take(Kind::wait, waited);
    }
    const Seen& until(double time) {
        placement.finish(time);
        return seen;
    }
    std::uint64_t moved(bool up) const {
        std::uint64_t bytes = 0;
        for (const Seen::Move& move : seen.moves)
            bytes += move.up == up ? move.bytes : 0;
        return bytes;
    }
};

BOOST_AUTO_TEST_CASE(a_row_has_the_name_of_the_variable_that_cuda_allocates) {
    for (const auto& [source, name] :
         {std::pair("float* hostA = load(n & 7); cudaMalloc(&d_a, n);", "d_a"),
          {"CHECK(cudaMalloc((void**)&grid->cells[i], n * sizeof(float)));", "grid->cells[i]"},
          {"cudaMallocManaged<float>(&x, n, cudaMemAttachGlobal);", "x"},
          {"float* hostA = malloc(n); cuMemAlloc(out, n);", ""},
          {"    float *h = (float*)malloc(n);", "h"},
          {"self.work = torch.empty(n)", "self.work"},
          {"allocate(n);", ""}})
        BOOST_TEST(html::allocated_variable(source) == name, source);
}

BOOST_FIXTURE_TEST_CASE(a_launch_after_which_the_host_has_nothing_left_brought_it_to_the_device, Story) {
    look(100, 4 * mib, false).round(200, 300).look(310, 0, true).until(400);
    BOOST_TEST(seen.at(50).of(Place::unpopulated) == 1);
    BOOST_TEST(seen.at(150).of(Place::host) == 1);
    BOOST_TEST(seen.at(250).of(Place::moving) == 1);
    BOOST_TEST(seen.at(350).of(Place::device) == 1);
    BOOST_REQUIRE_EQUAL(seen.moves.size(), 1u);
    BOOST_TEST((seen.moves[0].up && seen.moves[0].cause == MoveCause::device_fault));
    BOOST_TEST(seen.moves[0].bytes == 4 * mib);
    BOOST_TEST(seen.allocated == 0); // freed at the end
    BOOST_TEST(seen.resident == 0);
}

BOOST_FIXTURE_TEST_CASE(a_launch_that_leaves_all_on_the_host_moves_nothing, Story) {
    look(100, 4 * mib, false).round(200, 300).look(310, 4 * mib, true).round(400, 500);
    until(600); // nobody looks after the second
    BOOST_TEST(seen.at(350).of(Place::host) == 1);
    BOOST_TEST(seen.at(550).of(Place::host) == 1);
    BOOST_TEST(seen.moves.empty());
}

BOOST_FIXTURE_TEST_CASE(faults_of_the_host_take_it_back_piece_by_piece, Story) {
    round(100, 200).look(210, 0, true).fault(300, 0).fault(400, 2 * mib).look(500, 4 * mib, false);
    until(600);
    BOOST_TEST(seen.at(250).of(Place::device) == 1);
    const float first = seen.at(350).of(Place::host), second = seen.at(420).of(Place::host);
    BOOST_TEST((first > 0 && first < second && second < 1));
    BOOST_TEST(seen.at(550).of(Place::host) == 1);
    BOOST_TEST(moved(false) == 4 * mib);
}

BOOST_FIXTURE_TEST_CASE(what_is_first_used_there_does_not_move, Story) {
    round(100, 200).look(210, 0, true).until(300);
    BOOST_TEST(seen.at(250).of(Place::device) == 1);
    BOOST_TEST(seen.moves.empty());
}

BOOST_FIXTURE_TEST_CASE(a_prefetch_and_an_eviction_are_told_as_such, Story) {
    PlaceStep evicted = step(Kind::migration, 1e6);
    evicted.allocation = {};
    evicted.address = 16 * mib;
    evicted.bytes = mib;
    evicted.cause = MoveCause::eviction;
    look(100, 4 * mib, false).prefetch(200, false).take(evicted).until(2e6);
    BOOST_TEST(seen.at(210).of(Place::moving) == 1);
    BOOST_TEST(seen.at(0.9e6).of(Place::device) == 1);
    BOOST_TEST(seen.at(1.5e6).of(Place::evicted) == 0.25);
    BOOST_REQUIRE_EQUAL(seen.moves.size(), 2u);
    BOOST_TEST((seen.moves[0].cause == MoveCause::prefetch));
    BOOST_TEST((seen.moves[1].cause == MoveCause::eviction));
}

BOOST_FIXTURE_TEST_CASE(a_prefetch_whose_moves_were_to_be_told_and_were_not_shows_at_the_next_look, Story) {
    look(100, 4 * mib, false).prefetch(200, true).look(300, 0, false).until(400);
    BOOST_TEST(seen.at(350).of(Place::device) == 1);
    BOOST_REQUIRE_EQUAL(seen.moves.size(), 1u);
    BOOST_TEST((seen.moves[0].cause == MoveCause::prefetch && seen.moves[0].bytes == 4 * mib));
}

BOOST_AUTO_TEST_CASE(moves_that_are_told_show_where_each_block_was) {
    html::Blocks blocks(rate);
    const auto step = [](Kind kind, double time, std::uint64_t address, std::uint64_t bytes) {
        PlaceStep made{.kind = kind};
        made.time = made.until = time;
        made.address = address;
        made.bytes = bytes;
        made.moves_known = true;
        return made;
    };
    PlaceStep alloc = step(Kind::alloc, 0, 16 * mib, 6 * mib);
    alloc.allocation = trace::AllocationId{1};
    alloc.memory = trace::Memory::managed;
    blocks.take(alloc);
    PlaceStep fault = step(Kind::host_fault, 100, 16 * mib, 6 * mib);
    blocks.take(fault);
    PlaceStep move = step(Kind::migration, 200, 17 * mib, 3 * mib); // half of the first, all of the second
    move.up = true;
    blocks.take(move);
    blocks.take(step(Kind::device_fault, 300, 100 * mib, 4096)); // of nobody
    const std::vector<html::BlockRow> rows = blocks.finish(1000);
    BOOST_REQUIRE_EQUAL(rows.size(), 1u);
    BOOST_TEST(rows[0].block_bytes == 2 * mib);
    BOOST_REQUIRE_EQUAL(rows[0].row.parts.size(), 3u);
    std::vector<int> on_device(3);
    for (const html::StayPiece& stay : rows[0].row.stays)
        if (stay.begin >= 200)
            on_device[stay.number] = stay.shares[static_cast<std::size_t>(Place::device)];
    BOOST_TEST((on_device == std::vector<int>{128, 255, 0}));
    BOOST_TEST(rows[0].row.moves.size() == 2u);
}

BOOST_AUTO_TEST_CASE(memory_whose_moves_are_not_told_has_no_blocks) {
    html::Blocks blocks(rate);
    PlaceStep alloc{.allocation = trace::AllocationId{1},
                    .address = 16 * mib,
                    .bytes = 4 * mib,
                    .memory = trace::Memory::managed};
    blocks.take(alloc);
    BOOST_TEST(blocks.finish(1000).empty());
}

BOOST_AUTO_TEST_CASE(device_memory_stays_where_it_is) {
    Story story(trace::Memory::device);
    story.take(Kind::launch, 100);
    BOOST_TEST(story.seen.allocated == 4 * mib);
    const Seen& seen = story.until(200);
    BOOST_TEST(seen.at(150).of(Place::device) == 1);
    BOOST_TEST(seen.moves.empty());
}

BOOST_AUTO_TEST_CASE(a_row_of_too_many_pieces_keeps_their_shares) {
    const html::Span span{0, 1000};
    html::PieceRow row(span, 2, 10, 4);
    for (int i = 0; i < 10; ++i)
        row.add({i * 100.0, i * 100.0 + 25, static_cast<std::uint32_t>(i % 2), 1});
    BOOST_TEST(!row.exact());
    BOOST_TEST(row.pieces().empty());
    for (std::size_t bin = 0; bin < 10; ++bin)
        BOOST_TEST(std::abs(row.share(bin % 2, bin) - 0.25) < 1e-6);
    BOOST_TEST(row.ns(0) == 125);
}

/// A kernel of 1 us behind which the driver's totals grew by 64 MiB.
struct ShortKernel : Managed {
    ShortKernel() {
        const std::uint64_t memory = managed(64 * mib), kernel = function("_Z4readPi");
        counters(0, 0);
        launch(kernel, {memory}, 1);
        synchronize({.duration = 10'000'000});
        device_time(1, 1000);
        counters(64 * mib, 0, 100);
        now += ms;
    }
};

namespace {

html::Timeline timeline_of(Scenario& scenario) {
    advice::Report report(scenario.path());
    html::TimelinePass pass(report.profile, report.symbolizer);
    pass.run();
    return pass.finish(&report);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(the_link_is_drawn_no_faster_than_it_carries, ShortKernel) {
    const html::Timeline timeline = timeline_of(*this);
    double bytes = 0;
    BOOST_REQUIRE_EQUAL(timeline.links.size(), 1u);
    for (const html::LinkPiece& piece : timeline.links[0].up.pieces) {
        bytes += piece.bytes;
        BOOST_TEST(piece.bytes / (piece.end - piece.begin) < 60); // GB/s
    }
    BOOST_TEST(bytes == 64.0 * mib);
}

/// Memory on each of two devices, filled by the host and copied between them.
struct TwoDevices : Scenario {
    std::uint64_t memory(std::uint64_t device) {
        return allocate(mib, trace::Memory::device,
                        {.id = device + 1, .address = (device + 1) << 32, .device = device});
    }
    void copy_between(std::uint64_t from, std::uint64_t to) {
        copy(mib, 50'000, {.source = trace::Memory::device, .from = from, .to = to});
    }
};

BOOST_FIXTURE_TEST_CASE(each_pair_of_devices_has_a_link_of_its_own, TwoDevices) {
    const std::uint64_t first = memory(0), second = memory(1);
    copy(mib, 50'000, {.to = first});
    copy(mib, 50'000, {.to = second});
    copy(mib, 50'000, {.to = second});
    copy_between(second, first);
    copy_between(second, second);
    const html::Timeline timeline = timeline_of(*this);
    std::vector<std::array<double, 4>> seen;
    for (const html::Link& link : timeline.links)
        seen.push_back({1.0 * link.low, 1.0 * link.high, link.up.bytes / mib, link.down.bytes / mib});
    const std::vector<std::array<double, 4>> expected{{0, 1, 1, 0}, {0, 2, 2, 0}, {1, 2, 0, 1}};
    BOOST_TEST((seen == expected));
}

BOOST_FIXTURE_TEST_CASE(a_stream_is_on_the_device_of_its_context, TwoDevices) {
    use_device(1);
    copy(mib, 50'000, {.to = memory(1)});
    const html::Timeline timeline = timeline_of(*this);
    BOOST_REQUIRE_EQUAL(timeline.streams.size(), 1u);
    BOOST_TEST(timeline.streams[0]->device == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_bar_names_no_cause_without_time, ShortKernel) {
    advice::Report report(path(), {}, true);
    html::PageMaker maker({});
    maker.beside(report)();
    const std::string page = maker.page(report);
    const std::size_t label = page.find("aria-label=\"now:");
    BOOST_TEST_REQUIRE(label != std::string::npos);
    BOOST_TEST(page.substr(label, page.find('>', label) - label).find(" 0 ns") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(texts_of_strangers_are_no_markup) {
    BOOST_TEST(html::escaped("<script>\"'&") == "&lt;script&gt;&quot;&#39;&amp;");
    BOOST_TEST(html::escaped("a\x1b[31mb\xe2\x80\xae"
                             "c") == "a?[31mb?c");
    const std::string cut = html::escaped(std::string(65536, 'x'));
    BOOST_TEST(cut.size() < 5000);
    BOOST_TEST(cut.ends_with("…"));
}

BOOST_AUTO_TEST_SUITE_END()
