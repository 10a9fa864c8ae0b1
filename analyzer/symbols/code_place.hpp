/// Where in the program something was called.
#pragma once

#include <cstdint>
#include <string>

namespace umadvisor::symbols {

struct CodePlace {
    std::string function; ///< demangled, without parameters; empty where not known
    std::string file;     ///< source file as the compiler named it; empty where not known
    int line = 0;
    std::string module;       ///< path of the loaded object; empty where not known
    std::uint64_t offset = 0; ///< virtual address in the module; without a module the address itself
    bool inlined = false;     ///< into the frame that follows

    /// "upload.cu:41 in upload()", or "program+0x1234 in upload()", or "unknown place".
    std::string text() const;
};

} // namespace umadvisor::symbols
