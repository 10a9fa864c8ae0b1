#include "interposer/observe/touched.hpp"

#include "interposer/observe/memory_class.hpp"
#include "interposer/observe/module_variables.hpp"
#include "interposer/record/off_stack.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace umadvisor::observe {

namespace {

void add(const Allocation& allocation, Touched& out) {
    const trace::AllocationId id{allocation.id};
    if (std::find(out.ids.begin(), out.ids.end(), id) != out.ids.end())
        return;
    if (out.ids.count == out.ids.capacity) {
        ++out.omitted;
        return;
    }
    out.ids.add(id);
    out.holds_pointers |= allocation.holds_pointers;
    if (allocation.memory == trace::Memory::managed && !allocation.kept_on_device &&
        out.managed_count < Touched::max_managed)
        out.managed[out.managed_count++] = allocation;
}

constinit std::atomic<bool> pageable_is_reached{false};

/// Where Linux puts heaps and mappings on x86-64 and aarch64. The heap of a program that is not
/// position-independent is lower, but most plain numbers are there, too, and the driver is not asked about each
/// of them.
constexpr std::uint64_t lowest_pageable = 0x5500'0000'0000, beyond_pageable = std::uint64_t{1} << 48;

/// Adds a word that may be an address of pageable memory.
void add_pageable(std::uint64_t word, Touched& out) {
    if (word < lowest_pageable || word >= beyond_pageable || out.host_ranges.count == out.host_ranges.capacity)
        return;
    const End end = classify(word, 1);
    if (end.memory == trace::Memory::pageable && end.host_range != 0 &&
        std::find(out.host_ranges.begin(), out.host_ranges.end(), end.host_range) == out.host_ranges.end())
        out.host_ranges.add(end.host_range);
}

void scan_words(const void* value, std::size_t bytes, Touched& out) {
    const AllocationIndex& index = allocations();
    const bool pageable = looks_for_pageable_memory();
    const char* at = static_cast<const char*>(value);
    for (std::size_t words = bytes / 8; words != 0; --words, at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word); // a launch need not align its values
        Allocation allocation;
        if (index.find(word, allocation))
            add(allocation, out);
        else if (pageable)
            add_pageable(word, out);
    }
}

/// The parameter buffer given through `extra` (cuLaunchKernel), or null.
const char* parameter_buffer(void** extra, std::size_t& bytes) {
    const void* buffer = nullptr;
    bytes = 0;
    for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1] != nullptr)
            bytes = *static_cast<const std::size_t*>(extra[i + 1]);
    }
    return static_cast<const char*>(buffer);
}

} // namespace

void look_for_pageable_memory() noexcept {
    allocations().widen(lowest_pageable, beyond_pageable);
    pageable_is_reached.store(true, std::memory_order_relaxed);
}

bool looks_for_pageable_memory() noexcept {
    return pageable_is_reached.load(std::memory_order_relaxed);
}

void scan(const Function& function, void** parameters, void** extra, Touched& out) noexcept {
    if (allocations().count() == 0 && !looks_for_pageable_memory()) {
        out.scanned = function.layout_known;
        return;
    }
    if (parameters != nullptr && function.layout_known) {
        for (std::uint32_t i = 0; i < function.wide_count; ++i)
            if (const void* const value = parameters[function.wide[i].index])
                scan_words(value, function.wide[i].bytes, out);
        out.scanned = true;
    } else if (extra != nullptr) {
        std::size_t bytes = 0;
        if (const char* const buffer = parameter_buffer(extra, bytes); buffer != nullptr && bytes != 0) {
            if (function.layout_known) {
                for (std::uint32_t i = 0; i < function.wide_count; ++i)
                    if (const Parameter& wide = function.wide[i]; wide.offset < bytes)
                        scan_words(buffer + wide.offset, std::min<std::size_t>(wide.bytes, bytes - wide.offset),
                                   out);
            } else { // parameters have their natural alignment, so each address is at a multiple of 8
                scan_words(buffer, bytes, out);
            }
            out.scanned = true;
        }
    } else {
        out.scanned = function.layout_known && function.parameters == 0;
    }
    struct Globals {
        Allocation all[Touched::max_managed];
    };
    const record::OffStack<Globals> variables;
    auto& globals = variables->all;
    const std::size_t count = module_variables().managed(function.module, globals, Touched::max_managed);
    for (std::size_t i = 0; i < count; ++i)
        add(globals[i], out);
}

namespace {

using Piece = record::PieceMemo::Piece;

/// The sum of `words` words. `first` may be unaligned: a launch need not align its values.
record::Fingerprint::Value sum_of(const void* first, std::size_t words,
                                  AllocationIndex::Extent extent) noexcept {
    record::Fingerprint sum;
    const char* at = static_cast<const char*>(first);
    for (; words != 0; --words, at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        sum.add(extent.only(word));
    }
    return sum.value();
}

record::Fingerprint::Value recalled_sum(Piece& piece, const char* at, std::size_t words,
                                        AllocationIndex::Extent extent) noexcept {
    const std::size_t bytes = words * sizeof(std::uint64_t);
    if (piece.words != words || piece.low != extent.low || piece.span != extent.span ||
        std::memcmp(piece.held, at, bytes) != 0) {
        std::memcpy(piece.held, at, bytes);
        piece.words = words;
        piece.low = extent.low;
        piece.span = extent.span;
        // The sum is of the copy, since another thread of the program may be writing to the bytes.
        piece.sum = sum_of(piece.held, words, extent);
    }
    return piece.sum;
}

void add_sum(const record::Fingerprint::Value& sum, record::LaunchKey& key) noexcept {
    if (key.room() < 2)
        key.fold();
    key.add(sum.low);
    key.add(sum.high);
}

} // namespace

record::LaunchKey with_all_words(const Function& function, void** parameters, AllocationIndex::Extent extent,
                                 record::PieceMemo* memo, record::LaunchKey key) noexcept {
    for (std::uint32_t i = 0; i < function.wide_count; ++i) {
        const char* at = static_cast<const char*>(parameters[function.wide[i].index]);
        std::size_t left = at != nullptr ? function.wide[i].bytes / 8 : 0;
        while (left != 0) {
            const std::size_t words = std::min(left, record::PieceMemo::max_words);
            if (memo == nullptr || words < record::PieceMemo::min_words)
                add_sum(sum_of(at, words, extent), key);
            else
                add_sum(recalled_sum(memo->slot(function.id << 16 ^ left, at, words), at, words, extent), key);
            at += words * sizeof(std::uint64_t);
            left -= words;
        }
    }
    return key;
}

} // namespace umadvisor::observe
