/// Memory that the tests of the residency sampler move about as the driver would.
#pragma once

#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "observe_doubles.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace umadvisor::observe {

/// A shared mapping of a memfd: pages dropped by MADV_DONTNEED lose their host mapping and keep their content,
/// as those of managed memory do when they migrate to the device.
class ManagedLike {
public:
    explicit ManagedLike(std::uint64_t pages, trace::Memory memory = trace::Memory::managed)
        : bytes_(pages * 4096), file_(memfd_create("managed", MFD_CLOEXEC)) {
        BOOST_REQUIRE(ftruncate(file_, static_cast<off_t>(bytes_)) == 0);
        at_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
        BOOST_REQUIRE(at_ != MAP_FAILED);
        madvise(at_, bytes_, MADV_NOHUGEPAGE);
        allocation = made_allocation(reinterpret_cast<std::uint64_t>(at_), bytes_, memory);
        allocations().insert(allocation);
    }
    ~ManagedLike() {
        erase_allocation(allocation.address);
        munmap(at_, bytes_);
        close(file_);
    }
    ManagedLike(const ManagedLike&) = delete;
    ManagedLike& operator=(const ManagedLike&) = delete;

    /// By the page: a fault brings the pages around it along.
    void touch(std::uint64_t first, std::uint64_t count) {
        madvise(at_ + first * 4096, count * 4096, MADV_POPULATE_WRITE);
    }
    void leave(std::uint64_t first, std::uint64_t count) {
        madvise(at_ + first * 4096, count * 4096, MADV_DONTNEED);
    }
    /// Through the file: what is mapped stays what it was.
    void write(std::uint64_t page, char value, std::uint64_t offset = 100) {
        BOOST_REQUIRE(pwrite(file_, &value, 1, static_cast<off_t>(page * 4096 + offset)) == 1);
    }
    void protect(std::uint64_t page, int protection) {
        BOOST_REQUIRE(mprotect(at_ + page * 4096, 4096, protection) == 0);
    }
    /// What lies behind `bytes` is another's.
    void shrink(std::uint64_t bytes) {
        erase_allocation(allocation.address);
        allocation.bytes = bytes;
        allocations().insert(allocation);
    }
    std::uint64_t pages() const { return bytes_ / 4096; }
    std::uint64_t address(std::uint64_t page) const { return allocation.address + page * 4096; }

    Allocation allocation{};

private:
    std::uint64_t bytes_;
    int file_;
    char* at_;
};

inline Touched touching(std::initializer_list<const ManagedLike*> memories) {
    Touched touched;
    for (const ManagedLike* memory : memories)
        touched.managed[touched.managed_count++] = memory->allocation;
    return touched;
}

struct SamplerDrive {
    SamplerDrive() {
        install_driver();
        driver().managed_watched = false;
        sampler->set_allowance(60'000'000'000);
    }
    static trace::Residency last() { return recorder().residency.back(); }
    /// The device takes all of it, and some pages come back: what is seen then.
    trace::Residency come_back(ManagedLike& memory, std::uint64_t pages, std::uint64_t first = 0) {
        memory.leave(0, memory.pages());
        sampler->after_synchronize();
        memory.touch(first, pages);
        sampler->before_launch(touching({&memory}));
        return last();
    }
    std::unique_ptr<ResidencySampler> sampler = std::make_unique<ResidencySampler>();
};

} // namespace umadvisor::observe
