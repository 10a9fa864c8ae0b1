// An export for every entry point that no other file defines. cuda.h stays out: the signatures do not matter
// here, and these declarations would contradict it.
#include "tools/simcuda/driver/entries.hpp"

namespace simcuda {
int refuse_unsupported(Entry entry);
}

#define API_UNDECLARED(symbol)
#define API(symbol, handling)                                                                                  \
    extern "C" __attribute__((weak)) int symbol(void) {                                                        \
        return simcuda::refuse_unsupported(simcuda::Entry::symbol);                                            \
    }
#include "interposer/driver_api.def"
