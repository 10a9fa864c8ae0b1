/// HTML, piece by piece.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::html {

/// Text that others wrote, as it may stand between tags and in quoted attributes: control characters and marks
/// of direction are question marks, and what means something to HTML is escaped. Cut after 4 KiB, with an
/// ellipsis.
std::string escaped(std::string_view text);

/// What is put in as markup is written by this program; all that comes from a trace goes through text().
class Markup {
public:
    Markup& markup(std::string_view tags) {
        out_ += tags;
        return *this;
    }
    Markup& text(std::string_view text) {
        out_ += escaped(text);
        return *this;
    }
    /// `<tag>text</tag>`; `tag` may have attributes.
    Markup& element(std::string_view tag, std::string_view text);

    const std::string& str() const { return out_; }

private:
    std::string out_;
};

} // namespace umadvisor::html
