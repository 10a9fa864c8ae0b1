/// What the program gives the device between two waits, as patterns that come again.
#pragma once

#include "analyzer/model/launches.hpp"
#include "analyzer/model/schedule.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace umadvisor::model {

/// What operations that are alike have in common.
struct WorkAction {
    Engine engine{};
    std::uint64_t stack = 0, entry = 0;
    std::uint64_t bytes = 0; ///< copied or set; 0: a kernel
    trace::Memory source{}, destination{};
    bool asynchronous = false;
    LaunchGroup kernel;
    auto operator<=>(const WorkAction&) const = default;

    bool is_kernel() const { return kernel.function != 0; }
};

struct WorkTime {
    std::uint64_t count = 0, ticks = 0;          ///< of calls, not those of kernels
    std::uint64_t measured = 0, measured_ns = 0; ///< device time of sampled copies
};

/// One operation of a pattern.
struct Work {
    const WorkAction* action = nullptr;
    const WorkTime* time = nullptr;
    std::uint32_t queue = 0;            ///< in the order of first use in the pattern
    std::vector<std::uint32_t> after;   ///< operations of other queues that an event orders before it
    std::vector<std::uint32_t> reaches; ///< allocations, in the order of first use in the pattern
};

enum class QueueKind : std::uint8_t { legacy, blocking, non_blocking };

struct WorkPattern {
    std::vector<QueueKind> queues;
    std::vector<Work> work;
    std::uint64_t times = 0; ///< that it came
};

/// Patterns of all that a thread gives the device until it waits. Not kept are those that are longer than
/// `most_work`, have no copy, run beside the work of other threads or on streams or with calls that are not
/// known in full. Memory: one entry an action and a pattern, at most `most_patterns`.
class WorkPatterns {
public:
    static constexpr std::size_t most_work = 64, most_patterns = 1024;

    void observe(std::uint32_t thread, const reader::Event& event, const reader::Shape* shape);

    /// In no order. What they point to lives as long as this.
    std::vector<WorkPattern> patterns() const;

private:
    using Words = std::vector<std::uint32_t>;
    struct WordsHash {
        std::size_t operator()(const Words& words) const;
    };
    struct Stretch { ///< from a wait to the next
        std::vector<std::uint64_t> queues, allocations;
        std::vector<QueueKind> kinds;
        std::vector<std::uint32_t> last;               ///< work of each queue
        std::vector<std::vector<std::uint32_t>> after; ///< what the next work of each queue waits for
        std::unordered_map<std::uint64_t, std::uint32_t>
            events; ///< work that was there when they were recorded
        Words words;
        std::uint32_t count = 0;
        bool copies = false, spoiled = false;
    };
    struct Numbered {
        std::uint32_t number;
        WorkTime time;
    };
    using Actions = std::map<WorkAction, Numbered>;

    void add(std::uint32_t thread, const trace::Launch& launch, const reader::Shape* shape);
    void add(std::uint32_t thread, const trace::Copy& copy);
    void add(std::uint32_t thread, const trace::Set& set);
    void add(std::uint32_t thread, const trace::Sync& sync);
    void add(std::uint32_t thread, const trace::Stream& stream);
    void add(std::uint32_t thread, const trace::Event& event);
    void add(const trace::DeviceTime& time);

    Stretch& stretch_of(std::uint32_t thread);
    void give(Stretch& stretch, std::uint32_t thread, std::uint64_t stream, std::uint32_t action,
              std::span<const std::uint64_t> reached);
    std::uint32_t queue_in(Stretch& stretch, std::uint32_t thread, std::uint64_t stream);
    void finish(Stretch& stretch);
    Numbered& number(const WorkAction& action);
    Numbered& number_of_kernel(const reader::Shape& shape);

    Actions actions_;
    std::vector<Actions::const_iterator> by_number_;
    std::array<Actions::value_type*, 256> recent_{}; ///< kernels, by the last digits of the shape's number
    std::unordered_map<std::uint64_t, WorkTime*> awaited_;
    std::unordered_map<Words, std::uint64_t, WordsHash> patterns_; ///< how often
    std::unordered_map<std::uint32_t, Stretch> stretches_;
    std::uint32_t last_thread_ = 0;
    Stretch* last_ = nullptr;
    std::unordered_map<std::uint64_t, bool> streams_; ///< made by the program; whether they are non-blocking
    std::vector<std::uint64_t> busy_;                 ///< queues that nobody has waited for
};

} // namespace umadvisor::model
