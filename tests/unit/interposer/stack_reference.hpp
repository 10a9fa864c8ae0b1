/// What stacks are according to unw_step, one frame after the other, by a libunwind that nobody else uses.
#pragma once

#include "interposer/record/unwinder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::record {

class ReferenceWalk {
public:
    /// `directory`: takes a copy of the library, so that what the recorder's libunwind remembers is not shared.
    explicit ReferenceWalk(const std::string& directory);

    /// Return addresses from the one of the frame at `frame` on. To be called in a frame below it.
    const std::vector<std::uint64_t>& from(std::uintptr_t return_address);

    /// Code was replaced by other code.
    void forget_code();

private:
    Unwinder unwinder_{};
    std::vector<std::uint64_t> addresses_;
};

} // namespace umadvisor::record
