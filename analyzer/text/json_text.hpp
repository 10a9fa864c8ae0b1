/// Documents as the commands write them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace umadvisor::text {

/// JSON without any control character but the line feeds of its layout (RFC 8259 asks for less: DEL, C1 and
/// what turns the direction of text may stand in it as they are); bytes of names that are no UTF-8 become
/// U+FFFD. `indent`: -1 for a single line.
std::string json_text(const nlohmann::ordered_json& document, int indent);

} // namespace umadvisor::text
