/// Which allocations are variables of modules: those go with their module, and kernels reach managed ones
/// without a parameter.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// By address, without order; forgets rather than grows. Changes take a lock, look-ups none.
class ModuleVariables {
public:
    constexpr ModuleVariables() noexcept = default;
    ModuleVariables(const ModuleVariables&) = delete;
    ModuleVariables& operator=(const ModuleVariables&) = delete;

    /// Before `address` is among the allocations: launches that were looked at before are looked at anew once
    /// that changes. `module`: a CUmodule or CUlibrary.
    void add(std::uint64_t address, bool managed, std::uint64_t module) noexcept;

    /// The allocation is gone by itself, as with its context.
    void drop(std::uint64_t address) noexcept;

    /// Drops one variable of `module`. Its address; 0: there is none left.
    std::uint64_t take(std::uint64_t module) noexcept;

    /// Copies up to `capacity` managed variables that a kernel of `module` may reach: those of that module, or
    /// all where `module` is 0 (not known). One load when there are none.
    std::size_t managed(std::uint64_t module, Allocation* out, std::size_t capacity) const noexcept;

private:
    static constexpr std::size_t places = record::most(record::Bound::module_variables);

    using Word = std::atomic<std::uint64_t>;
    struct Variable {
        Word address, module, managed; ///< address 0: free
    };

    void free(Variable& variable) noexcept;

    std::atomic<std::size_t> managed_count_{0};
    std::atomic<std::size_t> used_{0}; ///< places in front that have ever held one
    record::Mutex mutex_{record::Lock::tables};
    Variable variables_[places] = {};
};

ModuleVariables& module_variables() noexcept;

/// The module goes: its variables are no allocations any more. Calls `gone` for each.
void forget_variables(std::uint64_t module, void (*gone)(const Allocation&) noexcept) noexcept;

} // namespace umadvisor::observe
