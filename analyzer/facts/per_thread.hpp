/// One value for each thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace umadvisor::facts {

/// By ThreadCursor::index(), which has no gaps: no look-up takes a hash. Values stay where they are. Memory:
/// one value for each thread that was asked for, and a pointer for each before it.
template <class Value>
class PerThread {
public:
    /// The value is made if it is not there.
    Value& operator[](std::uint32_t thread) {
        if (thread < values_.size() && values_[thread] != nullptr)
            return *values_[thread];
        return make(thread);
    }
    /// nullptr: no call has made a value for this thread yet.
    Value* find(std::uint32_t thread) const {
        return thread < values_.size() ? values_[thread].get() : nullptr;
    }
    void clear() { values_.clear(); }
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const std::unique_ptr<Value>& value : values_)
            if (value != nullptr)
                visit(*value);
    }

private:
    [[gnu::noinline]] Value& make(std::uint32_t thread) {
        if (thread >= values_.size())
            values_.resize(std::size_t{thread} + 1);
        values_[thread] = std::make_unique<Value>();
        return *values_[thread];
    }
    std::vector<std::unique_ptr<Value>> values_;
};

} // namespace umadvisor::facts
