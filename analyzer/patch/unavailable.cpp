#include "analyzer/patch/patch.hpp"

#include "analyzer/reader/error.hpp"

namespace umadvisor::patch {

bool available() {
    return false;
}

Patches make_patches(advice::Report&, const Options&) {
    throw reader::Error(
        "this umadvisor was built without npm, so it cannot parse sources and makes no patches");
}

} // namespace umadvisor::patch
