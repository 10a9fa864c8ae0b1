/* NVTX, which is headers alone, for Python. */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) void umadvisor_push(const char* name) {
    nvtxRangePushA(name);
}

__attribute__((visibility("default"))) void umadvisor_pop(void) {
    nvtxRangePop();
}
