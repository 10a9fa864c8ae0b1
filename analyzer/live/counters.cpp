#include "analyzer/live/counters.hpp"

#include "analyzer/live/answer.hpp"
#include "analyzer/reader/error.hpp"

namespace umadvisor::live {

Counters read_counters(const nlohmann::json& answer) {
    Counters counters;
    counters.monotonic_ns = count_of(answer, "monotonic_ns");
    if (counters.monotonic_ns == 0)
        throw reader::Error(
            "a process sends counters without a time: it may have another version of umadvisor");
    const nlohmann::json& copies = member(answer, "copies");
    for (std::size_t kind = 0; kind < std::size(copy_kinds); ++kind) {
        const nlohmann::json& one = member(copies, copy_kinds[kind].data());
        counters.copies[kind] = {count_of(one, "calls"), count_of(one, "bytes"),
                                 count_of(one, "pageable_bytes")};
    }
    counters.launches = count_of(answer, "launches");
    counters.graph_launches = count_of(answer, "graph_launches");
    counters.waits = count_of(member(answer, "waits"), "calls");
    counters.wait_ns = count_of(member(answer, "waits"), "ns");
    const nlohmann::json& managed = member(answer, "managed");
    counters.to_device_bytes = count_of(managed, "to_device_bytes");
    counters.to_host_bytes = count_of(managed, "to_host_bytes");
    counters.device_faults = count_of(managed, "device_faults");
    counters.host_faults = count_of(managed, "host_faults");
    counters.thrashing = count_of(managed, "thrashing");
    const nlohmann::json& memory = member(answer, "memory");
    counters.device_bytes = count_of(memory, "device_bytes");
    counters.managed_bytes = count_of(memory, "managed_bytes");
    counters.pinned_bytes = count_of(memory, "pinned_bytes");
    counters.allocations = count_of(memory, "allocations");
    counters.refused = count_of(memory, "refused");
    counters.act_actions = count_of(member(answer, "act"), "actions");
    counters.act_bytes = count_of(member(answer, "act"), "bytes");
    return counters;
}

} // namespace umadvisor::live
