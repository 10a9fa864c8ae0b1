#include "tests/gpu/copy_counts.hpp"

#include <cinttypes>
#include <iterator>

namespace cupti_copies {

const char* direction_name(unsigned kind) {
    // CUpti_ActivityMemcpyKind, in order.
    static constexpr const char* names[] = {"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                            "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    return kind < std::size(names) ? names[kind] : "unknown";
}

const char* memory_kind_name(unsigned kind) {
    // CUpti_ActivityMemoryKind, in order.
    static constexpr const char* names[] = {"unknown", "pageable", "pinned",        "device",
                                            "array",   "managed",  "device_static", "managed_static"};
    return kind < std::size(names) ? names[kind] : "unknown";
}

static void write_unified_memory(const UnifiedMemory& um, const char* status, std::FILE* file) {
    std::fprintf(file,
                 " \"unified_memory\": {\"status\": \"%s\", \"host_faults\": %" PRIu64
                 ", \"device_fault_records\": %" PRIu64 ", \"device_fault_groups\": %" PRIu64
                 ", \"prefetch_faults\": %" PRIu64 ",\n",
                 status, um.host_faults, um.device_fault_records, um.device_fault_groups, um.prefetch_faults);
    std::fprintf(file,
                 "  \"to_device_bytes\": %" PRIu64 ", \"to_device_by_request_bytes\": %" PRIu64
                 ", \"to_host_bytes\": %" PRIu64 ", \"to_host_by_request_bytes\": %" PRIu64
                 ", \"between_devices_bytes\": %" PRIu64 ",\n",
                 um.to_device_bytes, um.to_device_by_request_bytes, um.to_host_bytes,
                 um.to_host_by_request_bytes, um.between_devices_bytes);
    std::fprintf(file,
                 "  \"thrashing\": %" PRIu64 ", \"throttling\": %" PRIu64 ", \"remote_maps\": %" PRIu64
                 ",\n  \"blocks\": [",
                 um.thrashing, um.throttling, um.remote_maps);
    const char* separator = "";
    for (const auto& [address, bytes] : um.blocks) {
        std::fprintf(file, "%s\n   [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", separator, address,
                     bytes.to_device, bytes.to_host, bytes.between_devices);
        separator = ",";
    }
    std::fprintf(file, "]},\n");
}

bool write_json(const Counts& counts, std::FILE* file) {
    std::fprintf(file, "{\"copies\": [");
    const char* separator = "\n";
    for (const auto& [key, amount] : counts.copies) {
        const auto& [direction, source, destination] = key;
        std::fprintf(file,
                     "%s  {\"direction\": \"%s\", \"source_memory\": \"%s\", \"destination_memory\": \"%s\", "
                     "\"count\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                     separator, direction_name(direction), memory_kind_name(source),
                     memory_kind_name(destination), amount.count, amount.bytes);
        separator = ",\n";
    }
    std::fprintf(file, "],\n");
    if (*counts.unified_memory_status)
        write_unified_memory(counts.unified_memory, counts.unified_memory_status, file);
    std::fprintf(file, " \"kernels\": %" PRIu64 ", \"memsets\": %" PRIu64 ", \"dropped\": %" PRIu64 "}\n",
                 counts.kernels, counts.memsets, counts.dropped);
    return !std::ferror(file);
}

} // namespace cupti_copies
