/// Which of the allocations that a launch reaches its kernel may write.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "trace/records.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace umadvisor::facts {

/// By the types of the kernel's parameters. Memory: one entry a kernel that was asked for, and one a
/// managed variable.
class WrittenParameters {
public:
    /// The dictionary must outlive it.
    explicit WrittenParameters(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void add(const trace::Alloc& record) {
        if (record.symbol != 0 && record.memory == trace::Memory::managed)
            variables_.insert(record.allocation);
    }
    /// Whether the kernel may write the `index`-th of `shape.touched`; in doubt it may.
    bool may_write(const reader::Shape& shape, std::size_t index);
    /// Each of them belongs to a pointer of a known type: the kernel uses it.
    bool are_pointers(const reader::Shape& shape);
    /// The place of the only one that it may write, where each belongs to one pointer of a known type: the
    /// kernel has nowhere else to leave a result. Nothing: there is none, or that is not known.
    std::optional<std::size_t> only_written(const reader::Shape& shape);

private:
    /// Of the allocations that a launch reaches, those that its parameters lead to.
    std::size_t count_before_variables(const reader::Shape& shape) const;

    using Pointers = std::optional<std::vector<bool>>; ///< whether const, in their order
    const Pointers& pointers_of(std::uint64_t function);

    const reader::Dictionary& dictionary_;
    std::unordered_map<std::uint64_t, Pointers> kernels_; ///< by function
    std::unordered_set<trace::AllocationId> variables_;   ///< managed ones of modules
};

} // namespace umadvisor::facts
