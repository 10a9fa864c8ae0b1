/// Perfetto's native traces: packets of tracks. Field numbers are those of protos/perfetto/trace in
/// https://github.com/google/perfetto.
#pragma once

#include "analyzer/reader/flat_map.hpp"
#include "analyzer/symbols/code_place.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace umadvisor::reports::perfetto {

/// Puts packets into a trace, deflated 256 KiB at a time (TracePacket.compressed_packets), those of one
/// sequence together as far as 16 MiB go: they are alike.
class PacketFile {
public:
    explicit PacketFile(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
    std::uint32_t next_sequence() { return ++sequences_; }
    /// One that begins a sequence: it comes before all of the sequence's others.
    void begin(std::string_view packet) { add(0, packet); }
    void add(std::uint32_t sequence, std::string_view packet);
    /// Call once, after the last.
    void finish();

private:
    void write_out(std::string& packets);

    std::function<void(std::string_view)> write_;
    std::vector<std::string> packets_ = std::vector<std::string>(1); ///< by sequence; of 0: those that begin
    std::size_t bytes_ = 0;                                          ///< of all of them
    std::uint32_t sequences_ = 0;
};

/// The texts, frames and stacks that the tracks of one trace share; each track defines those that it uses. What
/// is written of long texts and deep stacks has a bound, however many tracks repeat them.
class Texts {
public:
    /// `room`: bytes that texts of more than 64 bytes may take in all.
    explicit Texts(std::uint64_t room) : room_(room) {}

    /// A number for the text, from 1 on; the same for the same text.
    std::uint64_t number(std::string_view text);
    /// The text as it is written now.
    std::string written(std::uint64_t number);

    struct Frame {
        std::uint64_t function = 0, file = 0; ///< texts; file 0: none
        int line = 0;
        bool operator==(const Frame&) const = default;
    };
    std::uint64_t frame(const symbols::CodePlace& place);
    const Frame& frame_of(std::uint64_t number) const { return frames_[number - 1]; }
    /// False: the frames of all stacks that were written are too many by now.
    bool take_frames(std::size_t count);

private:
    struct FrameHash {
        std::size_t operator()(const Frame& frame) const;
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::uint64_t room_;
    std::size_t frames_left_ = std::size_t{1} << 18;
    std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>> numbers_;
    std::vector<const std::string*> texts_;
    std::unordered_map<Frame, std::uint64_t, FrameHash> frame_numbers_;
    std::vector<Frame> frames_;
};

/// A stack as events show it.
struct Stack {
    std::uint64_t number = 0;          ///< from 1 on; 0: none
    std::vector<std::uint64_t> frames; ///< the innermost first
    std::uint64_t line = 0;            ///< frame: where to look; 0: none
};

struct Argument {
    std::string_view name;
    std::variant<std::uint64_t, std::string_view> value; ///< a text is interned
};

enum class EventType : std::uint8_t { begin = 1, end = 2, instant = 3, counter = 4 };

/// What is not set is left out.
struct Event {
    EventType type{};
    std::string_view name{}, category{};
    const Stack* stack = nullptr;
    std::uint64_t flow = 0;     ///< that passes through it
    std::uint64_t flow_end = 0; ///< that ends with it
    std::int64_t value = 0;     ///< of a counter
    std::span<const Argument> arguments{};
};

enum class Unit : std::uint8_t { none = 0, bytes = 3 };

/// How a track is described.
struct Description {
    std::string_view name{};
    std::uint64_t parent = 0;
    std::int32_t pid = 0; ///< of a process, or of a thread whose `tid` is given; 0: of neither
    std::int64_t tid = 0;
    std::vector<std::string> command_line{}; ///< of a process
    bool counter = false;
    Unit unit{};
};

/// A track, with a packet sequence of its own: its events need name neither track nor clock, and their times
/// are differences.
class Track {
public:
    /// `file` and `texts` must outlive it. `began`: zero of its times, nanoseconds since 1970.
    Track(PacketFile& file, Texts& texts, std::uint64_t uuid, std::uint64_t began,
          const Description& description);
    Track(const Track&) = delete;
    Track& operator=(const Track&) = delete;

    std::uint64_t uuid() const { return uuid_; }
    /// Nanoseconds; a time before that of the last event is that.
    void add(std::int64_t at, const Event& event);
    std::int64_t last() const { return static_cast<std::int64_t>(last_); }

private:
    /// What is interned, by the field of InternedData that defines it.
    enum class Interned : std::uint8_t {
        category = 1,
        event_name = 2,
        argument_name = 3,
        source_location = 4,
        function = 5,
        frame = 6,
        callstack = 7,
        source_path = 18,
        argument_text = 29,
    };
    void begin(std::uint64_t began);
    void describe(const Description& description);
    bool is_new(Interned kind, std::uint64_t number) {
        bool& defined = defined_[number << 8 | static_cast<std::uint64_t>(kind)];
        return !std::exchange(defined, true);
    }
    std::uint64_t text(Interned kind, std::string_view text);
    void define_text(Interned kind, std::uint64_t number);
    void define_frame(std::uint64_t number);
    void define_stack(const Stack& stack);
    void define_location(std::uint64_t frame);
    void write_arguments(std::span<const Argument> arguments);

    PacketFile& file_;
    Texts& texts_;
    std::uint64_t uuid_, last_ = 0;
    std::uint32_t sequence_;
    reader::FlatMap<bool> defined_;
    std::string packet_, event_, interned_; ///< being made
};

/// A track of slices that lie in each other or beside each other: one that begins in another ends no later.
class SliceTrack {
public:
    SliceTrack(PacketFile& file, Texts& texts, std::uint64_t uuid, std::uint64_t began,
               const Description& description)
        : track_(file, texts, uuid, began, description) {}

    std::uint64_t uuid() const { return track_.uuid(); }
    /// `certain`: false where it ends when the next begins, if that comes first. Returns when it begins, which
    /// is no earlier than the last event.
    std::int64_t slice(std::int64_t begin, std::int64_t end, Event event, bool certain = true);
    /// One whose end is not known yet.
    void open(std::int64_t begin, Event event) { slice(begin, INT64_MAX, event); }
    /// Ends the one that was opened last; nothing where none is.
    void close(std::int64_t end);
    void instant(std::int64_t at, Event event);
    /// Ends those that are open, no later than `end` where their own end is not known.
    void finish(std::int64_t end);
    bool empty() const { return open_.empty(); }

private:
    struct Open {
        std::int64_t end = 0;
        bool certain = true;
    };
    void end_before(std::int64_t begin);
    Track track_;
    std::vector<Open> open_;
};

} // namespace umadvisor::reports::perfetto
