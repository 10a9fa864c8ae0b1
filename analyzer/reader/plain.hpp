/// Text that others wrote, as it may stand in a line.
#pragma once

#include "trace/plain_text.hpp"

#include <string>

namespace umadvisor::reader {

/// See trace::make_plain().
inline std::string plain(std::string text, trace::Plain kind = trace::Plain::line) {
    text.resize(trace::make_plain(text.data(), text.size(), kind));
    return text;
}

} // namespace umadvisor::reader
