#pragma once
namespace umadvisor::record {
struct StackCache {
    void forget() noexcept {}
};
} // namespace umadvisor::record
