/// Files that Python's pickle.load() reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace umadvisor::reports {

/// Writes one object as a pickle of protocol 2, the newest that the page of PyTorch's memory_viz reads with all
/// its opcodes: dict, list, str and int. Names of keys and whole lists can be written again by their number, so
/// that repetitions cost a few bytes. Holds 64 KiB and the texts given to key().
class PickleWriter {
public:
    using Write = std::function<void(std::string_view)>; ///< may throw

    explicit PickleWriter(Write write);

    void number(std::uint64_t value);
    void number(std::int64_t value);
    /// What is not UTF-8 becomes U+FFFD. No longer than 4 GiB.
    void text(std::string_view text);
    /// The same text again and again: of a dict's key, or of a value that few others are.
    void key(std::string_view text);

    // An object in an object: begin, what is in it (of a dict: a key, then its value), end.
    void begin_list() { begin(']'); }
    void begin_dict() { begin('}'); }
    void end_list() { end('e'); }
    void end_dict() { end('u'); }
    /// Between two elements of a list that is long: readers take what stands between as one piece.
    void next_piece();

    /// Gives the object that was written last a number; again() writes it once more. Both name the same object
    /// in Python.
    std::uint32_t remember();
    void again(std::uint32_t number);

    /// Call once, when the one object is whole.
    void finish();

private:
    void put(char opcode) { put(std::string_view(&opcode, 1)); }
    void put(std::string_view bytes);
    void put_little_endian(std::uint64_t value, std::size_t bytes);
    void begin(char opcode);
    void end(char opcode);

    Write write_;
    std::string pending_;
    std::unordered_map<std::string, std::uint32_t> keys_;
    std::uint32_t next_ = 0;
};

} // namespace umadvisor::reports
