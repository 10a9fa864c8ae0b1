/// Memory of the recorder: anonymous pages, never the program's heap, since the program may have replaced
/// malloc, and its malloc may call us.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/mman.h>

namespace umadvisor::base {

namespace detail {
constexpr std::size_t closed = 64 * 1024; ///< a multiple of the page size of every kernel
constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + closed - 1) & ~(closed - 1);
}
inline constinit std::atomic<std::uintptr_t> mapped_apart{0}; ///< bytes
} // namespace detail

/// An address to ask the kernel for, far from what it maps for the program, so that the program's memory has
/// the same neighbours as without us. A program that reads past the end of a managed allocation may find
/// another one there, and would fail if it found our pages. It is a hint (mmap(2)): the kernel chooses another
/// address if that one is in use or beyond the address space. It differs from run to run as the shim's own
/// address does.
inline void* distant_address(std::size_t bytes) noexcept {
    constexpr std::uintptr_t start = 0x5e00'0000'0000, span = 1ull << 40;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(&detail::mapped_apart) +
                                  detail::mapped_apart.fetch_add(bytes, std::memory_order_relaxed);
    return reinterpret_cast<void*>(start + ((offset % span) & ~(detail::closed - 1)));
}

/// Zeroed pages that cost nothing until touched; nullptr without memory. A closed page before and behind them
/// keeps the kernel from merging their mapping with adjacent ones of the program's malloc, whose large chunks
/// could not be found then.
inline void* map_pages(std::size_t bytes) noexcept {
    const std::size_t open = detail::whole_pages(bytes);
    const std::size_t bytes_of_all = open + 2 * detail::closed;
    void* const all = mmap(distant_address(bytes_of_all), bytes_of_all, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return nullptr;
    // mlockall(2) of the program is not meant for our pages. Pages that are not locked are asked with a call
    // that malloc makes too: munlock(2) is one for which a filter of system calls (seccomp(2)) may kill the
    // program.
    if (madvise(all, bytes_of_all, MADV_DONTNEED) != 0) // refused for locked pages alone
        munlock(all, bytes_of_all);
    void* const at = static_cast<char*>(all) + detail::closed;
    return mprotect(at, open, PROT_READ | PROT_WRITE) == 0 ? at : nullptr;
}

/// Unmaps what map_pages() returned for as many bytes, with its closed pages.
inline void unmap_pages(void* at, std::size_t bytes) noexcept {
    munmap(static_cast<char*>(at) - detail::closed, detail::whole_pages(bytes) + 2 * detail::closed);
}

/// Pages that one Scratch leaves for the next.
using KeptPages = std::atomic<void*>;

/// Uninitialised memory for a T while it lives; false without memory. The pages are kept, since to map and
/// touch new ones for each of many short uses would take longer than the uses. Thread-safe: if the kept pages
/// are in use, others are mapped.
template <class T>
class Scratch {
public:
    explicit Scratch(KeptPages& kept) noexcept
        : kept_(kept), pages_(kept.exchange(nullptr, std::memory_order_acquire)) {
        if (pages_ == nullptr)
            pages_ = map_pages(sizeof(T));
    }
    ~Scratch() noexcept {
        void* none = nullptr;
        if (pages_ != nullptr && !kept_.compare_exchange_strong(none, pages_, std::memory_order_release))
            unmap_pages(pages_, sizeof(T));
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    explicit operator bool() const noexcept { return pages_ != nullptr; }
    T* operator->() const noexcept { return static_cast<T*>(pages_); }

private:
    KeptPages& kept_;
    void* pages_;
};

/// Small pieces of memory that are never freed. Not thread-safe: the owner's lock covers it. It does not use
/// the heap, where a leak sanitizer in the program would report memory that only these pages point to.
class Arena {
public:
    constexpr Arena() noexcept = default;

    /// Zeroed memory, aligned to `alignment` (a power of two); nullptr without memory, or beyond `piece_bytes`.
    void* take(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t padding = -reinterpret_cast<std::uintptr_t>(at_) & (alignment - 1);
        if (left_ < bytes + padding) {
            void* const piece = bytes > piece_bytes ? nullptr : map_pages(piece_bytes);
            if (piece == nullptr)
                return nullptr;
            at_ = static_cast<char*>(piece);
            left_ = piece_bytes;
        } else {
            at_ += padding;
            left_ -= padding;
        }
        void* const memory = at_;
        at_ += bytes;
        left_ -= bytes;
        return memory;
    }

    /// A copy that is never freed; without memory `good` is false and the copy empty.
    std::string_view keep(std::string_view text, bool& good) noexcept {
        good = true;
        if (text.empty())
            return {};
        void* const copy = take(text.size(), 1);
        good = copy != nullptr;
        if (!good)
            return {};
        std::memcpy(copy, text.data(), text.size());
        return {static_cast<char*>(copy), text.size()};
    }

private:
    static constexpr std::size_t piece_bytes = 256 * 1024;
    char* at_ = nullptr;
    std::size_t left_ = 0;
};

} // namespace umadvisor::base
