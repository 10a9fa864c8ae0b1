/// The few places where the C++ library would throw, ended here instead. libstdc++'s own definitions bring the
/// exception machinery along, which needs symbols newer than GLIBC_2.34 (_dl_find_object, arc4random): the
/// loader would refuse the program on RHEL 9. The version script keeps these names inside the shim.
#include <cstdlib>
#include <new>
#include <string_view>

namespace std {

/// string_view::substr past the end: a mistake of ours.
void __throw_out_of_range_fmt(const char*, ...) {
    std::abort();
}

} // namespace std

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* operator new(std::size_t bytes) {
    void* const memory = std::malloc(bytes != 0 ? bytes : 1);
    if (memory == nullptr)
        std::abort();
    return memory;
}
void* operator new[](std::size_t bytes) {
    return operator new(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

#endif
