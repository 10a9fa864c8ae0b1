/// What a command may write, whatever it has read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::fuzz {

enum class Format {
    text,
    coloured, ///< text with the colours that --color always asks for
    markdown,
    collapsed, ///< a line for each stack, which ends in a number
    csv,
    json,
    sarif,
    dump,
    json_dump, ///< a document in each line
    html,      ///< one page, with two scripts: its data and its own
};

/// Something that must not be.
struct Objection {
    std::string kind;   ///< "control byte", "JSON", ...
    std::string detail; ///< where, for people
};

/// Of what went to the standard output.
std::vector<Objection> check_output(Format format, std::string_view text);
/// Of what went to the standard error.
std::vector<Objection> check_messages(std::string_view text);

} // namespace umadvisor::fuzz
