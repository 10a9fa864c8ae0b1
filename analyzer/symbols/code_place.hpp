/// Where in the program something was called: one frame of a stack, as it is shown.
#pragma once

#include "analyzer/symbols/shared_text.hpp"

#include <cstdint>
#include <string>

namespace umadvisor::symbols {

enum class Language : std::uint8_t { native, python };

struct CodePlace {
    SharedText function; ///< demangled, without parameters; empty where not known
    SharedText file;     ///< source file as the compiler or interpreter named it; empty where not known
    int line = 0;
    SharedText module;        ///< path of the loaded object; empty where not known, and in Python
    std::uint64_t offset = 0; ///< virtual address in the module; without a module the address itself
    bool inlined = false;     ///< into the frame that follows
    Language language = Language::native;

    /// Nothing but an address is known.
    bool unknown() const { return module.empty() && function.empty() && file.empty(); }

    /// "upload.cu:41 in upload()", or "program+0x1234 in upload()", or "unknown place".
    std::string text() const;

    bool operator==(const CodePlace&) const = default;
};

} // namespace umadvisor::symbols
