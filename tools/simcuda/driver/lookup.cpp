// cuGetProcAddress in both its forms, cuGetExportTable and the names of errors.
#include "tools/simcuda/driver/availability.hpp"
#include "tools/simcuda/driver/kernel_run.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

using namespace simcuda;

namespace {

struct Symbol {
    std::string_view name;
    void* address;
};

// cuda.h declares newer ones only if it is newer itself.
#define API(symbol, handling)
#define API_UNDECLARED(symbol)
#define API_NEWER(symbol, version, handling) extern "C" int newer_##symbol() __asm__(#symbol);
#include "interposer/driver_api.def"

// The list is in the order of nm: sorted by name.
const Symbol symbols[] = {
#define API_UNDECLARED(symbol)
#define API(symbol, handling) {#symbol, reinterpret_cast<void*>(&symbol)},
#define API_NEWER(symbol, version, handling) {#symbol, reinterpret_cast<void*>(&newer_##symbol)},
#include "interposer/driver_api.def"
};

const Symbol* find(std::string_view name) {
    const auto found = std::find_if(std::begin(symbols), std::end(symbols),
                                    [name](const Symbol& symbol) { return symbol.name == name; });
    return found != std::end(symbols) && is_available(name) ? found : nullptr;
}

/// Forms for the per-thread default stream came with CUDA 7.0; asked for at an older version they are not given
/// out (seen with driver 580.159).
constexpr int first_per_thread = 7000;

/// The exported symbol for a base name at a CUDA version: the newest ABI not newer than the version, and of
/// that the per-thread form if asked for and there.
const Symbol* resolve(std::string_view base, int version, bool per_thread) {
    static constexpr std::string_view revisions[] = {"_v4", "_v3", "_v2", ""};
    for (const std::string_view revision : revisions) {
        const std::string name = std::string(base) + std::string(revision);
        const Symbol* symbol = find(name);
        if (!symbol || introduced_in(name) > version) {
            continue;
        }
        for (const char* suffix : {"_ptsz", "_ptds"}) {
            const Symbol* own = per_thread ? find(name + suffix) : nullptr;
            if (own && version < first_per_thread) {
                return nullptr;
            }
            symbol = own ? own : symbol;
        }
        return symbol;
    }
    return nullptr;
}

CUresult answer(const char* base, void** address, int version, cuuint64_t flags,
                CUdriverProcAddressQueryResult* status) {
    if (!base || version > driver().config.driver_version ||
        (flags & ~static_cast<cuuint64_t>(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                                          CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Symbol* symbol = resolve(base, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
    if (address) {
        *address = symbol ? answer_for(symbol->name, symbol->address) : nullptr;
    }
    if (status) {
        *status = symbol       ? CU_GET_PROC_ADDRESS_SUCCESS
                  : find(base) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    // cuda.h: an unknown symbol is no error, the address is NULL. Drivers of CUDA 11 answered
    // CUDA_ERROR_NOT_FOUND.
    return symbol || driver().config.driver_version >= 12000 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

} // namespace

extern "C" CUresult CUDAAPI cuGetProcAddress(const char* base, void** address, int version, cuuint64_t flags) {
    SIMCUDA_ENTER(Entry::cuGetProcAddress, Needs::nothing)
    return answer(base, address, version, flags, nullptr);
}

extern "C" CUresult CUDAAPI cuGetProcAddress_v2(const char* base, void** address, int version, cuuint64_t flags,
                                                CUdriverProcAddressQueryResult* status) {
    SIMCUDA_ENTER(Entry::cuGetProcAddress_v2, Needs::nothing)
    return answer(base, address, version, flags, status);
}

/// The entry point of that exported name, for a library that lies on this one; null: there is none.
extern "C" void* simcuda_entry(const char* symbol) {
    const Symbol* const found = find(symbol);
    return found ? found->address : nullptr;
}

extern "C" CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid* id) {
    SIMCUDA_ENTER(Entry::cuGetExportTable, Needs::nothing)
    if (!table || !id || std::memcmp(id->bytes, device_interface_uuid, sizeof device_interface_uuid) != 0) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (!driver().initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *table = device_interface();
    return CUDA_SUCCESS;
}

namespace {

struct ErrorText {
    CUresult error;
    const char* name;
    const char* text;
};

#define SIMCUDA_ERROR(name, text)                                                                              \
    { name, #name, text }
constexpr ErrorText errors[] = {
    SIMCUDA_ERROR(CUDA_SUCCESS, "no error"),
    SIMCUDA_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SIMCUDA_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SIMCUDA_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    SIMCUDA_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    SIMCUDA_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    SIMCUDA_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SIMCUDA_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    SIMCUDA_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    SIMCUDA_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SIMCUDA_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    SIMCUDA_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SIMCUDA_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    SIMCUDA_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    SIMCUDA_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "part or all of the requested memory range is already mapped"),
    SIMCUDA_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "pointer does not correspond to a registered memory region"),
    SIMCUDA_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SIMCUDA_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    SIMCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    SIMCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  "operation failed due to a previous error during capture"),
    SIMCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    SIMCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    SIMCUDA_ERROR(CUDA_ERROR_CAPTURED_EVENT,
                  "operation not permitted on an event last recorded in a capturing stream"),
    SIMCUDA_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

CUresult describe(CUresult error, const char** text, const char* ErrorText::*field) {
    for (const ErrorText& known : errors) {
        if (known.error == error) {
            *text = known.*field;
            return CUDA_SUCCESS;
        }
    }
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

} // namespace

extern "C" CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
    SIMCUDA_ENTER(Entry::cuGetErrorName, Needs::nothing)
    return describe(error, text, &ErrorText::name);
}

extern "C" CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
    SIMCUDA_ENTER(Entry::cuGetErrorString, Needs::nothing)
    return describe(error, text, &ErrorText::text);
}
