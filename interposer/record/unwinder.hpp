/// libunwind, loaded and never linked: as a dependency of a preloaded library it would take over
/// _Unwind_RaiseException for the whole program.
#pragma once

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <string_view>

namespace umadvisor::record {

/// The state for looking at frames one by one: 2 KiB.
struct UnwinderState {
    unw_context_t context;
    unw_cursor_t cursor;
};

/// The functions of the loaded libunwind.
struct Unwinder {
    int (*backtrace)(void** addresses, int capacity); ///< null: no unwinder

    // To look at single frames; null if the library lacks one of them.
    int (*get_context)(unw_context_t*);
    int (*init_local)(unw_cursor_t*, unw_context_t*);
    int (*step)(unw_cursor_t*);
    int (*get_register)(unw_cursor_t*, unw_regnum_t, unw_word_t*);
    int (*get_save_location)(unw_cursor_t*, int, unw_save_loc_t*);
    int (*is_signal_frame)(unw_cursor_t*);
    int (*get_proc_info)(unw_cursor_t*, unw_proc_info_t*);
    void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
    const unw_addr_space_t* local_space;
    unw_accessors_t* (*get_accessors)(unw_addr_space_t);
    bool steps;

    /// The same as backtrace(), twenty times slower, but right if other code was loaded at an address since.
    [[gnu::noinline]] int backtrace_by_steps(void** addresses, int capacity) const noexcept;

    /// From now on libunwind asks us whether memory can be read. Not before its pipe is open: this call opens
    /// it.
    void take_over_memory() const noexcept;

    /// For backtrace_by_steps(): code was unloaded. backtrace() cannot be made to forget it.
    void forget_code() const noexcept {
        if (steps)
            flush_cache(*local_space, 0, 0);
    }
};

/// To be called before each walk up a stack: which pages can be read is asked anew.
void begin_walk() noexcept;

/// Loads libunwind.so.8 from `directory` (with a slash at its end), else by the loader's search. Returns
/// nullptr or why not (the loader's text).
const char* load_unwinder(Unwinder& unwinder, std::string_view directory) noexcept;

} // namespace umadvisor::record
