#include "analyzer/cli/commands/version.hpp"

namespace umadvisor::cli {

std::string version_text() {
    return "umadvisor " UMADVISOR_VERSION " (commit " UMADVISOR_COMMIT ", CUDA " UMADVISOR_CUDA_TEXT
           " headers, " UMADVISOR_BUILD_TEXT ")";
}

} // namespace umadvisor::cli
