/// Named ranges (NVTX) that have begun and not ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::reader {

/// Push and pop nest in each domain of a thread; start and end belong together by an id. A pop without its push
/// changes nothing: that push came before the recording. Memory: `most` ranges, whatever a trace has; of a
/// stack that is deeper, the innermost are only counted.
template <class Entry>
class OpenRanges {
public:
    static constexpr std::size_t most = 65'536;

    /// False: too many are open, and this one is not kept.
    bool push(std::uint32_t thread, std::uint64_t domain, Entry entry) {
        const std::pair key(thread, domain);
        if (count_ == most) {
            if (const auto found = stacks_.find(key); found != stacks_.end())
                ++found->second.beyond;
            return false;
        }
        ++count_;
        stacks_[key].open.push_back(std::move(entry));
        return true;
    }
    /// Nothing: none is open there that was kept.
    std::optional<Entry> pop(std::uint32_t thread, std::uint64_t domain) {
        const auto found = stacks_.find({thread, domain});
        if (found == stacks_.end())
            return std::nullopt;
        Stack& stack = found->second;
        if (stack.beyond != 0) {
            --stack.beyond;
            return std::nullopt;
        }
        std::optional<Entry> entry(std::move(stack.open.back()));
        stack.open.pop_back();
        --count_;
        if (stack.open.empty())
            stacks_.erase(found);
        return entry;
    }
    bool start(std::uint64_t id, Entry entry) {
        if (count_ == most || !started_.try_emplace(id, std::move(entry)).second)
            return false;
        ++count_;
        return true;
    }
    std::optional<Entry> end(std::uint64_t id) {
        const auto found = started_.find(id);
        if (found == started_.end())
            return std::nullopt;
        std::optional<Entry> entry(std::move(found->second));
        started_.erase(found);
        --count_;
        return entry;
    }
    /// From here on it is unknown which ranges are open.
    void clear() {
        stacks_.clear();
        started_.clear();
        count_ = 0;
    }
    bool empty() const { return count_ == 0; }

private:
    struct Stack {
        std::vector<Entry> open; ///< never empty
        std::uint64_t beyond = 0;
    };
    std::map<std::pair<std::uint32_t, std::uint64_t>, Stack> stacks_;
    std::unordered_map<std::uint64_t, Entry> started_;
    std::size_t count_ = 0;
};

} // namespace umadvisor::reader
