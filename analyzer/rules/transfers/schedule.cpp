#include "analyzer/rules/transfers/schedule.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

namespace umadvisor::rules {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::size_t nothing = SIZE_MAX;

/// Goes from one moment at which something starts or ends to the next.
class Simulation {
public:
    Simulation(std::span<const Operation> operations, const Machine& machine)
        : operations_(operations), machine_(machine), slots_(operations.size(), {never, never}) {
        std::unordered_map<std::uint32_t, std::size_t> last;
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const auto [found, first] = last.try_emplace(operations[i].stream, i);
            before_.push_back(first ? nothing : found->second);
            found->second = i;
        }
        running_.fill(nothing);
    }

    std::vector<Slot> run() {
        while (first_waiting_ < operations_.size() ||
               std::ranges::any_of(running_, [](std::size_t index) { return index != nothing; }))
            advance(start_ready());
        return std::move(slots_);
    }

private:
    std::size_t engine_of(const Operation& operation) const {
        const bool shared = machine_.one_copy_engine && operation.engine == Engine::to_host;
        return static_cast<std::size_t>(shared ? Engine::to_device : operation.engine);
    }

    double ready_at(std::size_t index) const {
        const double ready = static_cast<double>(index) * machine_.call_ns;
        const std::size_t before = before_[index];
        if (before == nothing)
            return ready;
        // One engine's next operation is at hand already.
        const bool at_hand = operations_[before].engine == operations_[index].engine;
        return std::max(ready, slots_[before].end + (at_hand ? 0 : machine_.handover_ns));
    }

    /// When the next of those that wait becomes ready.
    double start_ready() {
        double next = never;
        for (std::size_t i = first_waiting_; i < operations_.size(); ++i) {
            if (slots_[i].start != never)
                continue;
            const double ready = ready_at(i);
            const std::size_t engine = engine_of(operations_[i]);
            if (ready > now_) {
                next = std::min(next, ready);
            } else if (running_[engine] == nothing) {
                running_[engine] = i;
                left_[engine] = operations_[i].ns;
                slots_[i].start = now_;
            }
        }
        while (first_waiting_ < operations_.size() && slots_[first_waiting_].start != never)
            ++first_waiting_;
        return next;
    }

    /// To the next end of an operation, or to `next` if that comes first.
    void advance(double next) {
        constexpr auto up = static_cast<std::size_t>(Engine::to_device),
                       down = static_cast<std::size_t>(Engine::to_host);
        const bool duplex = running_[up] != nothing && running_[down] != nothing;
        std::array<double, engines> ends, pace;
        for (std::size_t engine = 0; engine < engines; ++engine) {
            pace[engine] = duplex && engine != static_cast<std::size_t>(Engine::compute) ? machine_.duplex : 1;
            ends[engine] = running_[engine] == nothing ? never : now_ + left_[engine] * pace[engine];
            next = std::min(next, ends[engine]);
        }
        for (std::size_t engine = 0; engine < engines; ++engine) {
            if (running_[engine] == nothing)
                continue;
            left_[engine] -= (next - now_) / pace[engine];
            if (ends[engine] <= next) {
                slots_[running_[engine]].end = next;
                running_[engine] = nothing;
            }
        }
        now_ = next;
    }

    std::span<const Operation> operations_;
    const Machine& machine_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> before_; ///< in the same stream
    std::array<std::size_t, engines> running_{};
    std::array<double, engines> left_{};
    std::size_t first_waiting_ = 0;
    double now_ = 0;
};

} // namespace

std::vector<Slot> schedule(std::span<const Operation> operations, const Machine& machine) {
    return Simulation(operations, machine).run();
}

double makespan(std::span<const Operation> operations, const Machine& machine) {
    double end = 0;
    for (const Slot& slot : schedule(operations, machine))
        end = std::max(end, slot.end);
    return end;
}

} // namespace umadvisor::rules
