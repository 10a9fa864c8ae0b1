#include "analyzer/facts/written_parameters.hpp"

#include "analyzer/symbols/pointer_parameters.hpp"

#include <algorithm>

namespace umadvisor::facts {

std::size_t WrittenParameters::count_before_variables(const reader::Shape& shape) const {
    if (variables_.empty())
        return shape.touched.size();
    const auto variable = std::ranges::find_if(
        shape.touched, [this](trace::AllocationId allocation) { return variables_.contains(allocation); });
    return static_cast<std::size_t>(variable - shape.touched.begin());
}

const WrittenParameters::Pointers& WrittenParameters::pointers_of(std::uint64_t function) {
    const auto [kernel, fresh] = kernels_.try_emplace(function);
    if (fresh)
        kernel->second = symbols::const_pointers(dictionary_.function_symbol(function));
    return kernel->second;
}

std::optional<std::size_t> WrittenParameters::only_written(const reader::Shape& shape) {
    const Pointers& pointers = pointers_of(shape.function);
    if (!pointers || pointers->size() != shape.touched.size() ||
        count_before_variables(shape) != shape.touched.size() || std::ranges::count(*pointers, false) != 1)
        return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find(*pointers, false) - pointers->begin());
}

bool WrittenParameters::are_pointers(const reader::Shape& shape) {
    const Pointers& pointers = pointers_of(shape.function);
    return pointers && shape.touched.size() <= pointers->size() &&
           count_before_variables(shape) == shape.touched.size();
}

/// The record lists allocations in the order of the parameters, each once. So each belongs to one pointer where
/// there are as many; else one pointer may be null, or two may lead to the same allocation. Behind them stand
/// the managed variables of the kernel's module, which no parameter names.
bool WrittenParameters::may_write(const reader::Shape& shape, std::size_t index) {
    const Pointers& pointers = pointers_of(shape.function);
    if (!pointers)
        return true;
    const std::size_t by_parameters = count_before_variables(shape);
    if (index >= by_parameters || by_parameters > pointers->size()) // or a number holds an address
        return true;
    if (pointers->size() == by_parameters)
        return !(*pointers)[index];
    return !std::ranges::all_of(*pointers, [](bool is_const) { return is_const; });
}

} // namespace umadvisor::facts
