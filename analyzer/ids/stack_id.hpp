/// The numbers of call stacks.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace umadvisor::ids {

/// A call stack, by the number that its trace gives it. A call outside the selected ranges is followed like any
/// other, but under a stack of its own: a line that is called inside and outside is two call sites.
class StackId {
public:
    constexpr StackId() = default; ///< no stack was recorded
    constexpr explicit StackId(std::uint64_t number, bool outside = false)
        : number_(number & (UINT64_MAX >> 1)), outside_(outside) {}

    constexpr bool known() const { return number_ != 0; }
    /// By which the dictionary knows the stack.
    constexpr std::uint64_t number() const { return number_; }
    constexpr bool outside() const { return outside_ != 0; }
    /// The same stack, wherever it was called.
    StackId plain() const { return StackId(number_); }

    /// In one word, as `stack` of a record that the reader hands out has it.
    std::uint64_t packed() const { return std::bit_cast<std::uint64_t>(*this); }
    /// The stack of such a record, or of a Shape.
    static StackId of(const auto& record) { return std::bit_cast<StackId>(record.stack); }

    friend auto operator<=>(StackId one, StackId other) { return one.packed() <=> other.packed(); }
    friend bool operator==(StackId one, StackId other) { return one.packed() == other.packed(); }

private:
    std::uint64_t number_ : 63 = 0, outside_ : 1 = 0;
};

} // namespace umadvisor::ids

template <>
struct std::hash<umadvisor::ids::StackId> {
    std::size_t operator()(umadvisor::ids::StackId stack) const noexcept { return stack.packed(); }
};
