/// Numbers of 64 bits, little-endian, and texts, as the symbol cache and packed traces hold them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace umadvisor::symbols {

static_assert(std::endian::native == std::endian::little);

inline void append_number(std::string& out, std::uint64_t number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Its length, then its bytes.
inline void append_text(std::string& out, std::string_view text) {
    append_number(out, text.size());
    out += text;
}

/// Parses untrusted bytes. A value that reaches beyond their end is zero or empty, and so are all that follow.
class ByteInput {
public:
    explicit ByteInput(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t number() {
        std::uint64_t value = 0;
        good_ = good_ && bytes_.size() >= sizeof value;
        if (good_) {
            std::memcpy(&value, bytes_.data(), sizeof value);
            bytes_.remove_prefix(sizeof value);
        }
        return value;
    }
    /// As append_text() writes it. Points into the bytes.
    std::string_view text() {
        const std::uint64_t length = number();
        good_ = good_ && length <= bytes_.size();
        const std::string_view taken = bytes_.substr(0, good_ ? static_cast<std::size_t>(length) : 0);
        bytes_.remove_prefix(taken.size());
        return taken;
    }
    /// Over `count` things of so many bytes each.
    void skip(std::uint64_t count, std::uint64_t bytes) {
        good_ = good_ && count <= bytes_.size() / bytes;
        bytes_.remove_prefix(good_ ? static_cast<std::size_t>(count * bytes) : 0);
    }
    /// Nothing was asked for that is not there.
    bool good() const { return good_; }

private:
    std::string_view bytes_;
    bool good_ = true;
};

} // namespace umadvisor::symbols
