#include "field_lists.hpp"
#include "trace/decoder.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(decoder)

using namespace umadvisor::trace;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Hides a size from the optimizer (see encoding_test.cpp).
[[gnu::noipa]] std::size_t opaque(std::size_t bytes) {
    return bytes;
}

template <class Record>
Bytes random_record(Record& record, Filler& filler) {
    Record::fields(record, filler);
    DeltaState state;
    Bytes bytes(opaque(encoded_bound(record)));
    bytes.resize(static_cast<std::size_t>(encode(bytes.data(), record, state) - bytes.data()));
    return bytes;
}

/// A copy in memory of its own, so that a sanitizer sees every byte that is read too far.
std::unique_ptr<std::uint8_t[]> exact(const std::uint8_t* from, std::size_t bytes) {
    auto copy = std::make_unique<std::uint8_t[]>(bytes);
    std::copy(from, from + bytes, copy.get());
    return copy;
}

/// The values of the record with this body; none when it is refused.
template <class Record>
std::optional<std::vector<Value>> decoded(const Bytes& body) {
    const auto copy = exact(body.data(), body.size());
    Record record;
    DeltaState state;
    if (!decode(RawRecord{Record::type, copy.get(), body.size()}, record, state))
        return std::nullopt;
    return values_of(record); // texts point into the copy
}

} // namespace

BOOST_AUTO_TEST_CASE(a_record_cut_anywhere_is_no_record) {
    Filler filler(Filling::random, 3);
    visit_every_type([&]<class Record>() {
        Record record;
        const Bytes bytes = random_record(record, filler);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            const auto cut = exact(bytes.data(), length);
            RawRecord raw;
            BOOST_TEST((next_record(cut.get(), cut.get() + length, raw) == nullptr));
        }
    });
}

BOOST_AUTO_TEST_CASE(a_body_cut_anywhere_is_read_or_refused) {
    Filler filler(Filling::random, 4);
    visit_every_type([&]<class Record>() {
        Record record;
        const Bytes bytes = random_record(record, filler);
        RawRecord raw;
        BOOST_REQUIRE(next_record(bytes.data(), bytes.data() + bytes.size(), raw) != nullptr);
        for (std::size_t length = 0; length < raw.bytes; ++length) {
            // Cut between two fields it is an older writer's record; within one it is damage.
            BOOST_TEST((decoded<Record>(Bytes(raw.body, raw.body + length)) != values_of(record)));
        }
    });
}

BOOST_AUTO_TEST_CASE(fields_of_a_newer_version_are_left_alone) {
    Filler filler(Filling::random, 5);
    visit_every_type([&]<class Record>() {
        Record record;
        Record::fields(record, filler);
        // A newer writer writes all known fields, zeros too, and its own behind them.
        DeltaState out;
        Bytes body(encoded_bound(record) + 2);
        detail::BodyWriter writer{body.data(), body.data(), out};
        Record::fields(record, writer);
        *writer.at++ = 0xff;
        *writer.at++ = 0xff;
        body.resize(static_cast<std::size_t>(writer.at - body.data()));
        BOOST_TEST((decoded<Record>(body) == values_of(record)), std::string(Record::name));
    });
}

BOOST_AUTO_TEST_CASE(missing_fields_repeat_the_last_time_and_address) {
    Free record;
    DeltaState state{.time = 10, .address = 20, .handle = 30};
    BOOST_TEST(decode(RawRecord{Type::free, nullptr, 0}, record, state));
    BOOST_TEST(record.start == 10u);
    BOOST_TEST(record.address == 20u);
    BOOST_TEST(number(record.stream) == 30u);
    BOOST_TEST(record.entry == 0u);
}

BOOST_AUTO_TEST_CASE(lengths_that_lie_are_refused) {
    for (const Bytes& bytes :
         {Bytes{2, 1}, Bytes{2, 0x80}, Bytes{2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
          Bytes{2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, Bytes{255, 4, 1, 2, 3}}) {
        const auto copy = exact(bytes.data(), bytes.size());
        RawRecord raw;
        BOOST_TEST((next_record(copy.get(), copy.get() + bytes.size(), raw) == nullptr));
    }
}

BOOST_AUTO_TEST_CASE(texts_and_lists_that_lie_are_refused) {
    BOOST_TEST(!decoded<String>(Bytes{1, 4, 'a', 'b', 'c'}));
    BOOST_TEST(!decoded<String>(Bytes{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a'}));
    BOOST_TEST((decoded<String>(Bytes{1, 3, 'a', 'b', 'c'}) == values_of(String{.id = 1, .text = "abc"})));

    Bytes body(13, 0); // the fields before `touched`
    body.push_back(max_touched + 1);
    body.resize(body.size() + max_touched + 1, 1);
    BOOST_TEST(!decoded<LaunchShape>(body));
    body[13] = max_touched;
    BOOST_TEST(decoded<LaunchShape>(body).has_value());
}

BOOST_AUTO_TEST_CASE(unknown_types_are_stepped_over) {
    const Bytes bytes{200, 3, 0xff, 0xff, 0xff, 2, 1, 9};
    RawRecord raw;
    const std::uint8_t* end = bytes.data() + bytes.size();
    const std::uint8_t* at = next_record(bytes.data(), end, raw);
    BOOST_REQUIRE(at != nullptr);
    BOOST_TEST(!visit_type(raw.type, []<class Record>() {}));
    BOOST_TEST(next_record(at, end, raw) == end);
    BOOST_TEST((raw.type == Type::launch && raw.bytes == 1));
}

BOOST_AUTO_TEST_CASE(random_bytes_never_read_past_their_end) {
    std::mt19937_64 random(11);
    int good = 0;
    for (int round = 0; round < 20'000; ++round) {
        Bytes body(random() % 60);
        for (std::uint8_t& byte : body)
            byte = static_cast<std::uint8_t>(random());
        visit_every_type([&]<class Record>() { good += decoded<Record>(body).has_value(); });
    }
    BOOST_TEST(good > 0);
}

BOOST_AUTO_TEST_SUITE_END()
