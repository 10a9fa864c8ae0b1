/// What recording costs beyond its plain records is part of the report.
#pragma once

#include "interposer/record/recorder.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Charges the time of its scope to the trace's own_ticks. Not to be nested: the inner time would count twice.
class SlowPath {
public:
    SlowPath() noexcept : begin_(now()) {}
    ~SlowPath() { charge(now() - begin_); }
    SlowPath(const SlowPath&) = delete;
    SlowPath& operator=(const SlowPath&) = delete;

private:
    std::uint64_t begin_;
};

} // namespace umadvisor::record
