/// A host buffer whose copies CopyContents looks at.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/copy_contents.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/runtime/options.hpp"
#include "observe_doubles.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace umadvisor::observe {

using trace::Memory;

/// A buffer of words that differ, in pages of its own.
struct Copies {
    static constexpr std::size_t bytes = 1024 * 1024, page = 4096;
    static constexpr std::size_t mapped = 64 * bytes; ///< of which the test writes the first
    static constexpr std::uint64_t on_device = 0x7000'0000'0000, stream = 0x70;

    Copies() {
        recorder().clear();
        contents->set_allowance(1'000'000'000'000);
        auto* const words = reinterpret_cast<std::uint32_t*>(host);
        for (std::size_t i = 0; i < bytes / 4; ++i)
            words[i] = static_cast<std::uint32_t>(i * 2654435761u);
    }
    ~Copies() {
        unsetenv("UMADVISOR_HASH");
        runtime::read_options();
        erase_allocation(address());
        munmap(host, mapped);
    }

    static void hash(const char* level) {
        setenv("UMADVISOR_HASH", level, 1);
        runtime::read_options();
    }

    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(host); }
    /// The buffer, or what begins in it, is an allocation.
    std::uint64_t allocate(Memory memory, bool readable, std::uint64_t offset = 0) {
        Allocation allocation{.id = allocations().next_id(),
                              .address = address() + offset,
                              .bytes = bytes - offset,
                              .memory = memory,
                              .readable = readable};
        allocations().insert(allocation);
        return allocation.id;
    }
    trace::CopyContent upload(Memory memory = Memory::pageable, std::size_t length = bytes) {
        trace::Copy record{.source = address(),
                           .destination = on_device,
                           .bytes = length,
                           .source_memory = memory,
                           .destination_memory = Memory::device};
        contents->before_copy(record, record.bytes);
        contents->after_copy(record, record.bytes);
        return record.content;
    }
    /// Pages of the second MiB of the mapping, which no test writes, that are in memory.
    std::size_t touched_pages() const {
        unsigned char in_memory[bytes / page] = {};
        BOOST_REQUIRE(mincore(host + bytes, bytes, in_memory) == 0);
        return static_cast<std::size_t>(std::count(std::begin(in_memory), std::end(in_memory), 1));
    }
    /// An upload of these pages, by a driver that reads them, or will do so later.
    trace::CopyContent upload_untouched(bool driver_reads) {
        trace::Copy record{.source = address() + bytes,
                           .destination = on_device,
                           .bytes = bytes,
                           .source_memory = Memory::pageable,
                           .destination_memory = Memory::device};
        contents->before_copy(record, record.bytes);
        BOOST_TEST(touched_pages() == 0u);
        if (driver_reads)
            madvise(host + bytes, bytes, MADV_POPULATE_READ);
        contents->after_copy(record, record.bytes);
        BOOST_TEST(touched_pages() == (driver_reads ? bytes / page : 0));
        madvise(host + bytes, bytes, MADV_DONTNEED);
        return record.content;
    }
    /// `start` is what the record is found by.
    trace::Copy download(std::uint64_t start, Memory memory = Memory::pinned, bool asynchronous = true) {
        trace::Copy record{.source = on_device,
                           .destination = address(),
                           .bytes = bytes,
                           .source_memory = Memory::device,
                           .destination_memory = memory,
                           .asynchronous = asynchronous,
                           .stream = trace::StreamId{stream}};
        record.start = start;
        contents->before_copy(record, record.bytes);
        contents->after_copy(record, record.bytes);
        return record;
    }
    /// One that may still run when the call returns.
    trace::Copy upload_async(std::uint64_t start, std::size_t offset = 0, std::size_t length = bytes,
                             std::uint64_t in_stream = stream, std::uint64_t sample = 0) {
        trace::Copy record{.source = address() + offset,
                           .destination = on_device,
                           .bytes = length,
                           .source_memory = Memory::pinned,
                           .destination_memory = Memory::device};
        record.start = start;
        record.source_allocation = trace::AllocationId{allocation_of(record.source)};
        record.asynchronous = 1;
        record.stream = trace::StreamId{in_stream};
        contents->before_copy(record, record.bytes);
        record.sample = sample;
        contents->after_copy(record, record.bytes);
        return record;
    }
    static std::uint64_t allocation_of(std::uint64_t address) {
        Allocation allocation{};
        return allocations().find(address, allocation) ? allocation.id : 0;
    }
    /// Content records that are there when the wait begins; then it is over.
    std::size_t told_before(trace::SyncKind kind, std::uint64_t object = 0) {
        trace::Sync sync{.kind = kind, .object = object};
        contents->before_sync(sync);
        const std::size_t told = recorder().contents.size();
        contents->after_sync(sync);
        return told;
    }
    std::size_t told_after(trace::SyncKind kind, std::uint64_t object = 0) {
        contents->after_sync(trace::Sync{.kind = kind, .object = object});
        return recorder().contents.size();
    }

    std::uint8_t* const host = static_cast<std::uint8_t*>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const std::unique_ptr<CopyContents> contents = std::make_unique<CopyContents>();
};

} // namespace umadvisor::observe
