#include "analyzer/reports/memory_viz/pickle.hpp"

#include "trace/plain_text.hpp"

#include <utility>

namespace umadvisor::reports {
namespace {

// Opcodes of protocol 2 (Python, Lib/pickletools.py).
constexpr char proto = '\x80', mark = '(', stop = '.';
constexpr char one_byte = 'K', two_bytes = 'M', signed_four_bytes = 'J', long_number = '\x8a';
constexpr char unicode = 'X';
constexpr char put_short = 'q', put_long = 'r', get_short = 'h', get_long = 'j';

constexpr std::size_t most_pending = 64 << 10;
constexpr std::string_view replacement = "\xef\xbf\xbd";

/// pickle.load() refuses what is not UTF-8.
std::string utf8(std::string_view text) {
    std::string valid;
    while (!text.empty()) {
        const trace::CodePoint point = trace::code_point(text);
        valid += point.bytes == 0 ? replacement : text.substr(0, point.bytes);
        text.remove_prefix(point.bytes == 0 ? 1 : point.bytes);
    }
    return valid;
}

} // namespace

PickleWriter::PickleWriter(Write write) : write_(std::move(write)) {
    put(proto);
    put('\x02');
}

void PickleWriter::put(std::string_view bytes) {
    pending_ += bytes;
    if (pending_.size() >= most_pending) {
        write_(pending_);
        pending_.clear();
    }
}

void PickleWriter::put_little_endian(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        put(static_cast<char>(i < 8 ? value >> (8 * i) & 0xff : 0));
}

void PickleWriter::number(std::uint64_t value) {
    if (value <= 0xff) {
        put(one_byte);
        put_little_endian(value, 1);
    } else if (value <= 0xffff) {
        put(two_bytes);
        put_little_endian(value, 2);
    } else {
        // In two's complement: a ninth byte keeps a number with its highest bit set from being negative.
        const std::size_t bytes = value >> 63 != 0 ? 9 : 8;
        put(long_number);
        put_little_endian(bytes, 1);
        put_little_endian(value, bytes);
    }
}

void PickleWriter::number(std::int64_t value) {
    if (value >= 0) {
        number(static_cast<std::uint64_t>(value));
    } else if (value >= INT32_MIN) {
        put(signed_four_bytes);
        put_little_endian(static_cast<std::uint64_t>(value), 4);
    } else {
        put(long_number);
        put('\x08');
        put_little_endian(static_cast<std::uint64_t>(value), 8);
    }
}

void PickleWriter::text(std::string_view text) {
    const std::string valid = utf8(text);
    put(unicode);
    put_little_endian(valid.size(), 4);
    put(valid);
}

void PickleWriter::key(std::string_view words) {
    if (const auto known = keys_.find(std::string(words)); known != keys_.end()) {
        again(known->second);
        return;
    }
    text(words);
    keys_.emplace(words, remember());
}

void PickleWriter::begin(char opcode) {
    put(opcode);
    put(mark);
}

void PickleWriter::end(char opcode) {
    put(opcode);
}

void PickleWriter::next_piece() {
    put('e');
    put(mark);
}

std::uint32_t PickleWriter::remember() {
    put(next_ <= 0xff ? put_short : put_long);
    put_little_endian(next_, next_ <= 0xff ? 1 : 4);
    return next_++;
}

void PickleWriter::again(std::uint32_t number) {
    put(number <= 0xff ? get_short : get_long);
    put_little_endian(number, number <= 0xff ? 1 : 4);
}

void PickleWriter::finish() {
    put(stop);
    write_(std::exchange(pending_, {}));
}

} // namespace umadvisor::reports
