#include "interposer/observe/module_variables.hpp"

namespace umadvisor::observe {

namespace {

constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

} // namespace

ModuleVariables& module_variables() noexcept {
    static constinit ModuleVariables variables;
    return variables;
}

void ModuleVariables::add(std::uint64_t address, bool managed, std::uint64_t module) noexcept {
    const record::Guard guard(mutex_);
    const std::size_t used = used_.load(acquire);
    std::size_t at = 0;
    while (at < used && variables_[at].address.load(acquire) != 0)
        ++at;
    if (at == max_variables)
        return record::reached(record::Bound::module_variables);
    variables_[at].module.store(module, release);
    variables_[at].managed.store(managed, release);
    variables_[at].address.store(address, release);
    if (at == used)
        used_.store(used + 1, release);
    if (managed)
        managed_count_.fetch_add(1, release);
}

/// Under the lock.
void ModuleVariables::free(Variable& variable) noexcept {
    variable.address.store(0, release);
    if (variable.managed.load(acquire) != 0)
        managed_count_.fetch_sub(1, release);
}

void ModuleVariables::drop(std::uint64_t address) noexcept {
    const record::Guard guard(mutex_);
    for (std::size_t i = 0; i < used_.load(acquire); ++i)
        if (variables_[i].address.load(acquire) == address)
            free(variables_[i]);
}

std::uint64_t ModuleVariables::take(std::uint64_t module) noexcept {
    const record::Guard guard(mutex_);
    for (std::size_t i = 0; i < used_.load(acquire); ++i) {
        const std::uint64_t address = variables_[i].address.load(acquire);
        if (address == 0 || variables_[i].module.load(acquire) != module)
            continue;
        free(variables_[i]);
        return address;
    }
    return 0;
}

std::size_t ModuleVariables::managed(std::uint64_t module, Allocation* out,
                                     std::size_t capacity) const noexcept {
    if (managed_count_.load(acquire) == 0)
        return 0;
    const std::size_t used = used_.load(acquire);
    std::size_t found = 0;
    for (std::size_t i = 0; i < used && found < capacity; ++i) {
        const Variable& each = variables_[i];
        const std::uint64_t address = each.address.load(acquire);
        const bool reached = module == 0 || each.module.load(acquire) == module;
        if (address != 0 && reached && each.managed.load(acquire) != 0 &&
            allocations().find(address, out[found]))
            ++found;
    }
    return found;
}

void forget_variables(std::uint64_t module, void (*gone)(const Allocation&) noexcept) noexcept {
    Allocation variable;
    while (const std::uint64_t address = module_variables().take(module))
        if (allocations().erase(address, variable))
            gone(variable);
}

} // namespace umadvisor::observe
