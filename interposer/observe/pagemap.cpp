#include "interposer/observe/pagemap.hpp"

#include "interposer/record/off_stack.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <sys/ioctl.h>
#include <unistd.h>

namespace umadvisor::observe {

namespace {

// <linux/fs.h> of Linux 6.7 and later; the headers we build with may be older than the kernel we run on.
struct PageRegion {
    std::uint64_t start, end, categories;
};
struct ScanArgument {
    std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, ScanArgument);
constexpr std::uint64_t page_is_present = 1u << 3, page_is_swapped = 1u << 4;

constexpr std::uint64_t present_bit = 1ull << 63, swapped_bit = 1ull << 62;
constexpr int max_calls = 256; ///< of one look at one range

} // namespace

std::uint64_t Pagemap::page_bytes() noexcept {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Pagemap::Pagemap() noexcept : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) {
        trouble_ = errno == EACCES || errno == EPERM ? "not allowed" : "not there";
        return;
    }
    ScanArgument nothing{};
    nothing.size = sizeof nothing;
    scans_ = ioctl(file_, pagemap_scan, &nothing) >= 0;
    const int on_stack = 0;
    if (!touched(reinterpret_cast<std::uint64_t>(&on_stack)))
        trouble_ = "it shows nothing";
}

Pagemap::~Pagemap() noexcept {
    if (file_ >= 0)
        close(file_);
}

bool Pagemap::touched(std::uint64_t address) noexcept {
    if (scans_) { // by the call that looks make anyway: a sandbox may allow no other
        PageRegion region{};
        ScanArgument argument{};
        argument.size = sizeof argument;
        argument.start = address / page_bytes() * page_bytes();
        argument.end = argument.start + page_bytes();
        argument.vec = reinterpret_cast<std::uint64_t>(&region);
        argument.vec_len = 1;
        argument.category_anyof_mask = argument.return_mask = page_is_present | page_is_swapped;
        return ioctl(file_, pagemap_scan, &argument) == 1;
    }
    std::uint64_t entry = 0;
    const std::uint64_t offset = address / page_bytes() * sizeof entry;
    return pread(file_, &entry, sizeof entry, static_cast<off_t>(offset)) == sizeof entry &&
           (entry & (present_bit | swapped_bit)) != 0;
}

std::uint64_t Pagemap::visit_present(std::uint64_t first, std::uint64_t last,
                                     void (*visit)(void*, std::uint64_t, std::uint64_t), void* to) noexcept {
    return scans_ ? scan(first, last, visit, to) : read_entries(first, last, visit, to);
}

std::uint64_t Pagemap::scan(std::uint64_t first, std::uint64_t last,
                            void (*visit)(void*, std::uint64_t, std::uint64_t), void* to) noexcept {
    struct Regions {
        PageRegion all[64];
    };
    const record::OffStack<Regions> found_regions;
    auto& regions = found_regions->all;
    for (int call = 0; call < max_calls && first < last; ++call) {
        ScanArgument argument{};
        argument.size = sizeof argument;
        argument.start = first;
        argument.end = last;
        argument.vec = reinterpret_cast<std::uint64_t>(regions);
        argument.vec_len = std::size(regions);
        argument.category_mask = page_is_present;
        argument.return_mask = page_is_present;
        const int found = ioctl(file_, pagemap_scan, &argument);
        if (found < 0 || argument.walk_end <= first)
            break;
        for (int i = 0; i < found; ++i)
            visit(to, regions[i].start, regions[i].end);
        first = argument.walk_end;
    }
    return std::min(first, last);
}

std::uint64_t Pagemap::read_entries(std::uint64_t first, std::uint64_t last,
                                    void (*visit)(void*, std::uint64_t, std::uint64_t), void* to) noexcept {
    const std::uint64_t page = page_bytes();
    struct Entries {
        std::uint64_t all[1024];
    };
    const record::OffStack<Entries> read_entries;
    auto& entries = read_entries->all;
    std::uint64_t run = 0; // start of the run under way; 0: none
    while (first < last) {
        const std::uint64_t count = std::min<std::uint64_t>((last - first) / page, std::size(entries));
        const ssize_t got = count != 0 ? pread(file_, entries, count * sizeof *entries,
                                               static_cast<off_t>(first / page * sizeof *entries))
                                       : 0;
        if (got < static_cast<ssize_t>(sizeof *entries))
            break;
        for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof *entries; ++i, first += page) {
            const bool present = (entries[i] & present_bit) != 0;
            if (present && run == 0)
                run = first;
            if (!present && run != 0) {
                visit(to, run, first);
                run = 0;
            }
        }
    }
    if (run != 0)
        visit(to, run, first);
    return first;
}

} // namespace umadvisor::observe
