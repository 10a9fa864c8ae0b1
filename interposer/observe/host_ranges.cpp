#include "interposer/observe/host_ranges.hpp"

#include "interposer/observe/budget.hpp"
#include "interposer/observe/pagemap.hpp"
#include "interposer/observe/range_cache.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/loaded_objects.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace umadvisor::observe {

namespace {

using trace::HostRangeKind;

constexpr std::uint64_t least_believed = 250'000'000; ///< nanoseconds before a range is read again
constexpr std::uint64_t longer_believed = 100;        ///< times what looking took

/// Held while ranges are entered, not while maps are read: a thread that loads a library holds the loader's
/// lock and may copy from the library's constructor.
record::Mutex mutex{record::Lock::host_ranges};
constinit RangeCache cache;
std::uint64_t definitions = 0;
constinit std::atomic<std::uint64_t> spent{0}; ///< nanoseconds
constinit Budget budget{20'000'000};

/// Reads another's memory without trusting it to stay mapped. malloc(3) has written all that is looked for
/// here, so a page that was never touched is not read: that would be its first touch.
bool peek(Pagemap& pagemap, std::uint64_t address, std::uint64_t* words, std::size_t count) {
    if (pagemap.trouble() == nullptr && !pagemap.touched(address))
        return false;
    return record::read_checked(words, address, count * sizeof *words);
}

/// A malloc(3) chunk with a mapping of its own that starts at `page` (glibc malloc/malloc.c: prev_size 0, size
/// a multiple of the page size, of the flags IS_MMAPPED alone). Bytes of the chunk; 0: none.
std::uint64_t mapped_chunk(Pagemap& pagemap, std::uint64_t page, std::uint64_t last) {
    constexpr std::uint64_t is_mmapped = 2, flags = 7, page_mask = 4095;
    std::uint64_t header[2];
    if (!peek(pagemap, page, header, 2) || header[0] != 0 || (header[1] & flags) != is_mmapped)
        return 0;
    const std::uint64_t bytes = header[1] - is_mmapped;
    return bytes != 0 && (bytes & page_mask) == 0 && bytes <= last - page ? bytes : 0;
}

/// Large chunks are often adjacent, and the kernel shows them as one mapping; their headers lead from one to
/// the next. Else the address may be the one that malloc returned, 16 bytes behind the header.
bool find_mapped_chunk(Pagemap& pagemap, const Mapping& mapping, std::uint64_t address, std::uint64_t& first,
                       std::uint64_t& last) {
    constexpr int max_steps = 256;
    std::uint64_t at = mapping.first;
    for (int step = 0; step < max_steps && at <= address; ++step) {
        const std::uint64_t bytes = mapped_chunk(pagemap, at, mapping.last);
        if (bytes == 0)
            break;
        if (address < at + bytes) {
            first = at;
            last = at + bytes;
            return true;
        }
        at += bytes;
    }
    if ((address & 4095) != 16)
        return false;
    const std::uint64_t bytes = mapped_chunk(pagemap, address - 16, mapping.last);
    if (bytes == 0)
        return false;
    first = address - 16;
    last = first + bytes;
    return true;
}

/// A heap of a thread's malloc arena (glibc malloc/arena.c): aligned to its greatest size, and its heap_info
/// {ar_ptr, prev, size, mprotect_size} says how much of it is usable. The kernel may show it as one with a
/// neighbour.
bool find_arena(Pagemap& pagemap, const Mapping& mapping, std::uint64_t address, std::uint64_t& first,
                std::uint64_t& last) {
    constexpr std::uint64_t alignment = 64u << 20, page_mask = 4095;
    const std::uint64_t start = address & ~(alignment - 1);
    std::uint64_t info[4];
    if (start < mapping.first || !peek(pagemap, start, info, 4))
        return false;
    const std::uint64_t usable = info[3];
    if (info[0] == 0 || info[2] > usable || (usable & page_mask) != 0 || usable > mapping.last - start ||
        address - start >= usable)
        return false;
    first = start;
    last = start + usable;
    return true;
}

HostRangeKind kind_of_anonymous(const Mapping& mapping, std::uint64_t address, std::uint64_t& first,
                                std::uint64_t& last) {
    if (record::in_loaded_object(address))
        return HostRangeKind::program; // zero-initialised variables lie behind the file's pages
    const auto frame = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    if (frame >= mapping.first && frame < mapping.last)
        return HostRangeKind::stack; // of a thread: the kernel does not name those
    if (!mapping.writable || record::is_confined())
        return HostRangeKind::mapping;
    Pagemap pagemap;
    return find_mapped_chunk(pagemap, mapping, address, first, last) ||
                   find_arena(pagemap, mapping, address, first, last)
               ? HostRangeKind::heap
               : HostRangeKind::mapping;
}

/// What a mapping is at `address`, and the bounds that belong to it: narrower than the mapping for a malloc(3)
/// chunk that has a mapping of its own (M_MMAP_THRESHOLD) but stands beside others.
HostRangeKind kind_of(const Mapping& mapping, std::uint64_t address, std::uint64_t& first,
                      std::uint64_t& last) {
    first = mapping.first;
    last = mapping.last;
    const std::string_view path = mapping.path;
    if (path == "[heap]" || (path.starts_with("[anon") && path.find("malloc") != std::string_view::npos))
        return HostRangeKind::heap;
    if (path.starts_with("[stack"))
        return HostRangeKind::stack;
    if (mapping.shared) {
        const bool memory = path.empty() || path.starts_with("/dev/shm/") || path.starts_with("/dev/zero") ||
                            path.starts_with("/memfd:") || path.starts_with("/SYSV") ||
                            path.starts_with("[anon");
        return memory ? HostRangeKind::shared : HostRangeKind::file;
    }
    if (path.starts_with('/'))
        return record::in_loaded_object(address) ? HostRangeKind::program : HostRangeKind::file;
    return path.empty() || path.starts_with("[anon") ? kind_of_anonymous(mapping, address, first, last)
                                                     : HostRangeKind::unknown;
}

/// Calls `visit` for each line of /proc/self/maps until it returns true.
template <class Visit>
bool for_each_line(Visit&& visit) {
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    struct Text {
        char bytes[16384]; // a line is at most a path (4096) and some 80 characters
    };
    const record::OffStack<Text> buffer;
    char* const text = buffer->bytes;
    std::size_t held = 0;
    bool done = false;
    for (ssize_t got = 1; !done && got > 0 && held < sizeof(Text);) {
        got = read(file, text + held, sizeof(Text) - held);
        held += got > 0 ? static_cast<std::size_t>(got) : 0;
        std::size_t at = 0;
        while (!done) {
            const void* const end = std::memchr(text + at, '\n', held - at);
            if (end == nullptr)
                break;
            const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - (text + at));
            done = visit(std::string_view(text + at, length));
            at += length + 1;
        }
        std::memmove(text, text + at, held - at);
        held -= at;
    }
    close(file);
    return done;
}

struct Seen {
    Mapping mapping;
    HostRangeKind kind;
    std::uint64_t first, last;
    char path[512];
    std::size_t path_bytes;
};

bool look(std::uint64_t address, Seen& seen) {
    return for_each_line([&](std::string_view line) {
               Mapping& mapping = seen.mapping;
               if (!parse_mapping(line, mapping) || address >= mapping.last)
                   return false;
               if (address < mapping.first) {
                   mapping.readable = false; // past it: nothing is mapped there
                   return true;
               }
               seen.path_bytes = std::min(mapping.path.size(), sizeof seen.path);
               std::memcpy(seen.path, mapping.path.data(), seen.path_bytes);
               mapping.path = {seen.path, seen.path_bytes};
               return true;
           }) &&
           address >= seen.mapping.first && address < seen.mapping.last;
}

std::uint64_t identity(const Seen& seen) {
    std::uint64_t hash = 0x9e3779b97f4a7c15u ^ seen.first;
    hash = (hash ^ static_cast<std::uint64_t>(seen.kind)) * 0xff51afd7ed558ccdu;
    for (std::size_t i = 0; i < seen.path_bytes; ++i)
        hash = (hash ^ static_cast<unsigned char>(seen.path[i])) * 0x100000001b3u;
    return hash;
}

} // namespace

bool parse_mapping(std::string_view line, Mapping& out) noexcept {
    const char* at = line.data();
    const char* const end = at + line.size();
    auto number = std::from_chars(at, end, out.first, 16);
    if (number.ec != std::errc() || number.ptr == end || *number.ptr != '-')
        return false;
    number = std::from_chars(number.ptr + 1, end, out.last, 16);
    if (number.ec != std::errc() || end - number.ptr < 6 || *number.ptr != ' ')
        return false;
    const char* const permissions = number.ptr + 1;
    out.readable = permissions[0] == 'r';
    out.writable = permissions[1] == 'w';
    out.shared = permissions[3] == 's';
    at = permissions + 4;
    for (int field = 0; field < 3; ++field) { // offset, device, inode
        while (at != end && *at == ' ')
            ++at;
        while (at != end && *at != ' ')
            ++at;
    }
    while (at != end && *at == ' ')
        ++at;
    out.path = {at, static_cast<std::size_t>(end - at)};
    return true;
}

void set_host_range_allowance(std::uint64_t nanoseconds) noexcept {
    budget.set_allowance(nanoseconds);
}

bool host_range_of(std::uint64_t address, HostRange& out) noexcept {
    const std::uint64_t now = record::run_nanoseconds();
    RangeCache::Entry known{};
    bool hit = cache.find(address, known);
    if (hit && now < known.until) {
        out = {known.id, known.first, known.last, static_cast<HostRangeKind>(known.kind)};
        return true;
    }
    const record::Quiet quiet;
    if (spent.load(std::memory_order_relaxed) >= budget.by(now)) {
        if (hit) // an old entry is better than none
            out = {known.id, known.first, known.last, static_cast<HostRangeKind>(known.kind)};
        return hit;
    }
    const Work work;
    const record::OffStack<Seen> looked;
    Seen& seen = *looked;
    const bool found = look(address, seen);
    if (found)
        seen.kind = kind_of(seen.mapping, address, seen.first, seen.last);
    const std::uint64_t cost = work.took(modelled_maps);
    spent.fetch_add(cost, std::memory_order_relaxed);
    if (!found)
        return false;

    const record::Guard guard(mutex);
    hit = cache.find(address, known); // another thread may have entered it meanwhile
    RangeCache::Entry entry{};
    entry.first = seen.first;
    entry.last = seen.last;
    entry.kind = static_cast<std::uint64_t>(seen.kind);
    entry.generation = identity(seen);
    entry.until = now + std::max(least_believed, cost * longer_believed);
    if (hit && known.generation == entry.generation) {
        entry.id = known.id; // the same range; a heap may have grown
    } else if (definitions < record::most(record::Bound::host_ranges)) {
        entry.id = ++definitions;
        trace::HostRange record;
        record.id = entry.id;
        record.first = entry.first;
        record.last = entry.last;
        record.kind = seen.kind;
        record.path = seen.mapping.path;
        record::define(record);
    } else {
        record::reached(record::Bound::host_ranges);
        return false;
    }
    cache.put(entry);
    out = {entry.id, entry.first, entry.last, seen.kind};
    return true;
}

} // namespace umadvisor::observe
