/// Which uploads are worth keeping (policy/same_uploads.hpp).
#include "policy/same_uploads.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>

BOOST_AUTO_TEST_SUITE(act_same_uploads)

using namespace umadvisor::policy;
using Choice = SameUploads::Choice;

namespace {

constexpr Upload matrix{0x10000, 4u << 20, 1}, other{0x900000, 4u << 20, 1};
constexpr std::uint64_t thread = 7, words = 99, driver_ticks = 1000, memory = 0x5000;

/// The driver makes it, in or without a turn. Returns whether its bytes are to be kept.
bool make(SameUploads& uploads, const Upload& upload = matrix, std::uint64_t hash = words) {
    BOOST_TEST((uploads.begin(upload, thread).choice != Choice::compare));
    return uploads.made(upload, thread, hash, driver_ticks);
}

/// Uploads until it is kept. Returns how many that takes; 0: more than `most`.
int keep(SameUploads& uploads, const Upload& upload = matrix, int most = 100'000) {
    for (int i = 1; i <= most; ++i)
        if (make(uploads, upload)) {
            uploads.keep(upload, memory);
            return i;
        }
    return 0;
}

/// One upload of what is kept. Returns whether it was compared, and not left to the driver to measure.
bool compare(SameUploads& uploads, std::uint64_t ticks = driver_ticks / 2) {
    const SameUploads::Turn turn = uploads.begin(matrix, thread);
    BOOST_TEST(turn.kept == memory);
    if (turn.choice == Choice::compare)
        BOOST_TEST(uploads.equal(matrix, ticks) == 0u);
    else
        BOOST_TEST(!uploads.made(matrix, thread, words, driver_ticks));
    return turn.choice == Choice::compare;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_upload_is_kept_when_it_has_come_back_twice) {
    const auto uploads = std::make_unique<SameUploads>();
    BOOST_TEST(keep(*uploads) == 3);
    BOOST_TEST(uploads->kept(matrix) == memory);
    BOOST_TEST(compare(*uploads));
}

BOOST_AUTO_TEST_CASE(source_length_and_context_are_those_of_one_upload) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    for (const Upload& another : {Upload{matrix.source + 1, matrix.bytes, 1},
                                  Upload{matrix.source, 1u << 20, 1}, Upload{matrix.source, matrix.bytes, 2}})
        BOOST_TEST((uploads->begin(another, thread).choice == Choice::leave));
}

BOOST_AUTO_TEST_CASE(an_upload_whose_words_change_is_never_kept) {
    const auto uploads = std::make_unique<SameUploads>();
    for (std::uint64_t i = 0; i < 1000; ++i)
        BOOST_TEST(!make(*uploads, matrix, i));
}

BOOST_AUTO_TEST_CASE(one_in_64_is_the_drivers_so_that_times_can_be_compared) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    int compared = 0;
    for (int i = 0; i < 640; ++i)
        compared += compare(*uploads);
    BOOST_TEST(compared == 630);
}

BOOST_AUTO_TEST_CASE(bytes_that_differ_are_kept_again_after_more_and_more_returns) {
    const auto uploads = std::make_unique<SameUploads>();
    int before = keep(*uploads), total = before;
    for (int i = 0; i < 4; ++i) {
        BOOST_TEST((uploads->begin(matrix, thread).choice == Choice::compare));
        BOOST_TEST((uploads->unequal(matrix) != 0) == (before > 100));
        BOOST_TEST(!uploads->made(matrix, thread, words, driver_ticks));
        const int again = keep(*uploads);
        BOOST_TEST(again > 4 * before);
        total += before = again;
    }
    BOOST_TEST(total > 5 * 1000); // five times in so many: less than a hundredth
}

BOOST_AUTO_TEST_CASE(bytes_that_were_equal_for_long_are_kept_again_soon) {
    const auto uploads = std::make_unique<SameUploads>();
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(keep(*uploads) <= 3);
        for (unsigned equal = 0; equal < SameUploads::paid_after; ++equal)
            compare(*uploads);
        BOOST_TEST((uploads->begin(matrix, thread).choice == Choice::compare));
        BOOST_TEST(uploads->unequal(matrix) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(what_takes_longer_than_the_driver_is_given_up_for_good) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    for (unsigned i = 1; i <= SameUploads::most_losses; ++i) {
        BOOST_TEST((uploads->begin(matrix, thread).choice == Choice::compare));
        BOOST_TEST(uploads->equal(matrix, driver_ticks + driver_ticks / 50) ==
                   (i == SameUploads::most_losses ? memory : 0));
    }
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(!make(*uploads));
}

BOOST_AUTO_TEST_CASE(one_disturbed_comparison_is_no_loss) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    for (int i = 0; i < 60; ++i)
        BOOST_TEST(compare(*uploads, i % 2 == 0 ? 9 * driver_ticks : driver_ticks));
}

/// Nothing is kept where it could not be seen whether it pays.
BOOST_AUTO_TEST_CASE(an_upload_that_cannot_be_measured_is_not_kept) {
    const auto uploads = std::make_unique<SameUploads>();
    int turns = 0;
    for (int i = 0; i < 1000; ++i) {
        turns += uploads->begin(matrix, thread).choice == Choice::measure;
        BOOST_TEST(!uploads->made(matrix, thread, words, 0));
    }
    BOOST_TEST(turns < 12);
}

BOOST_AUTO_TEST_CASE(a_turn_is_one_threads) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    BOOST_TEST((uploads->begin(matrix, thread).choice == Choice::compare));
    BOOST_TEST((uploads->begin(matrix, thread + 1).choice == Choice::leave));
    BOOST_TEST(uploads->remove_any() == 0u);
    uploads->leave(matrix, thread + 1);
    BOOST_TEST((uploads->begin(matrix, thread + 1).choice == Choice::leave));
    uploads->leave(matrix, thread);
    BOOST_TEST((uploads->begin(matrix, thread + 1).choice == Choice::compare));
}

BOOST_AUTO_TEST_CASE(memory_that_is_removed_is_no_longer_compared_with) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    BOOST_TEST(uploads->remove_context(2) == 0u);
    BOOST_TEST(uploads->remove_source(matrix.source + matrix.bytes, ~0ull) == 0u);
    BOOST_TEST(uploads->remove_source(matrix.source + 1, matrix.source + 2) == memory);
    BOOST_TEST(keep(*uploads) == 3);
    BOOST_TEST(uploads->remove_context(1) == memory);
    BOOST_TEST(keep(*uploads) == 3);
    BOOST_TEST(uploads->remove_any() == memory);
    BOOST_TEST(uploads->remove_any() == 0u);
}

BOOST_AUTO_TEST_CASE(an_upload_that_no_longer_comes_is_idle) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    for (std::uint64_t i = 0; i < SameUploads::idle_after; ++i) {
        BOOST_TEST(uploads->remove_idle() == 0u);
        make(*uploads, {other.source + i, other.bytes, 1});
    }
    make(*uploads, other);
    BOOST_TEST(uploads->remove_idle() == memory);
}

/// Those that are kept stay, however many others there are.
BOOST_AUTO_TEST_CASE(many_uploads_take_the_places_of_others_without_memory) {
    const auto uploads = std::make_unique<SameUploads>();
    keep(*uploads);
    for (std::uint64_t i = 0; i < 3 * SameUploads::most; ++i)
        make(*uploads, {other.source + i, other.bytes, 1});
    BOOST_TEST(compare(*uploads));
}

BOOST_AUTO_TEST_CASE(without_memory_it_is_tried_again_later) {
    const auto uploads = std::make_unique<SameUploads>();
    int tried = 0;
    for (int i = 0; i < 1000; ++i)
        if (make(*uploads)) {
            uploads->keep(matrix, 0);
            ++tried;
        }
    BOOST_TEST(tried > 1);
    BOOST_TEST(tried < 5);
}

BOOST_AUTO_TEST_SUITE_END()
