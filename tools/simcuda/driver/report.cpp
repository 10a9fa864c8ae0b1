#include "tools/simcuda/driver/report.hpp"
#include "tools/simcuda/driver/card.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace simcuda {

namespace {

std::uint64_t parse_bytes(const std::string& text) {
    char* unit = nullptr;
    const std::uint64_t number = std::strtoull(text.c_str(), &unit, 10);
    switch (*unit) {
    case 'K':
        return number << 10;
    case 'M':
        return number << 20;
    case 'G':
        return number << 30;
    default:
        return number;
    }
}

void add_failure(Driver& state, const std::string& text) {
    const auto first = text.find(':');
    const auto second = text.find(':', first + 1);
    for (Failure& failure : state.control.failures) {
        if (failure.entry[0] == 0 && first != std::string::npos && second != std::string::npos) {
            failure.nth = std::strtoull(text.c_str() + first + 1, nullptr, 10);
            failure.result = std::atoi(text.c_str() + second + 1);
            text.copy(failure.entry, std::min(first, sizeof failure.entry - 1));
            return;
        }
    }
    std::fprintf(stderr, "simcuda: cannot set failure '%s' (ENTRY:NTH:RESULT, at most 8)\n", text.c_str());
}

/// Prices where no PCIe lies between. GH200: what copies reached over NVLink-C2C (arXiv 2407.07850). One pool:
/// a copy reads and writes the memory of 273 GB/s that a GB10 has.
void set_prices(residency::Prices& prices, Sharing sharing) {
    if (sharing == Sharing::one_pool) {
        prices.pageable_to_device = prices.pinned_to_device = prices.device_to_pageable =
            prices.device_to_pinned = prices.device_to_device = 136e9;
        prices.device_memory = prices.remote_access = 273e9;
    } else if (sharing != Sharing::hmm) {
        prices.pageable_to_device = prices.pinned_to_device = prices.migrate_to_device = 375e9;
        prices.device_to_pageable = prices.device_to_pinned = prices.migrate_to_host = 297e9;
        prices.remote_access = 375e9;
    }
}

void set_sharing(Driver& state, std::string_view name) {
    constexpr std::string_view names[] = {"discrete", "hmm", "numa", "cdmm", "pool"};
    const auto* const found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names)) {
        std::fprintf(stderr, "simcuda: memory= takes discrete, hmm, numa, cdmm or pool\n");
        return;
    }
    state.config.sharing = static_cast<Sharing>(found - std::begin(names));
    if (state.config.sharing != Sharing::discrete) {
        set_prices(state.prices, state.config.sharing);
    }
}

void apply(Driver& state, const std::string& key, const std::string& value) {
    if (key == "capacity") {
        state.config.capacity = parse_bytes(value);
    } else if (key == "card") {
        share_card(value);
    } else if (key == "contiguous") {
        state.config.contiguous = value != "0";
    } else if (key == "devices") {
        state.config.devices = std::atoi(value.c_str());
    } else if (key == "host_nodes") {
        state.config.host_nodes = std::max(1, std::atoi(value.c_str()));
        state.config.devices = std::max(state.config.devices, state.config.host_nodes);
    } else if (key == "peers") {
        state.config.peers = value != "0";
    } else if (key == "memory") {
        set_sharing(state, value);
    } else if (key == "driver") {
        state.config.driver_version = std::atoi(value.c_str());
    } else if (key == "concurrent") {
        state.config.concurrent_managed_access = value != "0";
    } else if (key == "thrashing") {
        state.config.parameters.thrashing.enabled = value != "0";
    } else if (key == "driver_prefetch") {
        state.config.parameters.driver_prefetch = value != "0";
    } else if (key == "tools_queue") {
        state.config.tools_queue = value != "0";
    } else if (key == "tools_enables") {
        state.config.tools_enables = std::atoi(value.c_str());
    } else if (key == "pageable") {
        state.prices.pageable_to_device = state.prices.device_to_pageable =
            static_cast<double>(parse_bytes(value));
    } else if (key == "fail") {
        add_failure(state, value);
    } else {
        std::fprintf(stderr, "simcuda: unknown key '%s' in SIMCUDA_CONFIG\n", key.c_str());
    }
}

void write_causes(std::FILE* file, const char* name, const std::uint64_t (&bytes)[6]) {
    static constexpr const char* causes[6] = {"unknown",  "user",     "coherence",
                                              "prefetch", "eviction", "access_counters"};
    std::fprintf(file, "  \"%s\": {", name);
    for (unsigned cause = 0; cause < 6; ++cause) {
        std::fprintf(file, "%s\"%s\": %" PRIu64, cause ? ", " : "", causes[cause], bytes[cause]);
    }
    std::fprintf(file, "},\n");
}

void write_copies(std::FILE* file, const Control& control) {
    std::fprintf(file, "  \"copies\": [");
    const char* separator = "";
    for (unsigned way = 0; way < copy_directions; ++way) {
        for (unsigned from = 0; from < memory_classes; ++from) {
            for (unsigned to = 0; to < memory_classes; ++to) {
                const CopyTotal& total = control.copies[way][from][to];
                if (total.calls == 0) {
                    continue;
                }
                std::fprintf(file,
                             "%s\n    {\"direction\": \"%s\", \"source\": \"%s\", \"target\": \"%s\", "
                             "\"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                             separator, copy_direction_names[way], memory_class_names[from],
                             memory_class_names[to], total.calls, total.bytes);
                separator = ",";
            }
        }
    }
    std::fprintf(file, "],\n");
}

} // namespace

void read_config(Driver& state) {
    if (const char* report = std::getenv("SIMCUDA_REPORT")) {
        state.report = report;
    }
    const char* text = std::getenv("SIMCUDA_CONFIG");
    std::string_view rest = text ? text : "";
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        const std::string item(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        const auto equals = item.find('=');
        if (!item.empty()) {
            apply(state, item.substr(0, equals), equals == std::string::npos ? "" : item.substr(equals + 1));
        }
    }
}

void refresh_control(Driver& state) {
    Control& control = state.control;
    if (!state.memory) {
        return;
    }
    const residency::Counters& counters = state.memory->counters();
    control.host_faults = counters.host_faults;
    control.device_fault_groups = counters.device_fault_groups;
    for (unsigned cause = 0; cause < residency::migration_causes; ++cause) {
        control.bytes_to_device[cause] = counters.bytes_to_device[cause];
        control.bytes_to_host[cause] = counters.bytes_to_host[cause];
    }
    control.bytes_between_devices = counters.bytes_between_devices;
    control.bytes_remote_mapped = counters.bytes_remote_mapped;
    control.prefetch_calls = counters.prefetch_calls;
    control.evicted_blocks = counters.evicted_blocks;
    control.thrashing_pages = counters.thrashing_pages;
    control.throttlings = counters.throttlings;
    control.allocated_device_bytes = control.allocated_managed_bytes = control.allocated_pinned_bytes = 0;
    for (const auto& [address, allocation] : state.allocations) {
        if (allocation.memory == device_memory || allocation.memory == array_memory) {
            control.allocated_device_bytes += allocation.bytes;
        } else if (allocation.memory == managed) {
            control.allocated_managed_bytes += allocation.bytes;
        } else if (allocation.memory == pinned) {
            control.allocated_pinned_bytes += allocation.bytes;
        }
    }
}

void write_report(Driver& state) {
    if (state.report.empty()) {
        return;
    }
    std::FILE* file = std::fopen(state.report.c_str(), "we");
    if (!file) {
        std::fprintf(stderr, "simcuda: cannot write %s\n", state.report.c_str());
        return;
    }
    refresh_control(state);
    const Control& control = state.control;
    std::fprintf(file, "{\n  \"clock_ns\": %" PRIu64 ",\n", state.clock.now());
    write_copies(file, control);
    std::fprintf(file, "  \"sets\": {\"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 "},\n", control.sets.calls,
                 control.sets.bytes);
    write_causes(file, "bytes_to_device", control.bytes_to_device);
    write_causes(file, "bytes_to_host", control.bytes_to_host);
    const auto number = [file](const char* name, std::uint64_t value) {
        std::fprintf(file, "  \"%s\": %" PRIu64 ",\n", name, value);
    };
    number("launches", control.launches);
    number("synchronizations", control.synchronizations);
    number("captured_operations", control.captured_operations);
    number("unsupported_calls", control.unsupported_calls);
    number("illegal_addresses", control.illegal_addresses);
    number("host_faults", control.host_faults);
    number("device_fault_groups", control.device_fault_groups);
    number("bytes_between_devices", control.bytes_between_devices);
    number("bytes_remote_mapped", control.bytes_remote_mapped);
    number("prefetch_calls", control.prefetch_calls);
    number("evicted_blocks", control.evicted_blocks);
    number("thrashing_pages", control.thrashing_pages);
    number("throttlings", control.throttlings);
    number("allocated_device_bytes", control.allocated_device_bytes);
    number("allocated_managed_bytes", control.allocated_managed_bytes);
    number("allocated_pinned_bytes", control.allocated_pinned_bytes);
    std::fprintf(file, "  \"calls\": {");
    const char* separator = "";
    for (unsigned entry = 0; entry < entry_count; ++entry) {
        if (const std::uint64_t calls = state.calls[entry].load()) {
            std::fprintf(file, "%s\n    \"%s\": %" PRIu64, separator, entry_name(entry), calls);
            separator = ",";
        }
    }
    std::fprintf(file, "}\n}\n");
    std::fclose(file);
}

} // namespace simcuda

extern "C" simcuda::Control* simcuda_get(void) {
    simcuda::Driver& state = simcuda::driver();
    const simcuda::Guard guard(state.mutex);
    simcuda::refresh_control(state);
    return &state.control;
}

extern "C" std::uint64_t simcuda_calls(const char* entry) {
    for (unsigned index = 0; index < simcuda::entry_count; ++index) {
        if (std::strcmp(simcuda::entry_name(index), entry) == 0) {
            return simcuda::driver().calls[index].load();
        }
    }
    return 0;
}

extern "C" std::uint64_t simcuda_clock_ns(void) {
    return simcuda::driver().clock.now();
}

extern "C" void simcuda_advance_ns(std::uint64_t nanoseconds) {
    simcuda::driver().clock.advance(nanoseconds);
}
