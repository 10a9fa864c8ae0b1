/// Initialisation, and the driver's answers to look-ups of functions.
#pragma once

#include "interposer/attach/driver.hpp"
#include "interposer/runtime/state.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

struct initialize : Always {
    template <Entry E>
    static CUresult call(unsigned flags) noexcept {
        const CUresult result = attach::real<E>()(flags);
        if (result == CUDA_SUCCESS || runtime::is_followed_child())
            runtime::enter();
        return result;
    }
};

/// Replaces an address that the driver answered by our wrapper. The real function is asked first and the
/// *address* is mapped, so names, versions and flags need no rules, and status and errors stay the driver's.
/// `answer` may be null: callers probe with nothing but a name.
inline void replace_answer(const char* symbol, void** answer, int version, cuuint64_t flags) noexcept {
    if (answer == nullptr || *answer == nullptr)
        return;
    runtime::note_lookup(version);
    if (void* const wrapper = attach::substitute(*answer))
        *answer = wrapper;
    else
        runtime::note_unknown_lookup(symbol, version, flags);
}

struct get_proc_address : Always {
    template <Entry E>
    static CUresult call(const char* symbol, void** answer, int version, cuuint64_t flags) noexcept {
        const CUresult result = attach::real<E>()(symbol, answer, version, flags);
        if (result == CUDA_SUCCESS)
            replace_answer(symbol, answer, version, flags);
        return result;
    }
};

struct get_proc_address_status : Always {
    template <Entry E>
    static CUresult call(const char* symbol, void** answer, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status) noexcept {
        const CUresult result = attach::real<E>()(symbol, answer, version, flags, status);
        if (result == CUDA_SUCCESS)
            replace_answer(symbol, answer, version, flags);
        return result;
    }
};

/// The tables go through untouched: the runtime verifies a hash over their addresses.
struct get_export_table : Always {
    template <Entry E>
    [[gnu::always_inline]] static CUresult call(const void** table, const CUuuid* id) noexcept {
        const CUresult result = attach::real<E>()(table, id);
        if (result == CUDA_SUCCESS)
            runtime::note_runtime(__builtin_return_address(0));
        return result;
    }
};

} // namespace umadvisor::wrappers
