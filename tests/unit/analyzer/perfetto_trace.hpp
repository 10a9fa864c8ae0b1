/// Perfetto's traces as `umadvisor export --perfetto` writes them, read again.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

namespace umadvisor::test {

struct PerfettoEvent {
    int type = 0;        ///< 1 begin, 2 end, 3 instant, 4 counter
    std::int64_t at = 0; ///< nanoseconds since 1970
    std::string name, category, location;
    std::map<std::string, std::string> arguments;
    std::vector<std::string> frames; ///< the outermost first
    std::uint64_t flow = 0, flow_end = 0;
    std::int64_t value = 0;
};

struct PerfettoTrack {
    std::uint64_t uuid = 0, parent = 0;
    std::string name;
    std::int64_t pid = 0, tid = 0;
    bool counter = false;
    std::vector<PerfettoEvent> events;
};

/// What is used and not defined fails the test.
class PerfettoTrace {
public:
    explicit PerfettoTrace(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        protozero::pbf_reader trace(bytes);
        while (trace.next(1)) {
            protozero::pbf_reader packet = trace.get_message();
            BOOST_TEST_REQUIRE(packet.next(50));
            read_packets(inflated(packet.get_view()));
        }
    }

    std::vector<PerfettoTrack> tracks;
    /// The one of that name.
    const PerfettoTrack& track(const std::string& name) const {
        const PerfettoTrack* found = nullptr;
        for (const PerfettoTrack& each : tracks)
            if (each.name == name) {
                BOOST_TEST_REQUIRE((found == nullptr), "two tracks: " << name);
                found = &each;
            }
        BOOST_TEST_REQUIRE((found != nullptr), "no track: " << name);
        return *found;
    }

private:
    struct Sequence {
        std::size_t track = 0;
        std::int64_t time = 0;
        std::map<std::pair<int, std::uint64_t>, std::string> texts; ///< by field and number
        std::map<std::uint64_t, std::uint64_t> frames;              ///< the number of the function
        std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;
    };

    static std::string inflated(protozero::data_view deflated) {
        std::string bytes(std::size_t{1} << 20, '\0');
        uLongf size = bytes.size();
        BOOST_TEST_REQUIRE(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                                      reinterpret_cast<const Bytef*>(deflated.data()),
                                      deflated.size()) == Z_OK);
        bytes.resize(size);
        return bytes;
    }

    void read_packets(const std::string& bytes) {
        protozero::pbf_reader packets(bytes);
        while (packets.next(1))
            read_packet(packets.get_message());
    }

    void read_packet(protozero::pbf_reader packet) {
        std::uint64_t sequence_number = 0, delta = 0;
        protozero::data_view snapshot, interned, event, descriptor;
        while (packet.next())
            switch (packet.tag()) {
            case 6:
                snapshot = packet.get_view();
                break;
            case 8:
                delta = packet.get_uint64();
                break;
            case 10:
                sequence_number = packet.get_uint32();
                break;
            case 11:
                event = packet.get_view();
                break;
            case 12:
                interned = packet.get_view();
                break;
            case 60:
                descriptor = packet.get_view();
                break;
            default:
                packet.skip();
            }
        Sequence& sequence = sequences_[sequence_number];
        if (!snapshot.empty()) {
            sequence.track = tracks.size();
            tracks.emplace_back();
            read_clock(sequence, protozero::pbf_reader(snapshot));
        }
        PerfettoTrack& track = tracks.at(sequence.track);
        if (!descriptor.empty())
            describe(track, protozero::pbf_reader(descriptor));
        if (!interned.empty())
            intern(sequence, protozero::pbf_reader(interned));
        sequence.time += static_cast<std::int64_t>(delta);
        if (!event.empty())
            read_event(sequence, track, protozero::pbf_reader(event));
    }

    static void read_clock(Sequence& sequence, protozero::pbf_reader snapshot) {
        while (snapshot.next(1)) {
            protozero::pbf_reader clock = snapshot.get_message();
            std::uint64_t id = 0, time = 0;
            while (clock.next())
                clock.tag() == 1   ? void(id = clock.get_uint32())
                : clock.tag() == 2 ? void(time = clock.get_uint64())
                                   : clock.skip();
            if (id == 1)
                sequence.time = static_cast<std::int64_t>(time);
        }
    }

    static void describe(PerfettoTrack& track, protozero::pbf_reader descriptor) {
        while (descriptor.next())
            switch (descriptor.tag()) {
            case 1:
                track.uuid = descriptor.get_uint64();
                break;
            case 2:
                track.name = descriptor.get_string();
                break;
            case 5:
                track.parent = descriptor.get_uint64();
                break;
            case 3:
            case 4: {
                const bool process = descriptor.tag() == 3;
                protozero::pbf_reader of = descriptor.get_message();
                while (of.next())
                    if (of.tag() == 1)
                        track.pid = of.get_int32();
                    else if (of.tag() == 2 && !process)
                        track.tid = of.get_int64();
                    else if (of.tag() == (process ? 6u : 5u))
                        track.name = of.get_string();
                    else
                        of.skip();
                break;
            }
            case 8:
                track.counter = true;
                [[fallthrough]];
            default:
                descriptor.skip();
            }
    }

    static void intern(Sequence& sequence, protozero::pbf_reader interned) {
        while (interned.next()) {
            const auto kind = static_cast<int>(interned.tag());
            protozero::pbf_reader one = interned.get_message();
            std::uint64_t number = 0;
            while (one.next())
                if (one.tag() == 1)
                    number = one.get_uint64();
                else if (kind == 6 && one.tag() == 2)
                    sequence.frames[number] = one.get_uint64();
                else if (kind == 7)
                    sequence.stacks[number].push_back(one.get_uint64());
                else if (one.tag() == (kind == 4 ? 3u : 2u))
                    sequence.texts[{kind, number}] = one.get_string();
                else
                    one.skip();
        }
    }

    static void read_event(const Sequence& sequence, PerfettoTrack& track, protozero::pbf_reader from) {
        PerfettoEvent event{.at = sequence.time};
        while (from.next())
            switch (from.tag()) {
            case 3:
                event.category = sequence.texts.at({1, from.get_uint64()});
                break;
            case 4: {
                protozero::pbf_reader argument = from.get_message();
                std::string name, value;
                while (argument.next())
                    argument.tag() == 1    ? void(name = sequence.texts.at({3, argument.get_uint64()}))
                    : argument.tag() == 17 ? void(value = sequence.texts.at({29, argument.get_uint64()}))
                                           : void(value = std::to_string(argument.get_uint64()));
                event.arguments[name] = value;
                break;
            }
            case 9:
                event.type = from.get_enum();
                break;
            case 10:
                event.name = sequence.texts.at({2, from.get_uint64()});
                break;
            case 30:
                event.value = from.get_int64();
                break;
            case 34:
                event.location = sequence.texts.at({4, from.get_uint64()});
                break;
            case 47:
                event.flow = from.get_fixed64();
                break;
            case 48:
                event.flow_end = from.get_fixed64();
                break;
            case 56:
                for (const std::uint64_t frame : sequence.stacks.at(from.get_uint64()))
                    event.frames.push_back(sequence.texts.at({5, sequence.frames.at(frame)}));
                break;
            default:
                from.skip();
            }
        track.events.push_back(std::move(event));
    }

    std::map<std::uint64_t, Sequence> sequences_;
};

} // namespace umadvisor::test
