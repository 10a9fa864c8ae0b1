#include "analyzer/text/json_text.hpp"

#include "trace/plain_text.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace umadvisor::text {

std::string json_text(const nlohmann::ordered_json& document, int indent) {
    std::string text = document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    // What begins a control character that the library leaves as it is: only strings can hold one.
    constexpr std::string_view begins = "\x7f\xc2\xd8\xe2";
    if (text.find_first_of(begins) == std::string::npos)
        return text;
    std::string escaped;
    escaped.reserve(text.size() + text.size() / 64);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find_first_of(begins, at), text.size());
        escaped.append(text, at, next - at);
        at = next;
        if (at == text.size())
            break;
        const trace::CodePoint point = trace::code_point(std::string_view(text).substr(at));
        if (trace::is_control(point.code)) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(point.code));
            escaped += escape;
        } else {
            escaped.append(text, at, point.bytes);
        }
        at += point.bytes;
    }
    return escaped;
}

} // namespace umadvisor::text
