#include "interposer/act/bring.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/knowledge.hpp"
#include "interposer/act/left_round.hpp"
#include "interposer/act/move_plan.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace umadvisor::act {

namespace {

/// What the launch is about to reach is the device's again. Whether all of it is there already.
bool begin(const observe::Touched& touched) {
    std::uint64_t addresses[observe::Touched::max_managed];
    bool resident = true;
    const std::uint32_t device = observe::current_device();
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        addresses[i] = allocation.address;
        knowledge.host_returns.launch(allocation.id);
        const bool shared = knowledge.turns.concerns(allocation.id);
        if (!shared && knowledge.residency.resident(allocation.id, device))
            continue;
        resident = false;
        if (!shared)
            knowledge.pointees.read(allocation); // before it leaves
    }
    knowledge.sequence.add({addresses, touched.managed_count});
    return resident;
}

/// One launch: what it reaches, and what that points to.
class Bringing {
public:
    explicit Bringing(Launching launch) noexcept : launch_(launch) {}

    /// Whether all of it was on the device already.
    bool take(const observe::Touched& touched, unsigned depth = 0) {
        reached().add(touched, reinterpret_cast<std::uint64_t>(launch_.stream));
        bool resident = begin(touched);
        if (!resident && may_act())
            bring(touched);
        if (depth < most_depth)
            for (std::uint32_t i = 0; i < touched.managed_count; ++i)
                if (touched.managed[i].bytes <= Pointees::most_bytes)
                    resident = take_pointees(touched.managed[i].id, depth) && resident;
        if (touched.leads_on)
            for (const std::uint64_t holder : touched.ids)
                resident = take_pointees(holder, depth) && resident;
        return resident;
    }

private:
    void bring(const observe::Touched& touched) {
        const record::OffStack<Moves> moves;
        plan_moves(touched, device_, launch_.stream, *moves);
        if (round_is_left() || may_be_left(*moves))
            leave(*moves);
        make_moves(*moves, device_, launch_, trace::Reason::not_resident);
    }

    /// Where others leave for it, what is planned comes true only if all of it is done.
    bool may_be_left(const Moves& moves) const {
        std::uint64_t bytes = moves.in.bytes;
        for (std::uint32_t i = 0; i < moves.shared_count; ++i) {
            if (moves.shared[i].begins_copies || moves.shared[i].ends_copies)
                return false;
            bytes += moves.shared[i].brings ? moves.shared[i].range.bytes : 0;
        }
        if (moves.out.count != 0 || bytes == 0 || knowledge.residency.crowded())
            return false;
        return leave_round(launch_.stack, bytes);
    }

    /// Faults bring it, as they would have. Advice is of more than this round.
    static void leave(Moves& moves) {
        moves.in.count = 0;
        for (std::uint32_t i = 0; i < moves.shared_count; ++i)
            moves.shared[i].brings = false;
    }

    static constexpr unsigned most_depth = 3;

    bool take_pointees(std::uint64_t holder, unsigned depth) {
        bool resident = true;
        std::uint64_t epoch = 0;
        for (std::uint32_t next = 0;;) {
            const record::OffStack<observe::Touched> pointed_at;
            observe::Touched& deeper = *pointed_at;
            {
                const record::Guard guard(knowledge.mutex);
                epoch = knowledge.residency.epoch();
                if (knowledge.pointees.settled(holder, epoch))
                    return true;
                next = knowledge.pointees.list(holder, next, deeper);
            }
            if (deeper.managed_count > left_)
                return false;
            left_ -= deeper.managed_count;
            if (deeper.managed_count != 0) {
                observe::residency_sampler().before_launch(deeper);
                resident = take(deeper, depth + 1) && resident;
            }
            if (next == 0)
                break;
        }
        const record::Guard guard(knowledge.mutex);
        if (resident)
            knowledge.pointees.settle(holder, epoch);
        return resident;
    }

    /// Asked once a launch.
    bool may_act() {
        if (!relaxed_) {
            relaxed_.emplace();
            device_ = observe::may_be_capturing(launch_.stream) ? -1 : current_device();
        }
        return device_ >= 0;
    }

    Launching launch_;
    CUdevice device_ = -1;
    std::optional<observe::RelaxedCapture> relaxed_;
    std::uint32_t left_ = 2048; ///< pointees to look after: there may be rings of pointers
};

} // namespace

void bring_to_device(const observe::Touched& touched, Launching launch) noexcept {
    const record::Quiet quiet;
    Bringing(launch).take(touched);
}

} // namespace umadvisor::act
