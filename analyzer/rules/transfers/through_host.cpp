/// Device memory copied to another place on a device by way of the host.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/python/python_advice.hpp"
#include "analyzer/rules/transfers/detours.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/python_framework.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t most_changed = 10; ///< one in so many: more is a step of the host

using symbols::PythonFramework;

/// By both lines, that where the finding stands first, whether they lead to another device, and whether the
/// download stays: the host may look at what one framework hands to another.
using DetourKey = std::tuple<ids::StackId, ids::StackId, bool, bool>;

struct ThroughHostLine {
    std::uint64_t pairs = 0, exchanged = 0, bytes = 0, entry = 0, up_entry = 0;
    double down_ns = 0, up_ns = 0;
    EditedCalls calls; ///< both copies of each pair, or the upload alone
    PythonFramework gives{}, takes{};
    bool peers = true; ///< may reach each other's memory
};

/// What copies of this direction reached in the trace; 0: none was measured.
double measured_rate(const Profile& profile, facts::Direction direction) {
    std::uint64_t bytes = 0, ns = 0;
    for (const auto& [site, totals] : profile.copies().sites())
        if (totals.direction == direction) {
            bytes += totals.measured_bytes;
            ns += totals.measured_ns;
        }
    return ns != 0 ? static_cast<double>(bytes) * 1e9 / static_cast<double>(ns) : 0;
}

std::string_view name_of(PythonFramework framework) {
    constexpr std::string_view names[] = {"", "PyTorch", "CuPy", "JAX", "Numba"};
    return names[static_cast<std::size_t>(framework)];
}

/// How the framework that takes it gets the other's memory without a copy; empty: there is no documented way.
std::string_view hand_over(PythonFramework gives, PythonFramework takes) {
    const bool dlpack = gives != PythonFramework::numba; // which has the CUDA array interface alone
    const bool tensor = gives == PythonFramework::torch;
    if (gives == PythonFramework::none)
        return "";
    switch (takes) {
    case PythonFramework::torch:
        return dlpack ? "torch.from_dlpack(array)" : "torch.as_tensor(array, device='cuda')";
    case PythonFramework::cupy:
        return tensor   ? "cupy.from_dlpack(tensor.detach())"
               : dlpack ? "cupy.from_dlpack(array)"
                        : "cupy.asarray(array)";
    case PythonFramework::jax:
        return tensor   ? "jax.dlpack.from_dlpack(tensor.detach())"
               : dlpack ? "jax.dlpack.from_dlpack(array)"
                        : "";
    case PythonFramework::numba:
        return tensor ? "numba.cuda.as_cuda_array(tensor.detach())" : "numba.cuda.as_cuda_array(array)";
    case PythonFramework::none:
        break;
    }
    return "";
}

/// Names both frameworks, and how one gives the other its memory.
void describe_hand_over(const ThroughHostLine& line, bool other_device, std::string_view way,
                        Finding& finding) {
    finding.title = fmt::format("{}'s {} goes to {} through the host", name_of(line.gives),
                                line.gives == PythonFramework::torch ? "tensor" : "array", name_of(line.takes));
    finding.advice = fmt::format(
        "{}{}. Note: both then share the memory, and what one writes the other sees{}", python_hand_over, way,
        other_device ? "; it stays on its device: copy it to the other device before, from "
                       "device to device"
                     : "");
}

Finding describe_detour(const Profile& profile, const DetourKey& key, const ThroughHostLine& line) {
    const auto& [at, other, other_device, stays] = key;
    const auto bytes = static_cast<double>(line.bytes);
    const double measured =
        measured_rate(profile, other_device ? facts::Direction::PtoP : facts::Direction::DtoD);
    // Without a link of their own, the devices exchange bytes through both devices' host links at once.
    const double rate = measured > 0   ? measured
                        : other_device ? profile.rates().to_peer(false)
                                       : profile.rates().device_to_device;
    const bool runtime = profile.uses_runtime();
    const bool exchange = !other_device && 2 * line.exchanged > line.pairs;
    const double direct_ns = exchange ? 0 : bytes / rate * 1e9;

    const std::string_view way = exchange ? "" : hand_over(line.gives, line.takes);
    const double spent_ns = line.up_ns + (stays ? 0 : line.down_ns);

    Finding finding;
    if (stays)
        finding.summary =
            fmt::format("{} {}, {}, of the same bytes that {} had copied to the host and still has on {}: {}",
                        profile.call_name(line.up_entry), count_text(line.pairs, "time"),
                        bytes_text(bytes / static_cast<double>(line.pairs)), name_of(line.gives),
                        other_device ? "another device" : "the device", time_text(spent_ns));
    else
        finding.summary =
            fmt::format("{} to the host and {}{}, {} {}, and the host had no time to read them in between: {}",
                        profile.call_name(line.entry), profile.call_name(line.up_entry),
                        other_device ? " to another device"
                        : exchange   ? " into another buffer, with which this one changes places"
                                     : " back to the same device",
                        count_text(line.pairs, "time"), bytes_text(bytes / static_cast<double>(line.pairs)),
                        time_text(spent_ns));
    finding.evidence = {{"pairs", static_cast<double>(line.pairs)},
                        {"bytes", bytes},
                        {"download_ns", line.down_ns},
                        {"upload_ns", line.up_ns}};
    finding.places.emplace_back(stays ? "copied to the host" : "copied back to a device", other);
    if (!way.empty())
        describe_hand_over(line, other_device, way, finding);
    else if (exchange)
        finding.advice = "swap the two device pointers, as std::swap does; neither buffer needs a copy";
    else if (other_device)
        finding.advice = fmt::format(
            "{} from device to device{}", runtime ? "cudaMemcpyPeerAsync" : "cuMemcpyPeerAsync",
            line.peers ? ""
                       : fmt::format("; {} first, where the devices can reach each other",
                                     runtime ? "cudaDeviceEnablePeerAccess" : "cuCtxEnablePeerAccess"));
    else
        finding.advice = runtime ? "cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)"
                                 : "cuMemcpyDtoDAsync(to, from, bytes, stream)";
    if (stays)
        finding.advice += "; remove the copy to the host, too, unless the host reads it";
    finding.saving_ns = std::max(0.0, spent_ns - direct_ns);
    finding.edit = line.calls.gone(profile, direct_ns);
    finding.basis = stays ? "time of the uploads" : "time of both copies";
    if (!exchange)
        finding.basis += fmt::format(" minus the same bytes at {}{}", rate_text(rate),
                                     measured > 0 ? ", the rate of such copies in this trace"
                                                  : ", measured on " + profile.rates().whose());
    finding.confidence = other_device && measured == 0 ? Confidence::low : Confidence::medium;
    return finding;
}

} // namespace

double way_ns(const Profile& profile, const ThroughHostWay& way, double bytes) {
    if (way.measured_bytes != 0)
        return bytes * static_cast<double>(way.measured_ns) / static_cast<double>(way.measured_bytes);
    if (way.waits)
        return bytes * static_cast<double>(profile.nanoseconds(way.least_ticks)) /
               static_cast<double>(way.least_bytes);
    return bytes / profile.rates().pinned_to_device * 1e9;
}

std::vector<Finding> find_through_host(const Profile& profile, const LineOf& line_of) {
    std::map<DetourKey, ThroughHostLine> lines;
    const auto add = [&](const ThroughHostSite& site, const ThroughHostTotals& totals, bool stays) {
        const ids::StackId down = line_of(site.down.stack), up = line_of(site.up.stack);
        ThroughHostLine& line = lines[stays ? DetourKey{up, down, site.from != site.to, true}
                                            : DetourKey{down, up, site.from != site.to, false}];
        line.pairs += totals.pairs;
        line.exchanged += totals.exchanged;
        if (!stays)
            line.calls.add(site.down, totals.pairs);
        line.calls.add(site.up, totals.pairs);
        line.bytes += totals.bytes;
        line.entry = site.down.entry;
        line.up_entry = site.up.entry;
        line.down_ns += way_ns(profile, totals.down, static_cast<double>(totals.bytes));
        line.up_ns += way_ns(profile, totals.up, static_cast<double>(totals.bytes));
        line.peers &= profile.counted<ThroughHost>().peers(site.from, site.to);
        line.gives = symbols::framework_at(profile.dictionary(), site.down.stack);
        line.takes = symbols::framework_at(profile.dictionary(), site.up.stack);
        if (line.gives == line.takes)
            line.gives = line.takes = PythonFramework::none;
    };
    for (const auto& [site, totals] : profile.counted<ThroughHost>().sites()) {
        // A host that does not send most downloads of the call on collects them. One that was
        // seen to change some may change those that were not looked at.
        if (totals.pairs == 0 || totals.changed * most_changed > totals.pairs ||
            !profile.counted<ThroughHost>().tells_of(site.down))
            continue;
        add(site, totals, false);
    }
    for (const auto& [site, totals] : profile.counted<ThroughHost>().handed_over())
        add(site, totals, true);
    std::erase_if(lines, [](const auto& line) {
        return std::get<3>(line.first) && hand_over(line.second.gives, line.second.takes).empty();
    });
    return judge_lines(uma_111, profile, lines, describe_detour);
}

constinit const Rule uma_111{.id = "UMA-111",
                             .name = "through-host",
                             .title = "device memory copied through the host",
                             .find = &find_through_host,
                             .counter = &count<ThroughHost>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
