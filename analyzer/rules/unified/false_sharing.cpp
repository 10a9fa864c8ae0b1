/// The host wants one place, the device what lies beside it: whole blocks come and go for a flag.
#include "analyzer/rules/unified/managed.hpp"

namespace umadvisor::rules {
namespace {

Advice advise_false_sharing(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const managed::MovedBytes moved = habit.bytes_both_ways();
    const std::string pinned = memory.profile.uses_runtime() ? "cudaMallocHost" : "cuMemAllocHost";
    Advice advice;
    if (memory.site.symbol != 0)
        advice.text =
            fmt::format("move what the host uses into a separate variable, alignas(2 << 20) so that nothing "
                        "else shares its block, or into memory from {}, which the device accesses remotely",
                        pinned);
    else
        advice.text = "move what the host uses into a separate allocation";
    advice.text +=
        fmt::format("; keep that one on the host: {} and {}", advise_host(memory, "SetPreferredLocation"),
                    advise_device(memory, "SetAccessedBy"));
    advice.spared = habit.spared_faults(moved);
    advice.basis = fmt::format(
        "the bytes that migrated back and forth by page faults, {}: after the separation none of them moves",
        habit.prices());
    advice.confidence = habit.confidence();
    advice.evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                       {"bytes_to_host", static_cast<double>(moved.to_host)}};
    return advice;
}

} // namespace

const ManagedRule false_sharing{&uma_206, managed::VerdictKind::false_sharing, Lead::host,
                                "the host uses one location of it here", &advise_false_sharing};

constinit const Rule uma_206{.id = "UMA-206",
                             .name = "false-sharing",
                             .title = "false sharing: blocks of managed memory migrate for one location",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .by_page_faults = true};

} // namespace umadvisor::rules
