/// Memory of the recorder: anonymous pages, never the program's heap (its malloc may be anyone's, and may be
/// the caller).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/mman.h>

namespace umadvisor::base {

namespace detail {
constexpr std::size_t closed = 64 * 1024; ///< a page, on every kernel
constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + closed - 1) & ~(closed - 1);
}
inline constinit std::atomic<std::uintptr_t> mapped_apart{0}; ///< bytes
} // namespace detail

/// Where to ask the kernel for `bytes`: a place far from what it maps for the program, whose memory then has
/// the neighbours that it has alone. A program that reads past the end of a managed allocation may find another
/// one there, and fails where it finds our pages. Only asked for (mmap(2): a hint): what is taken, or beyond
/// the address space, the kernel replaces by a place of its own choice. Differs from run to run as the shim's
/// own address does.
inline void* place_apart(std::size_t bytes) noexcept {
    constexpr std::uintptr_t start = 0x5e00'0000'0000, span = 1ull << 40;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(&detail::mapped_apart) +
                                  detail::mapped_apart.fetch_add(bytes, std::memory_order_relaxed);
    return reinterpret_cast<void*>(start + ((offset % span) & ~(detail::closed - 1)));
}

/// Zeroed pages that cost nothing until touched; nullptr when there are none. Between two that are closed: the
/// kernel would make one mapping of these and the program's malloc beside them, in which the large chunks of
/// malloc are not to be found any more.
inline void* map_pages(std::size_t bytes) noexcept {
    const std::size_t open = detail::whole_pages(bytes);
    const std::size_t bytes_of_all = open + 2 * detail::closed;
    void* const all = mmap(place_apart(bytes_of_all), bytes_of_all, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return nullptr;
    munlock(all, bytes_of_all); // a program that locks its memory (mlockall(2)) does not mean ours
    void* const at = static_cast<char*>(all) + detail::closed;
    return mprotect(at, open, PROT_READ | PROT_WRITE) == 0 ? at : nullptr;
}

/// Gives back what map_pages() gave for as many bytes, the closed pages beside it too.
inline void unmap_pages(void* at, std::size_t bytes) noexcept {
    munmap(static_cast<char*>(at) - detail::closed, detail::whole_pages(bytes) + 2 * detail::closed);
}

/// Pages that one Scratch leaves to the next.
using KeptPages = std::atomic<void*>;

/// Room for a T, not initialised, while it lives; false without memory. To map and touch pages anew for each of
/// many short uses would take longer than the uses. Thread-safe: whoever finds the kept pages in use maps
/// others.
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

/// Small pieces of memory that stay for good. Not thread-safe: its owner's lock covers it. Not the heap: what
/// only these pages point to would be a leak to the sanitizer of a program that has one.
class Arena {
public:
    constexpr Arena() noexcept = default;

    /// Zeroed memory, aligned to `alignment` (a power of two); nullptr when there is none. Up to a piece only.
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
        void* const taken = at_;
        at_ += bytes;
        left_ -= bytes;
        return taken;
    }

    /// A copy that stays; `good` is false, and the copy empty, when there is no memory.
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
