/// Which allocations are variables of modules: they are freed with their module, and kernels reach managed ones
/// without a parameter.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// An unsorted table of addresses. Variables beyond `max_variables` are left out. Changes lock, look-ups do
/// not.
class ModuleVariables {
public:
    constexpr ModuleVariables() noexcept = default;
    ModuleVariables(const ModuleVariables&) = delete;
    ModuleVariables& operator=(const ModuleVariables&) = delete;

    /// Called before the allocation at `address` is entered in the index, since that has launches scanned
    /// again. `module`: a CUmodule or CUlibrary.
    void add(std::uint64_t address, bool managed, std::uint64_t module) noexcept;

    /// The allocation was freed without its module, as with its context.
    void drop(std::uint64_t address) noexcept;

    /// Removes one variable of `module` and returns its address; 0: none is left.
    std::uint64_t take(std::uint64_t module) noexcept;

    /// Copies up to `capacity` managed variables that a kernel of `module` may reach: those of that module, or
    /// all where `module` is 0 (not known). One load when there are none.
    std::size_t managed(std::uint64_t module, Allocation* out, std::size_t capacity) const noexcept;

private:
    static constexpr std::size_t max_variables = record::most(record::Bound::module_variables);

    using Word = std::atomic<std::uint64_t>;
    struct Variable {
        Word address, module, managed; ///< address 0: free
    };

    void free(Variable& variable) noexcept;

    std::atomic<std::size_t> managed_count_{0};
    std::atomic<std::size_t> used_{0}; ///< leading slots that were ever in use
    record::Mutex mutex_{record::Lock::tables};
    Variable variables_[max_variables] = {};
};

ModuleVariables& module_variables() noexcept;

/// The module is unloaded: removes its variables from the allocations. Calls `gone` for each.
void forget_variables(std::uint64_t module, void (*gone)(const Allocation&) noexcept) noexcept;

} // namespace umadvisor::observe
