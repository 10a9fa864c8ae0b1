#include "field_lists.hpp"
#include "trace/decoder.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(encoding)

using namespace umadvisor::trace;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Hides a size from the optimizer, which cannot see that records with a small bound have small bodies
/// (-Warray-bounds).
[[gnu::noipa]] std::size_t opaque(std::size_t bytes) {
    return bytes;
}

/// Encodes into exactly encoded_bound() bytes, so that a sanitizer sees one byte more.
template <class Record>
Bytes encoded(const Record& record, DeltaState& state) {
    Bytes bytes(opaque(encoded_bound(record)));
    const std::uint8_t* end = encode(bytes.data(), record, state);
    BOOST_REQUIRE(static_cast<std::size_t>(end - bytes.data()) <= bytes.size());
    bytes.resize(static_cast<std::size_t>(end - bytes.data()));
    return bytes;
}

template <class Record>
Record decoded(const Bytes& bytes, DeltaState& state) {
    RawRecord raw;
    BOOST_TEST_REQUIRE(next_record(bytes.data(), bytes.data() + bytes.size(), raw) ==
                       bytes.data() + bytes.size());
    BOOST_TEST_REQUIRE((raw.type == Record::type));
    Record record;
    BOOST_TEST_REQUIRE(decode(raw, record, state));
    return record;
}

struct RoundTrip {
    Filling filling;
    std::uint64_t seed = 1;

    template <class Record>
    void operator()() const {
        BOOST_TEST_CONTEXT(Record::name) {
            auto filler = std::make_unique<Filler>(filling, seed);
            Record record;
            Record::fields(record, *filler);
            DeltaState out, in;
            BOOST_TEST((values_of(decoded<Record>(encoded(record, out), in)) == values_of(record)));
            BOOST_TEST((out.time == in.time && out.address == in.address && out.handle == in.handle));
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(there_are_as_many_types_as_the_format_lists) {
    BOOST_TEST(visit_every_type([]<class Record>() {}) == 58);
}

BOOST_AUTO_TEST_CASE(types_stand_on_their_side_of_64) {
    visit_every_type([]<class Record>() {
        const bool definition = static_cast<int>(Record::type) >= 64;
        const bool timed = Record::type == Type::launch_shape || requires(Record r) {
            r.start;
        };
        BOOST_TEST(timed != definition, std::string(Record::name));
    });
}

BOOST_AUTO_TEST_CASE(nothing_but_zeros_comes_back_and_takes_no_body) {
    visit_every_type(RoundTrip{Filling::zero});
    visit_every_type([]<class Record>() {
        DeltaState state;
        const Bytes bytes = encoded(Record{}, state);
        BOOST_TEST((bytes == Bytes{static_cast<std::uint8_t>(Record::type), 0}), std::string(Record::name));
    });
}

BOOST_AUTO_TEST_CASE(the_greatest_values_come_back) {
    visit_every_type(RoundTrip{Filling::greatest});
}

BOOST_AUTO_TEST_CASE(random_values_come_back) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed)
        visit_every_type(RoundTrip{Filling::random, seed});
}

BOOST_AUTO_TEST_CASE(differences_run_through_a_chain_of_all_types) {
    Bytes chain;
    std::vector<std::vector<Value>> written;
    Filler filler(Filling::random, 7);
    DeltaState out{.time = 123456789};
    const DeltaState base = out;
    for (int round = 0; round < 50; ++round)
        visit_every_type([&]<class Record>() {
            Record record;
            Record::fields(record, filler);
            const Bytes bytes = encoded(record, out);
            chain.insert(chain.end(), bytes.begin(), bytes.end());
            written.push_back(values_of(record));
        });
    DeltaState in = base;
    const std::uint8_t* at = chain.data();
    const std::uint8_t* const end = at + chain.size();
    std::size_t read = 0;
    RawRecord raw;
    while (at != end) {
        at = next_record(at, end, raw);
        BOOST_REQUIRE(at != nullptr);
        BOOST_REQUIRE(visit_type(raw.type, [&]<class Record>() {
            Record record;
            BOOST_REQUIRE(decode(raw, record, in));
            BOOST_REQUIRE((values_of(record) == written[read]));
        }));
        ++read;
    }
    BOOST_TEST(read == written.size());
}

BOOST_AUTO_TEST_CASE(text_is_cut_at_its_bound) {
    const std::string text(max_text + 1, 'x');
    String record{.text = text};
    DeltaState out, in;
    const Bytes bytes = encoded(record, out);
    BOOST_TEST(decoded<String>(bytes, in).text.size() == max_text);
}

// The bytes themselves, written by hand from FORMAT.md: what released readers have to understand.

BOOST_AUTO_TEST_CASE(a_launch_in_a_loop_takes_seven_bytes) {
    Launch launch{.shape = 1, .start = 1'005'000, .duration = 2400};
    DeltaState state{.time = 1'000'000};
    // zigzag(5000) = 10000 = 0x2710; 2400 = 0x960
    BOOST_TEST((encoded(launch, state) == Bytes{2, 5, 1, 0x90, 0x4e, 0xe0, 0x12}));
}

BOOST_AUTO_TEST_CASE(times_addresses_and_handles_have_their_own_state) {
    Copy copy;
    copy.entry = 3;
    copy.start = 99; // one before the base time
    copy.destination = 0x2000;
    copy.source = 0x1000;
    copy.stream = StreamId{2};
    DeltaState state{.time = 100};
    BOOST_TEST(
        (encoded(copy, state) == Bytes{5, 16, 3, 1, 0, 0, 0x80, 0x80, 0x01, 0xff, 0x3f, 0, 0, 0, 0, 0, 0, 4}));
    BOOST_TEST(state.time == 99u);
    BOOST_TEST(state.address == 0x1000u);
    BOOST_TEST(state.handle == 2u);
}

BOOST_AUTO_TEST_CASE(a_body_of_128_bytes_has_a_length_of_two) {
    const std::string text(126, 'x');
    String record{.id = 1, .text = text};
    DeltaState state;
    Bytes expected(131, 'x');
    std::copy_n(Bytes{65, 0x80, 0x01, 1, 126}.begin(), 5, expected.begin());
    BOOST_TEST((encoded(record, state) == expected));
}

BOOST_AUTO_TEST_SUITE_END()
