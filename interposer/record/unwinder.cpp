#include "interposer/record/unwinder.hpp"

#include "interposer/record/frame_records.hpp"
#include "interposer/record/off_stack.hpp"

#include <climits>
#include <cstring>
#include <dlfcn.h>

namespace umadvisor::record {
namespace {

// libunwind.h renames each function to its symbol for this architecture (unw_step is _ULx86_64_step).
#define UMADVISOR_TEXT(x) #x
#define UMADVISOR_SYMBOL(x) UMADVISOR_TEXT(x)

template <class Function>
bool bind_function(void* library, const char* symbol, Function& function) noexcept {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    return function != nullptr;
}

#if defined(__x86_64__)

constexpr std::uintptr_t looked_at = 4096; ///< bytes that are readable or not together
constexpr std::size_t most_pages = 4;
/// The numbers of pages that could be read in this walk, plus 1; 0 is no page. They are of the stack and of
/// code.
constinit thread_local std::uintptr_t readable[most_pages] = {};

/// The program's words as they are: red zones and shadow are no concern here.
[[gnu::no_sanitize("address", "thread")]] unw_word_t raw_word(unw_word_t address) noexcept {
    return *reinterpret_cast<const volatile unw_word_t*>(address); // NOLINT(performance-no-int-to-ptr)
}

/// In place of libunwind's own, which asks with mincore(2) whether a word can be read where there is no
/// unwinding information: a filter of system calls (seccomp(2)) may kill the program for that.
int access_memory(unw_addr_space_t /*space*/, unw_word_t address, unw_word_t* value, int write,
                  void* /*argument*/) noexcept {
    if (write != 0) {                                     // for the program, which may use the same library
        *reinterpret_cast<unw_word_t*>(address) = *value; // NOLINT(performance-no-int-to-ptr)
        return 0;
    }
    const std::uintptr_t page = address / looked_at + 1;
    std::uintptr_t& known = readable[page % most_pages];
    if (known != page || (address + sizeof *value - 1) / looked_at + 1 != page) {
        if (!can_be_read(address))
            return -UNW_EINVAL;
        known = page;
    }
    *value = raw_word(address);
    return 0;
}

#endif

void* open_library(std::string_view directory) noexcept {
    constexpr std::string_view name = "libunwind.so.8";
    struct Path {
        char text[PATH_MAX];
    };
    const OffStack<Path> buffer;
    char* const path = buffer->text;
    if (!directory.empty() && directory.size() + name.size() < sizeof(Path)) {
        std::memcpy(path, directory.data(), directory.size());
        std::memcpy(path + directory.size(), name.data(), name.size());
        path[directory.size() + name.size()] = '\0';
        if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
            return library;
    }
    return dlopen(name.data(), RTLD_NOW | RTLD_LOCAL);
}

} // namespace

const char* load_unwinder(Unwinder& unwinder, std::string_view directory) noexcept {
    void* library = open_library(directory);
    if (library == nullptr)
        return dlerror();
    if (!bind_function(library, "unw_backtrace", unwinder.backtrace))
        return "libunwind.so.8 has no unw_backtrace";
#if defined(__x86_64__)
    unwinder.steps = bind_function(library, UMADVISOR_SYMBOL(unw_tdep_getcontext), unwinder.get_context) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_init_local), unwinder.init_local) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_step), unwinder.step) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_get_reg), unwinder.get_register) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_get_save_loc), unwinder.get_save_location) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_is_signal_frame), unwinder.is_signal_frame) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_get_proc_info), unwinder.get_proc_info) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_flush_cache), unwinder.flush_cache) &&
                     bind_function(library, UMADVISOR_SYMBOL(unw_local_addr_space), unwinder.local_space);
    bind_function(library, UMADVISOR_SYMBOL(unw_get_accessors), unwinder.get_accessors);
#endif
    return nullptr;
}

void Unwinder::take_over_memory() const noexcept {
#if defined(__x86_64__)
    if (local_space == nullptr || get_accessors == nullptr)
        return;
    get_accessors(*local_space)->access_mem = access_memory;
#endif
}

void begin_walk() noexcept {
#if defined(__x86_64__)
    for (std::uintptr_t& each : readable)
        each = 0;
#endif
}

int Unwinder::backtrace_by_steps(void** addresses, int capacity) const noexcept {
    const OffStack<UnwinderState> state;
    auto& [context, cursor] = *state;
    if (get_context(&context) != 0 || init_local(&cursor, &context) != 0)
        return 0;
    int count = 0;
    unw_word_t ip = 0;
    while (count < capacity && step(&cursor) > 0 && get_register(&cursor, UNW_REG_IP, &ip) == 0)
        addresses[count++] = reinterpret_cast<void*>(ip);
    return count;
}

} // namespace umadvisor::record
