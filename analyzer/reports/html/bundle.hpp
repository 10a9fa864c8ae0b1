/// The script and the style of the page, compiled in.
#pragma once

#include <string_view>

namespace umadvisor::html {

/// All empty where umadvisor was built without npm.
struct Bundle {
    std::string_view script, style;
    std::string_view script_hash, style_hash; ///< "sha256-...", as a Content-Security-Policy names them
};

/// Generated from page/src.
Bundle bundle();

} // namespace umadvisor::html
