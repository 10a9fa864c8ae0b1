// The calls that advice on managed memory names, spelled with what is known of the memory.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include "analyzer/reader/shown_name.hpp"

namespace umadvisor::rules {
namespace {

/// Pointer and size of a call, and a location.
std::string arguments(const ManagedMemory& memory, std::string_view between, bool device) {
    const std::string name = reader::shown_name(memory.profile.dictionary().string(memory.site.symbol));
    return fmt::format("{}{}, {}",
                       memory.site.symbol != 0 ? fmt::format("&{0}, sizeof {0}", name) : "ptr, bytes", between,
                       device ? device_location(memory.profile) : host_location(memory.profile));
}

/// "SetReadMostly" as the driver writes it: "SET_READ_MOSTLY".
std::string driver_word(std::string_view word) {
    std::string text;
    for (const char letter : word) {
        if (letter >= 'A' && letter <= 'Z' && !text.empty())
            text += '_';
        text += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return text;
}

std::string advise_call(const ManagedMemory& memory, std::string_view advice, bool device) {
    const bool runtime = memory.profile.uses_runtime();
    const std::string word =
        runtime ? fmt::format(", cudaMemAdvise{}", advice) : ", CU_MEM_ADVISE_" + driver_word(advice);
    return fmt::format("{}({})", runtime ? "cudaMemAdvise" : "cuMemAdvise", arguments(memory, word, device));
}

} // namespace

std::string_view device_location(const Profile& profile) {
    const bool one = !profile.dictionary().devices.empty() && profile.uses_first_device_only();
    if (!profile.uses_runtime())
        return one ? "{CU_MEM_LOCATION_TYPE_DEVICE, 0}" : "{CU_MEM_LOCATION_TYPE_DEVICE, device}";
    if (profile.uses_old_toolkit())
        return one ? "0" : "device";
    return one ? "{cudaMemLocationTypeDevice, 0}" : "{cudaMemLocationTypeDevice, device}";
}

std::string_view host_location(const Profile& profile) {
    return !profile.uses_runtime()      ? "{CU_MEM_LOCATION_TYPE_HOST, 0}"
           : profile.uses_old_toolkit() ? "cudaCpuDeviceId"
                                        : "{cudaMemLocationTypeHost, 0}";
}

std::string_view prefetch_flags(const Profile& profile) {
    return profile.uses_old_toolkit() ? "" : "0, ";
}

std::string prefetch_name(const ManagedMemory& memory) {
    return memory.profile.uses_runtime() ? "cudaMemPrefetchAsync" : "cuMemPrefetchAsync";
}

std::string prefetch_to_device(const ManagedMemory& memory) {
    return fmt::format("{}({}, {}stream)", prefetch_name(memory), arguments(memory, "", true),
                       prefetch_flags(memory.profile));
}

std::string prefetch_to_host(const ManagedMemory& memory) {
    return fmt::format("{}({}, {}stream)", prefetch_name(memory), arguments(memory, "", false),
                       prefetch_flags(memory.profile));
}

std::string advise_device(const ManagedMemory& memory, std::string_view advice) {
    return advise_call(memory, advice, true);
}

std::string advise_host(const ManagedMemory& memory, std::string_view advice) {
    return advise_call(memory, advice, false);
}

void take_inside_part(const Profile& profile, const managed::ManagedSiteActivity& memory, Finding& finding) {
    if (!profile.inside())
        return;
    const double share = memory.inside_share();
    finding.saving_ns *= share;
    finding.stack = finding.stack.plain();
    for (auto& [what, stack] : finding.places)
        stack = stack.plain();
    finding.details.push_back("numbers are of the whole run; " + percent_text(share) +
                              " of it happened inside the ranges, and the saving is of that");
}

} // namespace umadvisor::rules
