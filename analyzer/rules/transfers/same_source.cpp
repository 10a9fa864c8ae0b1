/// The same host bytes uploaded again: to memory that kernels have changed since, or to two places.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <string_view>

namespace umadvisor::rules {
namespace {

/// Of as many copies of the same bytes inside the device.
double inside_ns(const Profile& profile, const tables::Tally& transfers) {
    return static_cast<double>(transfers.count) * profile.rates().launch_call_ns +
           static_cast<double>(transfers.bytes) / profile.rates().device_to_device * 1e9;
}

template <bool twice>
Finding describe_same(const Profile& profile, ids::StackId stack, const FateGroup& group) {
    const bool runtime = profile.uses_runtime();
    const std::string inside = runtime ? "cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)"
                                       : "cuMemcpyDtoDAsync(to, from, bytes, stream)";
    const bool variable =
        !twice &&
        profile.dictionary().symbol(group.last.allocation_entry).find("GetGlobal") != std::string_view::npos;
    Finding finding = begin_finding(profile, group);
    finding.summary = fmt::format(
        "{}{}: {} in all", transfers_text(profile, group),
        twice ? " of host bytes that had just been uploaded to another place on the device and are still there"
        : variable ? " of host bytes that had been uploaded before, unchanged, into a variable that kernels "
                     "may have changed since"
                   : " of host bytes that had been uploaded before, unchanged; the device's copy has changed "
                     "since, or its memory was freed",
        time_text(group.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back("uploaded before here", group.last.counterpart);
    finding.advice =
        twice ? "use one device buffer for both if kernels only read it; otherwise upload it once "
                "and copy it within the device: " +
                    inside
        : variable
            ? fmt::format("upload it once if no kernel writes the variable; otherwise fill "
                          "it from a copy on the device: {}",
                          inside)
            : fmt::format("keep an unmodified copy on the device and fill the buffer from "
                          "it: {} on the kernel's stream; upload again only after the host's data has changed",
                          inside);
    finding.saving_ns -= inside_ns(profile, group.transfers);
    finding.edit = group.calls.gone(profile, inside_ns(profile, group.transfers));
    finding.basis = basis_of(profile, group) + " minus copies of the same bytes within the device";
    finding.confidence =
        group.in_part + group.not_looked_at == 0 && group.measured ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

constinit const Rule uma_114{.id = "UMA-114",
                             .name = "same-source-upload",
                             .title = "the same host bytes uploaded to memory that has changed",
                             .find = &find_fate<uma_114, Fate::again, describe_same<false>>,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

constinit const Rule uma_115{.id = "UMA-115",
                             .name = "same-source-twice",
                             .title = "the same host bytes uploaded to two places",
                             .find = &find_fate<uma_115, Fate::twice, describe_same<true>>,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
