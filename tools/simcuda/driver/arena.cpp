#include "tools/simcuda/driver/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <iterator>

namespace simcuda {

std::uint64_t AddressPool::take(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
        const auto [begin, end] = *hole;
        const std::uint64_t at = (begin + alignment - 1) / alignment * alignment;
        if (at + bytes > end) {
            continue;
        }
        free_.erase(hole);
        if (begin < at) {
            free_.emplace(begin, at);
        }
        if (at + bytes < end) {
            free_.emplace(at + bytes, end);
        }
        return at;
    }
    return 0;
}

void AddressPool::give(std::uint64_t address, std::uint64_t bytes) {
    std::uint64_t end = address + bytes;
    auto next = free_.lower_bound(address);
    if (next != free_.end() && next->first == end) {
        end = next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == address) {
        std::prev(next)->second = end;
    } else {
        free_.emplace(address, end);
    }
}

namespace {

/// Sets the size of a file that stands for the device's memory: the program's limit on the size of files is not
/// meant for that.
bool set_size(int file, std::uint64_t bytes) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit most{before.rlim_max, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &most);
    const bool done = ftruncate(file, static_cast<off_t>(bytes)) == 0;
    setrlimit(RLIMIT_FSIZE, &before);
    return done;
}

} // namespace

bool Arena::reserve() {
    constexpr std::uint64_t total = device_bytes + managed_bytes;
    constexpr std::uint64_t alignment = 2ull << 20;
    file_ = memfd_create("simcuda", MFD_CLOEXEC);
    if (file_ < 0 || !set_size(file_, total)) {
        return false;
    }
    void* seen =
        mmap(nullptr, total + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* driven = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (seen == MAP_FAILED || driven == MAP_FAILED) {
        return false;
    }
    madvise(driven, total, MADV_DONTDUMP);
    base_ = (reinterpret_cast<std::uint64_t>(seen) + alignment - 1) / alignment * alignment;
    distance_ = reinterpret_cast<std::uint64_t>(driven) - base_;
    return true;
}

bool Arena::open_host_view(std::uint64_t address, std::uint64_t bytes) {
    return mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
                static_cast<off_t>(address - base_)) != MAP_FAILED;
}

void Arena::close_host_view(std::uint64_t address, std::uint64_t bytes) {
    mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    discard(address, bytes);
}

bool Arena::map_file(std::uint64_t address, std::uint64_t bytes, int file, std::uint64_t offset) {
    return mmap(view(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
                static_cast<off_t>(offset)) != MAP_FAILED;
}

void Arena::unmap_file(std::uint64_t address, std::uint64_t bytes) {
    map_file(address, bytes, file_, address - base_);
    close_host_view(address, bytes);
}

bool Arena::show_file(std::uint64_t address, std::uint64_t bytes, int file, std::uint64_t offset) {
    return mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, static_cast<off_t>(offset)) != MAP_FAILED;
}

void Arena::discard(std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t page = 4096;
    const std::uint64_t first = (address - base_ + page - 1) / page * page;
    const std::uint64_t last = (address - base_ + bytes) / page * page;
    if (first < last) {
        fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                  static_cast<off_t>(last - first));
    }
}

} // namespace simcuda
