/// Kernels reach across the link, again and again, for memory that the program's advice keeps on the host.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

/// The program's advice that kernels may reach the memory where it is, each kind with its line.
std::string drop_advice(const ManagedMemory& memory, Advice& advice) {
    std::string calls;
    const auto add = [&](ids::StackId given, const std::string& call, std::string_view what) {
        if (!given.known())
            return;
        calls += (calls.empty() ? "" : " and ") + call;
        advice.places.emplace_back(what, given);
    };
    const std::string on_host = advise_host(memory, "SetPreferredLocation"),
                      mapped = advise_device(memory, "SetAccessedBy");
    add(memory.activity.preferred_on_host, on_host, "advised here to stay on the host");
    add(memory.activity.mapped_by_device, mapped, "advised here to be mapped by the device");
    return calls.empty() ? fmt::format("the advice that keeps it on the host ({} or {})", on_host, mapped)
                         : calls;
}

Advice advise_remote_access(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const machine::Rates& rates = memory.profile.rates();
    const auto across = static_cast<double>(habit.totals.bytes);
    const std::uint64_t once = habit.totals.bytes / std::max<std::uint64_t>(1, habit.totals.times);
    Advice advice;
    advice.text = fmt::format("{} before the first of these launches, and remove {}",
                              prefetch_to_device(memory), drop_advice(memory, advice));
    advice.spared.device_ns = std::max(0.0, across / rates.remote_access * 1e9 -
                                                habit.by_prefetch({once, 0}, habit.totals.allocations));
    advice.basis = fmt::format("all of it across the link at {} for each launch, instead of one prefetch at "
                               "{}; how much of it a launch reads is unknown",
                               rate_text(rates.remote_access), rate_text(rates.prefetch_to_device));
    advice.confidence = Confidence::low;
    advice.evidence = {{"remote_bytes", across}};
    return advice;
}

} // namespace

const ManagedRule remote_access{&uma_208, managed::VerdictKind::remote_access, Lead::launch,
                                "the host uses it here", &advise_remote_access};

constinit const Rule uma_208{.id = "UMA-208",
                             .name = "remote-access",
                             .title = "kernels access managed memory across the link",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
