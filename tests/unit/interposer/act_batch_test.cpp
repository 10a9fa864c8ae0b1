#include "policy/copy_batch.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_batch)

using namespace umadvisor::policy;

constexpr std::uint64_t piece = 4096;

using Choice = CopyBatch::Choice;

struct Uploads {
    SmallCopy copy_to(std::uint64_t number) const {
        return {1, 5, 0x10000 + number * piece, 0x900000 + number * piece, piece, 7, 8};
    }
    /// Returns whether it was deferred, else the driver has made it.
    bool upload(const SmallCopy& copy, CopyBatch::Manner manner = {false, false}) {
        Choice choice = batch->choose(copy);
        if (choice == Choice::make_first) {
            make();
            choice = batch->choose(copy);
        }
        if (choice == Choice::begin || choice == Choice::begin_if_idle) {
            batch->begin(copy, manner);
            batch->use(memory.data());
            choice = Choice::defer;
            open = true;
        }
        if (choice == Choice::defer) {
            batch->defer(copy, reinterpret_cast<const void*>(copy.source));
            return true;
        }
        if (open)
            finish();
        batch->made(copy);
        return false;
    }
    void make() { batch->took(batch->manner().in_order ? batch->pieces().count : 1); }
    /// Another call of the program.
    void finish() {
        if (!batch->is_empty())
            make();
        batch->end();
        open = false;
    }
    bool open = false; ///< calls count as deferred
    /// Copies to places apart, then another call. Returns how many were deferred.
    std::uint64_t round(std::uint64_t copies) {
        std::uint64_t deferred = 0;
        for (std::uint64_t i = 0; i < copies; ++i)
            deferred += upload(copy_to(2 * i)) ? 1 : 0;
        finish();
        return deferred;
    }
    void renew() {
        batch = std::make_unique<CopyBatch>();
        open = false;
    }
    std::unique_ptr<CopyBatch> batch = std::make_unique<CopyBatch>();
    std::vector<char> memory = std::vector<char>(CopyBatch::most_bytes);
};

BOOST_FIXTURE_TEST_CASE(copies_are_deferred_from_the_third_on, Uploads) {
    BOOST_TEST(!upload(copy_to(0)));
    BOOST_TEST(!upload(copy_to(1)));
    for (std::uint64_t i = 2; i < 10; ++i)
        BOOST_TEST(upload(copy_to(i)));
    BOOST_TEST_REQUIRE(batch->pieces().count == 1u);
    BOOST_TEST(batch->pieces().destination[0] == copy_to(2).destination);
    BOOST_TEST(batch->pieces().source[0] == copy_to(2).source);
    BOOST_TEST(batch->pieces().bytes[0] == 8 * piece);
    make();
    BOOST_TEST(batch->is_empty());
    BOOST_TEST(upload(copy_to(10)));
}

BOOST_FIXTURE_TEST_CASE(after_a_long_run_the_next_is_deferred_from_the_first_on, Uploads) {
    BOOST_TEST(round(7) == 5u);
    BOOST_TEST(round(7) == 7u);
    BOOST_TEST(round(5) == 5u);
    BOOST_TEST(round(7) == 5u); // the one before was short
}

/// Work of the stream may still write the sources, and the copies that are made by now are such work, too.
BOOST_FIXTURE_TEST_CASE(only_the_first_copy_can_begin_behind_work, Uploads) {
    upload(copy_to(0));
    upload(copy_to(1));
    BOOST_TEST((batch->choose(copy_to(2)) == Choice::begin_if_idle));
    batch->leave();
    for (std::uint64_t i = 2; i < 10; ++i) {
        BOOST_TEST((batch->choose(copy_to(i)) == Choice::leave));
        batch->made(copy_to(i));
    }
    batch->end();
    BOOST_TEST((batch->choose(copy_to(0)) == Choice::begin));
}

BOOST_FIXTURE_TEST_CASE(a_run_is_of_one_thread_and_stream_without_a_call_between, Uploads) {
    upload(copy_to(0));
    upload(copy_to(1));
    SmallCopy of_thread = copy_to(2), of_stream = copy_to(2), large = copy_to(2);
    of_thread.thread = 2;
    of_stream.stream = 6;
    large.bytes = CopyBatch::less_than;
    SmallCopy synchronous = copy_to(2);
    synchronous.synchronous = true;
    for (const SmallCopy& other : {of_thread, of_stream, large, synchronous})
        BOOST_TEST((batch->choose(other) == Choice::leave));
    BOOST_TEST((batch->choose(copy_to(2)) == Choice::begin_if_idle));
    batch->interrupt(2);
    BOOST_TEST((batch->choose(copy_to(2)) == Choice::begin_if_idle));
    BOOST_TEST(upload(copy_to(2)));
    for (const SmallCopy& other : {of_thread, of_stream, large, synchronous})
        BOOST_TEST((batch->choose(other) == Choice::leave));
    BOOST_TEST((batch->choose(copy_to(3)) == Choice::defer));
    finish();
    BOOST_TEST((batch->choose(copy_to(3)) == Choice::leave));
    upload(copy_to(0));
    finish();
    upload(copy_to(1));
    BOOST_TEST((batch->choose(copy_to(2)) == Choice::leave)); // a call was between them
}

BOOST_FIXTURE_TEST_CASE(a_copy_that_ends_meanwhile_changes_nothing, Uploads) {
    for (std::uint64_t i = 0; i < 4; ++i)
        upload(copy_to(i));
    SmallCopy other = copy_to(0);
    other.thread = 2;
    other.stream = 6;
    batch->made(other);
    BOOST_TEST(batch->stream() == copy_to(0).stream);
    BOOST_TEST((batch->choose(other) == Choice::leave));
    BOOST_TEST(upload(copy_to(4)));
}

BOOST_FIXTURE_TEST_CASE(pieces_do_not_cross_allocations, Uploads) {
    for (std::uint64_t i = 0; i < 3; ++i)
        upload(copy_to(i));
    SmallCopy other = copy_to(3);
    other.destination_allocation = 9;
    BOOST_TEST(upload(other));
    SmallCopy from_other = copy_to(4);
    from_other.destination_allocation = 9;
    from_other.source_allocation = 10;
    BOOST_TEST(upload(from_other));
    BOOST_TEST(batch->pieces().count == 3u);
}

BOOST_FIXTURE_TEST_CASE(what_overlaps_waits_unless_pieces_have_an_order, Uploads) {
    for (const bool in_order : {false, true}) {
        for (const std::uint64_t number : {0u, 1u, 2u, 4u})
            upload(copy_to(number), {false, in_order});
        SmallCopy between = copy_to(3), over = copy_to(4);
        BOOST_TEST((batch->choose(between) == Choice::defer));
        over.destination -= 1;
        BOOST_TEST((batch->choose(over) == (in_order ? Choice::defer : Choice::make_first)));
        over.destination += 2;
        BOOST_TEST((batch->choose(over) == (in_order ? Choice::defer : Choice::make_first)));
        renew();
    }
}

BOOST_FIXTURE_TEST_CASE(captured_bytes_are_those_of_the_call, Uploads) {
    std::vector<char> source(64, 'a');
    const auto copy_of = [&](std::uint64_t number) {
        return SmallCopy{1, 5, 0x10000 + number * 64, reinterpret_cast<std::uint64_t>(source.data()), 64, 7, 8};
    };
    for (std::uint64_t i = 0; i < 4; ++i) {
        std::memset(source.data(), static_cast<int>('a' + i), source.size());
        upload(copy_of(i), {true, false});
    }
    BOOST_TEST_REQUIRE(batch->pieces().count == 1u); // neighbours on the device, each from the same place
    BOOST_TEST(batch->pieces().bytes[0] == 128u);
    BOOST_TEST(std::string(memory.data(), 128) == std::string(64, 'c') + std::string(64, 'd'));
    BOOST_TEST(batch->pieces().source[0] == reinterpret_cast<std::uint64_t>(memory.data()));
    BOOST_TEST(upload(copy_of(9), {true, false}));
    BOOST_TEST(batch->pieces().count == 2u);
}

BOOST_FIXTURE_TEST_CASE(captured_bytes_stay_until_the_memory_is_full, Uploads) {
    std::vector<char> source(piece, 'a');
    const auto copy_of = [&](std::uint64_t number) {
        SmallCopy copy = copy_to(2 * number);
        copy.source = reinterpret_cast<std::uint64_t>(source.data());
        return copy;
    };
    for (std::uint64_t i = 0; i < 12; ++i)
        upload(copy_of(i), {true, false});
    make();
    BOOST_TEST(upload(copy_of(12), {true, false}));
    BOOST_TEST(batch->pieces().source[0] == reinterpret_cast<std::uint64_t>(memory.data()) + 10 * piece);
    for (std::uint64_t i = 13; i < 258; ++i)
        BOOST_TEST(upload(copy_of(i), {true, false}));
    BOOST_TEST((batch->choose(copy_of(258)) == Choice::make_first));
    make();
    BOOST_TEST((batch->choose(copy_of(258)) == Choice::make_first)); // in other memory
    batch->use(memory.data());
    BOOST_TEST((batch->choose(copy_of(258)) == Choice::defer));
}

BOOST_FIXTURE_TEST_CASE(a_batch_has_bounds, Uploads) {
    for (std::uint64_t i = 0; i < 258; ++i)
        upload(copy_to(2 * i));
    BOOST_TEST((batch->choose(copy_to(2 * 258)) == Choice::make_first)); // 1 MiB
    renew();
    for (std::uint64_t i = 0; i < 1026; ++i) {
        SmallCopy small = copy_to(i);
        small.bytes = 1;
        upload(small);
    }
    BOOST_TEST((batch->choose(copy_to(1026)) == Choice::make_first));
}

BOOST_FIXTURE_TEST_CASE(batches_that_spare_little_make_it_patient, Uploads) {
    BOOST_TEST(round(5) == 3u); // one call instead of three
    BOOST_TEST(round(5) == 1u);
    BOOST_TEST(round(5) == 0u);
    BOOST_TEST(round(20) == 12u);
    BOOST_TEST(round(20) == 20u);
}

/// The stream would have no work without the batch that was just made.
BOOST_FIXTURE_TEST_CASE(what_is_given_up_waits_for_an_idle_stream_if_bytes_were_captured, Uploads) {
    std::vector<char> source(piece, 'a');
    for (const bool captured : {true, false}) {
        SmallCopy copy = copy_to(0);
        copy.source = reinterpret_cast<std::uint64_t>(source.data());
        for (int i = 0; i < 3; ++i, copy.destination += 2 * piece)
            upload(copy, {captured, false});
        make();
        BOOST_TEST((batch->choose(copy) == (captured ? Choice::leave_if_idle : Choice::leave)));
        renew();
    }
}

/// Nothing can be under way in the legacy stream when one of these has been made.
BOOST_FIXTURE_TEST_CASE(synchronous_copies_that_gain_nothing_are_given_up_at_once, Uploads) {
    std::vector<char> source(piece + 1, 'a');
    SmallCopy copy{1, 1, 0x10000, reinterpret_cast<std::uint64_t>(source.data()), piece, 7, 0, true};
    BOOST_TEST(!upload(copy, {true, false}));
    BOOST_TEST(!upload(copy, {true, false}));
    copy.bytes = CopyBatch::most_synchronous + 1;
    BOOST_TEST((batch->choose(copy) == Choice::leave));
    copy.bytes = CopyBatch::most_synchronous;
    BOOST_TEST(upload(copy, {true, false}));
    BOOST_TEST(batch->is_synchronous());
    make();
    BOOST_TEST((batch->choose(copy) == Choice::leave));
}

/// The program may rely on their wait.
BOOST_FIXTURE_TEST_CASE(the_first_synchronous_copies_of_a_run_are_made_by_the_driver, Uploads) {
    std::vector<char> source(piece, 'a');
    for (int run = 0; run < 3; ++run) {
        SmallCopy copy{1, 1, 0x10000, reinterpret_cast<std::uint64_t>(source.data()), piece, 7, 0, true};
        std::uint64_t deferred = 0;
        for (int i = 0; i < 20; ++i, copy.destination += 2 * piece)
            deferred += upload(copy, {true, false}) ? 1 : 0;
        finish();
        BOOST_TEST(deferred == 18u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
