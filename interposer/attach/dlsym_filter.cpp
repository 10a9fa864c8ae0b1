/// Decides what the dlsym thunk answers. Everything it does not substitute goes on to the real dlsym as a tail
/// jump, with the caller's return address in place.
#include "interposer/attach/driver.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/record/stacks.hpp"

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>

namespace umadvisor::attach {

namespace {

static_assert(std::is_sorted(std::begin(entry_names), std::end(entry_names)),
              "driver_api.def is searched by halves");

struct Answer {
    void* address; ///< returned at once, unless null
    void* handle;  ///< to go on with
};

/// Exact exported names only: a prefix match on "cu" would catch cuDNN, cuBLAS and curl as well.
bool is_entry(const char* symbol) {
    if (symbol == nullptr || symbol[0] != 'c' || symbol[1] != 'u' || symbol[2] < 'A' || symbol[2] > 'Z')
        return false;
    return std::binary_search(std::begin(entry_names), std::end(entry_names), std::string_view(symbol));
}

/// Whether an address lies in this library.
bool is_ours(const void* address) {
    Dl_info there, here;
    return dladdr(address, &there) != 0 && dladdr(reinterpret_cast<const void*>(&is_entry), &here) != 0 &&
           there.dli_fbase == here.dli_fbase;
}

Answer answer_entry(void* handle, const char* symbol, const void* caller) {
    const Answer forward{nullptr, handle};
    const bool driver = find_driver();
    if (handle == RTLD_NEXT || (driver && is_left_alone(caller)))
        return forward;
    void* const address = look_up(handle, symbol);
    if (address == nullptr)
        return forward; // once more, so that dlerror(3) says what it would have said
    if (!driver) {
        // Without a driver our exported names must not look like one: ask where the name is not, so that the
        // program gets the null and the dlerror text of a missing symbol.
        static void* const libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
        return is_ours(address) && libc != nullptr ? Answer{nullptr, libc} : forward;
    }
    void* const wrapper = substitute(address);
    return wrapper != nullptr ? Answer{wrapper, handle} : forward;
}

} // namespace

extern "C" __attribute__((visibility("hidden"))) Answer umadvisor_filter_dlsym(void* handle, const char* symbol,
                                                                               const void* caller) noexcept {
    find_real_dlsym(); // the thunk jumps through it
    record::follow_modules();
    if (!is_entry(symbol))
        return {nullptr, handle};
    const int kept = errno; // looking for the driver, dlopen(3) looks for files
    const Answer answer = answer_entry(handle, symbol, caller);
    errno = kept;
    return answer;
}

} // namespace umadvisor::attach
