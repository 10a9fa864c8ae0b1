/// The life of one managed allocation, step by step, for tests of stays and verdicts. A step takes a
/// millisecond.
#pragma once

#include "analyzer/managed/verdict.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::test {

class Life {
public:
    static constexpr std::uint64_t page = 4096, granule = 64 << 10, mib = 1 << 20;
    static constexpr std::uint64_t step_ns = 1'000'000;

    explicit Life(std::uint64_t bytes = 4 * mib) : stays_(bytes, budget_) {
        terms.faults_known = terms.thrashing_known = true;
    }

    managed::Marks marks;
    managed::Terms terms;
    std::uint64_t pace = step_ns;

    Life& launch(std::uint64_t stream = 0) {
        return add({.kind = managed::UseKind::launch,
                    .kernel = {7, ids::StackId(70), 1},
                    .queue = {1, trace::StreamId{stream}, 0}});
    }
    Life& wait() { return add({.kind = managed::UseKind::wait}); }
    Life& to_device(std::uint64_t offset, std::uint64_t bytes) {
        return add({.kind = managed::UseKind::prefetch_to_device,
                    .offset = offset,
                    .bytes = bytes,
                    .place = ids::StackId(80)});
    }
    Life& to_device() { return to_device(0, stays_.bytes()); }
    Life& to_host() {
        return add(
            {.kind = managed::UseKind::prefetch_to_host, .bytes = stays_.bytes(), .place = ids::StackId(81)});
    }
    /// `faults` on neighbouring pages.
    Life& host_fault(std::uint64_t offset = 0, bool write = false, std::uint64_t faults = 1) {
        return add({.kind = managed::UseKind::host_fault,
                    .offset = offset,
                    .bytes = faults * page,
                    .count = faults,
                    .place = ids::StackId(90),
                    .write = write});
    }
    Life& look(std::uint64_t host_bytes, std::uint64_t content = 0, std::uint64_t lone_line = 0) {
        return add({.kind = managed::UseKind::look_before_launch,
                    .faults_known = terms.faults_known,
                    .host_bytes = host_bytes,
                    .content = content,
                    .lone_line = lone_line});
    }
    /// All is on the host.
    Life& look_at_filled(bool regular) {
        return add({.kind = managed::UseKind::look_before_launch,
                    .faults_known = terms.faults_known,
                    .host_bytes = stays_.bytes(),
                    .regularity = regular ? trace::Regularity::regular : trace::Regularity::irregular});
    }
    Life& look_after(std::uint64_t host_bytes) {
        return add({.kind = managed::UseKind::look_after_wait,
                    .faults_known = terms.faults_known,
                    .host_bytes = host_bytes});
    }
    Life& totals(std::uint64_t to_host, std::uint64_t device_faults = 0, std::uint64_t evicted = 0) {
        const std::uint64_t since = totals_told_;
        add({.kind = managed::UseKind::totals,
             .host_bytes = to_host,
             .since = since,
             .device_faults = device_faults,
             .evicted = evicted});
        totals_told_ = now_;
        return *this;
    }

    /// A kernel has used all of it, and the program has waited.
    Life& device_round() { return launch().wait().look_after(0); }
    /// The host has filled all of it.
    Life& fill() { return host_fault(0, true, 4).look(stays_.bytes()); }

    /// Given now, though it happened that long ago.
    Life& late(std::uint64_t steps, managed::UseStep step) {
        step.time = now_ - steps * pace;
        stays_.add(step);
        return *this;
    }

    const managed::Stays& stays() {
        stays_.finish();
        return stays_;
    }
    const std::vector<managed::Verdict>& verdicts() {
        found_ = managed::judge({stays(), marks, terms});
        return found_;
    }
    managed::LateCandidates late() { return managed::late_candidates({stays(), marks, terms}); }
    /// "ping_pong read_back"
    std::string names() {
        std::string names;
        for (const managed::Verdict& verdict : verdicts())
            names += (names.empty() ? "" : " ") + std::string(name(verdict.kind));
        return names;
    }

private:
    Life& add(managed::UseStep step) {
        step.time = now_ += pace;
        stays_.add(step);
        return *this;
    }

    managed::StepBudget budget_;
    managed::Stays stays_;
    std::uint64_t now_ = 1'000 * step_ns, totals_told_ = 0;
    std::vector<managed::Verdict> found_;
};

} // namespace umadvisor::test
