#include "analyzer/whatif/outlook.hpp"

#include "analyzer/machine/memory_mode.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/text/shell_word.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::whatif {
namespace {

bool lists(const std::string& act, const std::string& mode) {
    return ("," + act + ",").find("," + mode + ",") != std::string::npos;
}

residency::Prices prices_of(const machine::Rates& rates, double link) {
    residency::Prices prices;
    prices.migrate_to_device = rates.prefetch_to_device;
    prices.migrate_to_host = rates.prefetch_to_host;
    prices.remote_access = rates.remote_access;
    prices.prefetch_call = static_cast<residency::Nanoseconds>(rates.prefetch_call_ns);
    prices.prefetch_block = static_cast<residency::Nanoseconds>(rates.prefetch_block_ns);
    prices.prefetch_move = static_cast<residency::Nanoseconds>(rates.prefetch_move_ns);
    // The time of faults beyond that of the bytes they move, for a whole block; as measured, whatever the link.
    const auto beyond = [](double by_faults, double in_bulk) {
        const double ns = (1 / by_faults - 1 / in_bulk) * static_cast<double>(residency::block_bytes) * 1e9;
        return static_cast<residency::Nanoseconds>(std::max(ns, 0.0));
    };
    prices.device_fault_group = beyond(rates.fault_to_device, rates.prefetch_to_device);
    prices.host_fault = static_cast<residency::Nanoseconds>(rates.host_fault_ns);
    if (link > 0)
        prices.migrate_to_device = prices.migrate_to_host = prices.remote_access = link;
    return prices;
}

residency::Parameters parameters_of(const reader::Dictionary& dictionary) {
    residency::Parameters parameters;
    if (dictionary.managed_sources.empty() || dictionary.managed_sources.back().parameters_known == 0)
        return parameters;
    const trace::ManagedSource& told = dictionary.managed_sources.back();
    parameters.driver_prefetch = told.prefetch != 0;
    parameters.prefetch_threshold_percent = static_cast<unsigned>(told.prefetch_threshold);
    residency::ThrashingParameters& thrashing = parameters.thrashing;
    thrashing.enabled = told.thrashing != 0;
    thrashing.threshold = static_cast<unsigned>(told.thrashing_threshold);
    thrashing.pin_threshold = static_cast<unsigned>(told.thrashing_pin_threshold);
    thrashing.lapse = told.thrashing_lapse * 1000;
    thrashing.nap = told.thrashing_nap * 1000;
    thrashing.epoch = told.thrashing_epoch * 1000;
    thrashing.pin = told.thrashing_pin * 1000;
    return parameters;
}

/// Whether umadvisor did so in the recorded run, as asked or because its plan said so.
bool acted(const reader::Dictionary& dictionary, const std::string& mode) {
    return std::ranges::any_of(dictionary.options, [&](const trace::Option& option) {
        const std::string modes(option.option == "ACT" || option.option == "PLAN" ? option.value : "");
        return lists(modes, mode) || (mode == "prefetch" && lists(modes, "auto"));
    });
}

/// "NVIDIA GH200, coherent (NUMA)"; empty where the rates hold for the device.
std::string unmeasured(const reader::Dictionary& dictionary, const trace::Device& device,
                       const machine::Rates& rates) {
    const machine::MemoryMode mode =
        machine::memory_mode(device, dictionary.drivers.empty() ? nullptr : &dictionary.drivers.front());
    return machine::are_known(rates, device, mode)
               ? std::string()
               : fmt::format("{}, {}", device.device_name, machine::text(mode));
}

std::string recorded_act(const reader::Dictionary& dictionary) {
    for (const trace::Option& option : dictionary.options)
        if (option.option == "ACT")
            return std::string(option.value);
    return {};
}

std::string program_of(const reader::Dictionary& dictionary) {
    for (const trace::Process& process : dictionary.processes)
        if (!process.executable.empty())
            return text::program_name(process.executable, process.command_line);
    return "unknown program";
}

} // namespace

std::uint64_t Outlook::job_ns(const Moved& moved) const {
    return recorded_ns - std::min(recorded_ns, modelled_moving_ns()) + moved.ns;
}

bool Outlook::model_agrees() const {
    const auto alike = [](std::uint64_t model, std::uint64_t recorded) {
        return std::max(model, recorded) - std::min(model, recorded) <= recorded / 10;
    };
    return !recorded_moved || !modelled ||
           (alike(modelled->to_device, recorded_moved->to_device) &&
            alike(modelled->to_host, recorded_moved->to_host));
}

Outlook outlook(reader::Trace& trace, const Question& question) {
    const reader::Dictionary& dictionary = trace.dictionary;
    Outlook found;
    found.program = program_of(dictionary);
    found.recorded_act = recorded_act(dictionary);
    found.rewritten = lists(question.act, "rewrite=all");
    const ReadJob read = read_job(trace, found.rewritten);
    if (read.records == 0 && !trace.file.completeness().whole())
        throw reader::Error(trace.file.path() +
                            ": no record of the trace could be read: it is cut or damaged; record it again");
    for (const trace::Device& device : dictionary.devices) {
        if (!read.devices.empty() && !read.devices.contains(device.ordinal))
            continue; // another's
        if (found.devices++ == 0)
            found.device = device.device_name;
        found.recorded_memory += device.memory_bytes;
        if (found.unmeasured.empty() && !question.rates_named)
            found.unmeasured = unmeasured(dictionary, device, question.rates);
    }
    found.capacity = question.gpu_memory != 0 ? question.gpu_memory : found.recorded_memory;
    if (found.capacity == 0)
        throw reader::Error(trace.file.path() +
                            ": does not record the card's memory size; give it with --gpu-memory SIZE");
    found.link = question.link;
    found.act = question.act;
    found.rates_of = question.rates.whose();
    found.prices = prices_of(question.rates, question.link);

    const Job& job = read.job;
    if (job.steps().empty() && job.left_out() != 0)
        throw reader::Error(fmt::format(
            "{}: its first allocation is larger than what can be replayed in {} MiB; nothing can be predicted",
            trace.file.path(), Job::usual_bytes >> 20));
    found.peak = job.peak();
    found.moves = std::ranges::any_of(job.extents(), &Extent::moves);
    found.launches = job.launches();
    found.left_out = job.left_out();
    found.parts_known = job.parts_known;
    found.unknowns = read.unknowns;
    found.recorded_ns = read.duration_ns;
    if (read.totals.exact() != nullptr || read.totals.recorded().events != 0)
        found.recorded_moved = read.totals.moved();
    const residency::Parameters parameters = parameters_of(dictionary);
    const Policy acting = lists(question.act, "prefetch") ? Policy::prefetch : Policy::on_demand;
    if (found.starts()) {
        found.on_demand = replay(job, Policy::on_demand, found.capacity, found.prices, parameters);
        if (acting != Policy::on_demand)
            found.acted = replay(job, acting, found.capacity, found.prices, parameters);
        found.optimum = replay(job, Policy::optimum, found.capacity, found.prices, parameters);
        // What copies and the host reach it does not foresee: another policy may do better there.
        for (const std::optional<Moved>& other : {found.on_demand, found.acted})
            if (other && other->bytes() < found.optimum->bytes())
                found.optimum = other;
    }
    if (found.recorded_memory != 0) {
        const bool rewritten = acted(dictionary, "rewrite=all");
        const ReadJob again = rewritten == found.rewritten ? ReadJob() : read_job(trace, rewritten);
        found.modelled = replay(rewritten == found.rewritten ? job : again.job,
                                acted(dictionary, "prefetch") ? Policy::prefetch : Policy::on_demand,
                                found.recorded_memory, prices_of(question.rates, 0), parameters);
    }
    return found;
}

} // namespace umadvisor::whatif
