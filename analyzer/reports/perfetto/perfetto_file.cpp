#include "analyzer/reports/perfetto/perfetto_file.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/shown_name.hpp"

#include <algorithm>
#include <utility>
#include <zlib.h>

namespace umadvisor::reports::perfetto {
namespace {

using protozero::pbf_writer;

/// A compressed packet may have 512 KB; of so many bytes deflate makes a few more at the worst.
constexpr std::size_t packed_together = 256 * 1024;
constexpr std::size_t most_waiting = 16 << 20; ///< bytes of all sequences
constexpr int deflate_level = 7;               ///< from 8 on it takes twice as long, for a twentieth
/// Texts of no more bytes are always written whole.
constexpr std::size_t short_text = 64;
/// A clock of the sequence's own (clock_snapshot.proto), and the clock that it is related to.
constexpr std::uint32_t own_clock = 64, realtime_clock = 1;
constexpr std::uint32_t state_cleared = 1, needs_state = 2;
/// int32 and int64 in these protos; a writer that takes unsigned numbers writes the same.
constexpr std::uint64_t largest_time = std::uint64_t{1} << 62;

namespace trace_field {
constexpr protozero::pbf_tag_type packet = 1;
}
namespace packet_field {
constexpr protozero::pbf_tag_type clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11,
                                  interned_data = 12, sequence_flags = 13, compressed_packets = 50,
                                  defaults = 59, track_descriptor = 60, first_of_sequence = 87;
}
namespace event_field {
constexpr protozero::pbf_tag_type categories = 3, arguments = 4, type = 9, name = 10, counter_value = 30,
                                  source_location = 34, flows = 47, ended_flows = 48, callstack = 56;
}

} // namespace

void PacketFile::add(std::uint32_t sequence, std::string_view packet) {
    if (sequence >= packets_.size())
        packets_.resize(sequence + 1);
    std::string& packets = packets_[sequence];
    const std::size_t before = packets.size();
    pbf_writer(packets).add_message(trace_field::packet, packet.data(), packet.size());
    bytes_ += packets.size() - before;
    if (bytes_ >= most_waiting) {
        finish();
    } else if (packets.size() >= packed_together) {
        write_out(packets_.front());
        write_out(packets);
    }
}

void PacketFile::finish() {
    for (std::string& packets : packets_)
        write_out(packets);
}

void PacketFile::write_out(std::string& packets) {
    if (packets.empty())
        return;
    uLongf bytes = compressBound(packets.size());
    std::string deflated(bytes, '\0');
    if (compress2(reinterpret_cast<Bytef*>(deflated.data()), &bytes,
                  reinterpret_cast<const Bytef*>(packets.data()), packets.size(), deflate_level) != Z_OK)
        throw reader::Error("out of memory");
    std::string packet, whole;
    pbf_writer(packet).add_bytes(packet_field::compressed_packets, deflated.data(), bytes);
    pbf_writer(whole).add_message(trace_field::packet, packet);
    write_(whole);
    bytes_ -= packets.size();
    packets.clear();
}

std::size_t Texts::FrameHash::operator()(const Frame& frame) const {
    std::uint64_t hash = frame.function * 0x9e3779b97f4a7c15 ^ frame.file;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9 ^ static_cast<std::uint64_t>(frame.line);
    return static_cast<std::size_t>(hash ^ hash >> 32);
}

std::uint64_t Texts::number(std::string_view text) {
    if (const auto known = numbers_.find(text); known != numbers_.end())
        return known->second;
    const auto [added, fresh] = numbers_.emplace(std::string(text), texts_.size() + 1);
    texts_.push_back(&added->first);
    return added->second;
}

std::string Texts::written(std::uint64_t number) {
    const std::string& text = *texts_[number - 1];
    std::string shown = reader::plain(reader::shown_name(text));
    if (shown.size() <= short_text)
        return shown;
    if (shown.size() > room_)
        return reader::plain(reader::shown_name(text, short_text));
    room_ -= shown.size();
    return shown;
}

std::uint64_t Texts::frame(const symbols::CodePlace& place) {
    const symbols::SharedText& file = place.file.empty() ? place.module : place.file;
    Frame frame;
    frame.function = place.function.empty() ? number(place.text()) : number(place.function.view());
    frame.file = file.empty() ? 0 : number(file.view());
    frame.line = place.file.empty() ? 0 : place.line;
    const auto [known, fresh] = frame_numbers_.try_emplace(frame, frames_.size() + 1);
    if (fresh)
        frames_.push_back(frame);
    return known->second;
}

bool Texts::take_frames(std::size_t count) {
    if (count > frames_left_)
        return false;
    frames_left_ -= count;
    return true;
}

Track::Track(PacketFile& file, Texts& texts, std::uint64_t uuid, std::uint64_t began,
             const Description& description)
    : file_(file), texts_(texts), uuid_(uuid), sequence_(file.next_sequence()) {
    begin(began);
    describe(description);
}

/// The sequence's clock and what all of its events have in common.
void Track::begin(std::uint64_t began) {
    packet_.clear();
    pbf_writer packet(packet_);
    packet.add_uint32(packet_field::sequence, sequence_);
    packet.add_uint32(packet_field::sequence_flags, state_cleared | needs_state);
    packet.add_bool(packet_field::first_of_sequence, true);
    {
        pbf_writer defaults(packet, packet_field::defaults);
        defaults.add_uint32(58, own_clock); // timestamp_clock_id
        pbf_writer of_events(defaults, 11);
        of_events.add_uint64(11, uuid_); // track_uuid
    }
    {
        pbf_writer snapshot(packet, packet_field::clock_snapshot);
        {
            pbf_writer own(snapshot, 1);
            own.add_uint32(1, own_clock);
            own.add_uint64(2, 0);
            own.add_bool(3, true); // is_incremental
        }
        {
            pbf_writer real(snapshot, 1);
            real.add_uint32(1, realtime_clock);
            real.add_uint64(2, std::min(began, largest_time));
        }
        snapshot.add_enum(2, realtime_clock); // primary_trace_clock
    }
    file_.begin(packet_);
}

void Track::describe(const Description& description) {
    const std::string name = texts_.written(texts_.number(description.name));
    packet_.clear();
    {
        pbf_writer packet(packet_);
        packet.add_uint32(packet_field::sequence, sequence_);
        packet.add_uint32(packet_field::sequence_flags, needs_state);
        pbf_writer track(packet, packet_field::track_descriptor);
        track.add_uint64(1, uuid_);
        if (description.pid != 0 && description.tid != 0) {
            pbf_writer thread(track, 4);
            thread.add_int32(1, description.pid);
            thread.add_int64(2, description.tid);
            thread.add_string(5, name);
        } else if (description.pid != 0) {
            pbf_writer process(track, 3);
            process.add_int32(1, description.pid);
            for (const std::string& argument : description.command_line)
                process.add_string(2, texts_.written(texts_.number(argument)));
            process.add_string(6, name);
        } else {
            track.add_string(2, name);
        }
        if (description.parent != 0)
            track.add_uint64(5, description.parent);
        if (description.counter) {
            pbf_writer counter(track, 8);
            counter.add_enum(3, static_cast<std::int32_t>(description.unit));
        }
    }
    file_.begin(packet_);
}

void Track::define_text(Interned kind, std::uint64_t number) {
    if (!is_new(kind, number))
        return;
    const std::string text = texts_.written(number);
    pbf_writer all(interned_);
    pbf_writer one(all, static_cast<protozero::pbf_tag_type>(kind));
    one.add_uint64(1, number);
    one.add_string(2, text);
}

std::uint64_t Track::text(Interned kind, std::string_view text) {
    const std::uint64_t number = texts_.number(text);
    define_text(kind, number);
    return number;
}

void Track::define_frame(std::uint64_t number) {
    if (!is_new(Interned::frame, number))
        return;
    const Texts::Frame& frame = texts_.frame_of(number);
    define_text(Interned::function, frame.function);
    if (frame.file != 0)
        define_text(Interned::source_path, frame.file);
    pbf_writer all(interned_);
    pbf_writer one(all, static_cast<protozero::pbf_tag_type>(Interned::frame));
    one.add_uint64(1, number);
    one.add_uint64(2, frame.function);
    if (frame.file != 0)
        one.add_uint64(5, frame.file);
    if (frame.line > 0)
        one.add_uint32(6, static_cast<std::uint32_t>(frame.line));
}

void Track::define_stack(const Stack& stack) {
    if (!is_new(Interned::callstack, stack.number))
        return;
    std::span<const std::uint64_t> frames(stack.frames);
    if (!texts_.take_frames(frames.size()))
        frames = frames.first(1);
    for (const std::uint64_t frame : frames)
        define_frame(frame);
    pbf_writer all(interned_);
    pbf_writer one(all, static_cast<protozero::pbf_tag_type>(Interned::callstack));
    one.add_uint64(1, stack.number);
    for (std::size_t i = frames.size(); i-- != 0;) // the outermost first
        one.add_uint64(2, frames[i]);
}

void Track::define_location(std::uint64_t number) {
    if (!is_new(Interned::source_location, number))
        return;
    const Texts::Frame& frame = texts_.frame_of(number);
    const std::string file = frame.file == 0 ? std::string() : texts_.written(frame.file);
    const std::string function = texts_.written(frame.function);
    pbf_writer all(interned_);
    pbf_writer one(all, static_cast<protozero::pbf_tag_type>(Interned::source_location));
    one.add_uint64(1, number);
    if (frame.file != 0)
        one.add_string(2, file);
    one.add_string(3, function);
    if (frame.line > 0)
        one.add_uint32(4, static_cast<std::uint32_t>(frame.line));
}

void Track::write_arguments(std::span<const Argument> arguments) {
    for (const Argument& argument : arguments) {
        const std::uint64_t name = text(Interned::argument_name, argument.name);
        const auto* const words = std::get_if<std::string_view>(&argument.value);
        const std::uint64_t number =
            words != nullptr ? text(Interned::argument_text, *words) : std::get<std::uint64_t>(argument.value);
        pbf_writer event(event_);
        pbf_writer one(event, event_field::arguments);
        one.add_uint64(1, name);
        one.add_uint64(words != nullptr ? 17 : 3, number); // string_value_iid or uint_value
    }
}

/// The fields that differ from event to event are written side by side: the deflated file is a fifteenth
/// smaller for it.
void Track::add(std::int64_t at, const Event& event) {
    const std::uint64_t time = std::max(last_, static_cast<std::uint64_t>(std::max<std::int64_t>(at, 0)));
    event_.clear();
    interned_.clear();
    pbf_writer writer(event_);
    if (event.flow_end != 0)
        writer.add_fixed64(event_field::ended_flows, event.flow_end);
    if (event.flow != 0)
        writer.add_fixed64(event_field::flows, event.flow);
    write_arguments(event.arguments);
    if (event.type == EventType::counter)
        writer.add_int64(event_field::counter_value, event.value);
    if (event.stack != nullptr && event.stack->number != 0 && !event.stack->frames.empty()) {
        define_stack(*event.stack);
        writer.add_uint64(event_field::callstack, event.stack->number);
        if (event.stack->line != 0) {
            define_location(event.stack->line);
            writer.add_uint64(event_field::source_location, event.stack->line);
        }
    }
    if (!event.name.empty())
        writer.add_uint64(event_field::name, text(Interned::event_name, event.name));
    if (!event.category.empty())
        writer.add_uint64(event_field::categories, text(Interned::category, event.category));
    writer.add_enum(event_field::type, static_cast<std::int32_t>(event.type));

    packet_.clear();
    pbf_writer packet(packet_);
    packet.add_uint32(packet_field::sequence, sequence_);
    packet.add_uint32(packet_field::sequence_flags, needs_state);
    packet.add_uint64(packet_field::timestamp, time - last_);
    if (!interned_.empty())
        packet.add_message(packet_field::interned_data, interned_);
    packet.add_message(packet_field::track_event, event_);
    file_.add(sequence_, packet_);
    last_ = time;
}

void SliceTrack::end_before(std::int64_t begin) {
    while (!open_.empty() && (open_.back().end <= begin || !open_.back().certain)) {
        const std::int64_t end = std::min(open_.back().end, begin);
        track_.add(end, {.type = EventType::end});
        open_.pop_back();
    }
}

std::int64_t SliceTrack::slice(std::int64_t begin, std::int64_t end, Event event, bool certain) {
    begin = std::max(begin, track_.last());
    end_before(begin);
    end = std::max(begin, end);
    if (!open_.empty())
        end = std::min(end, open_.back().end);
    event.type = EventType::begin;
    track_.add(begin, event);
    open_.push_back({end, certain});
    return begin;
}

void SliceTrack::close(std::int64_t end) {
    if (open_.empty())
        return;
    track_.add(end, {.type = EventType::end});
    open_.pop_back();
}

void SliceTrack::instant(std::int64_t at, Event event) {
    at = std::max(at, track_.last());
    end_before(at);
    event.type = EventType::instant;
    track_.add(at, event);
}

void SliceTrack::finish(std::int64_t end) {
    while (!open_.empty()) {
        track_.add(open_.back().end == INT64_MAX ? end : open_.back().end, {.type = EventType::end});
        open_.pop_back();
    }
}

} // namespace umadvisor::reports::perfetto
