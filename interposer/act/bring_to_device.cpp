#include "interposer/act/bring.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/eviction_plan.hpp"
#include "interposer/act/knowledge.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/prefetch_plan.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/residency_sampler.hpp"
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
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        addresses[i] = allocation.address;
        knowledge.host_returns.launch(allocation.id);
        if (knowledge.residency.resident(allocation.id))
            continue;
        resident = false;
        knowledge.pointees.read(allocation); // before it leaves
    }
    knowledge.sequence.add({addresses, touched.managed_count});
    return resident;
}

/// Left free of what the device holds: where the driver has to make room itself, it takes other blocks, and
/// then nobody knows any more what is where.
constexpr std::uint64_t slack = 2 * block_bytes;

struct Moves {
    PrefetchPlan out, in;
    std::uint64_t given_up = 0; ///< id of an allocation; 0: none
};

/// Plans what others have to leave to the launch, and takes it for done.
void make_room(const observe::Touched& touched, std::uint64_t bytes, PrefetchPlan& out) {
    auto* const residents =
        static_cast<Resident*>(std::malloc((knowledge.residency.count() + 1) * sizeof(Resident)));
    if (residents == nullptr)
        return;
    std::size_t count = 0;
    knowledge.residency.for_each_resident([&](const ResidencyView& view, std::uint64_t last_use) {
        if (std::none_of(touched.managed, touched.managed + touched.managed_count,
                         [&](const observe::Allocation& wanted) { return wanted.id == view.allocation; }))
            residents[count++] = {view, LaunchSequence::unknown, last_use};
    });
    foresee({residents, count}, knowledge.sequence);
    plan_eviction({residents, count}, bytes, out);
    std::free(residents);
    for (std::uint32_t i = 0; i < out.count; ++i)
        knowledge.residency.evicted(out.ranges[i].allocation, out.ranges[i].address,
                                    out.ranges[i].address + out.ranges[i].bytes);
}

/// Plans what is missing of `touched`, and takes it for done.
void plan(const observe::Touched& touched, CUdevice device, CUstream stream, Moves& moves) {
    ResidencyMap& residency = knowledge.residency;
    ResidencyView views[observe::Touched::max_managed];
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        if (!residency.see(allocation.id, allocation.address, allocation.bytes, views[count]) ||
            residency.resident(allocation.id))
            continue;
        count += residency.worth_bringing(allocation.id, reinterpret_cast<std::uint64_t>(stream));
        if (residency.just_given_up(allocation.id))
            moves.given_up = allocation.id;
    }
    const std::uint64_t missing = missing_bytes({views, count});
    const std::uint64_t capacity = managed_capacity(device, residency.device_bytes(), missing);
    const auto free = [&] { return capacity - std::min(capacity, residency.device_bytes()); };
    std::uint64_t kept_free = 0;
    if (missing > free()) {
        residency.crowd();
        kept_free = std::min(slack, capacity / 4);
        if (missing + kept_free > free())
            make_room(touched, missing + kept_free - free(), moves.out);
    }
    const std::uint64_t room = free();
    plan_prefetch({views, count}, room - std::min(room, kept_free), moves.in);
    for (std::uint32_t i = 0; i < moves.in.count; ++i)
        residency.moved(moves.in.ranges[i].allocation, moves.in.ranges[i].address,
                        moves.in.ranges[i].address + moves.in.ranges[i].bytes, BlockState::device);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i)
        residency.launched(touched.managed[i].id, capacity - kept_free);
}

/// What the driver refuses is left to faults, as it would have been; it is not tried again and again.
void move(const PrefetchPlan& plan, CUdevice to, Launching launch, trace::Reason reason) {
    for (std::uint32_t i = 0; i < plan.count; ++i)
        if (const CUresult answer = prefetch_range(plan.ranges[i], to, launch.stream, reason, launch.stack);
            answer != CUDA_SUCCESS)
            prefetch_mode.fail(answer);
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
        return resident;
    }

private:
    void bring(const observe::Touched& touched) {
        Moves moves;
        {
            const record::Guard guard(knowledge.mutex);
            plan(touched, device_, launch_.stream, moves);
        }
        if (moves.given_up != 0)
            record::note(
                "--act prefetch: allocation %llu is left to faults for now: launches came for none of the "
                "blocks of it that were tried",
                static_cast<unsigned long long>(moves.given_up));
        move(moves.out, CU_DEVICE_CPU, launch_, trace::Reason::makes_room);
        move(moves.in, device_, launch_, trace::Reason::not_resident);
    }

    static constexpr unsigned most_depth = 3;

    bool take_pointees(std::uint64_t holder, unsigned depth) {
        bool resident = true;
        std::uint64_t epoch = 0;
        for (std::uint32_t next = 0;;) {
            observe::Touched deeper;
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
