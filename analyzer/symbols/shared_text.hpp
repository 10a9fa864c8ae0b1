/// Texts that many places have in common.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace umadvisor::symbols {

/// Bytes of a file name: Linux opens no longer one (PATH_MAX).
inline constexpr std::size_t longest_path = 4096;

/// An immutable text that its copies share: with a few bytes each, a trace can put many places into one long
/// path.
class SharedText {
public:
    SharedText() = default;
    SharedText(std::string text)
        : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
    SharedText(std::string_view text) : SharedText(std::string(text)) {}
    SharedText(const char* text) : SharedText(std::string(text)) {}

    const std::string& string() const {
        static const std::string none;
        return text_ ? *text_ : none;
    }
    std::string_view view() const { return string(); }
    operator const std::string&() const { return string(); }

    bool empty() const { return text_ == nullptr; }
    /// Of a path: what stands behind its last slash.
    std::string_view name() const { return view().substr(view().rfind('/') + 1); }

    bool operator==(const SharedText& other) const {
        return text_ == other.text_ || string() == other.string();
    }
    std::strong_ordering operator<=>(const SharedText& other) const {
        return text_ == other.text_ ? std::strong_ordering::equal : string() <=> other.string();
    }
    friend bool operator==(const SharedText& text, std::string_view other) { return text.view() == other; }
    friend bool operator==(const SharedText& text, const char* other) { return text.view() == other; }
    friend bool operator==(const SharedText& text, const std::string& other) { return text.string() == other; }
    friend std::ostream& operator<<(std::ostream& stream, const SharedText& text) {
        return stream << text.view();
    }

private:
    std::shared_ptr<const std::string> text_; ///< nullptr: empty
};

} // namespace umadvisor::symbols
