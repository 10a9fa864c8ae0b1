/// Numbers on their way into the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::html {

/// A row of bytes: numbers as LEB128, the smaller the shorter.
class PackedBytes {
public:
    void number(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
        bytes_.push_back(static_cast<std::uint8_t>(value));
    }
    void byte(std::uint8_t value) { bytes_.push_back(value); }
    std::size_t size() const { return bytes_.size(); }
    /// Deflated (RFC 1950), in base64.
    std::string text() const;

private:
    std::vector<std::uint8_t> bytes_;
};

} // namespace umadvisor::html
