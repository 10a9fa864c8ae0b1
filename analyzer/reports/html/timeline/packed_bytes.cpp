#include "analyzer/reports/html/timeline/packed_bytes.hpp"

#include "analyzer/reader/error.hpp"

#include <zlib.h>

namespace umadvisor::html {
namespace {

std::string base64(const std::vector<std::uint8_t>& bytes) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t three = 0;
        for (std::size_t i = 0; i < 3; ++i)
            three = three << 8 | (at + i < bytes.size() ? bytes[at + i] : 0u);
        for (std::size_t i = 0; i < 4; ++i)
            text += at + i <= bytes.size() ? digits[three >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

} // namespace

std::string PackedBytes::text() const {
    constexpr int quick = 3; // 6 takes twice as long for a byte in a hundred
    uLongf length = compressBound(static_cast<uLong>(bytes_.size()));
    std::vector<std::uint8_t> packed(length);
    if (compress2(packed.data(), &length, bytes_.data(), static_cast<uLong>(bytes_.size()), quick) != Z_OK)
        throw reader::Error("the data of the page cannot be deflated");
    packed.resize(length);
    return base64(packed);
}

} // namespace umadvisor::html
