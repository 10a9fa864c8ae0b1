/// Copies of one direction that follow each other with no other work or wait between them.
#pragma once

#include "analyzer/facts/per_thread.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/tables/copies.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::rules {

/// Small copies of one call site in runs of one kind.
struct RunCopies {
    std::uint64_t copies = 0;
    double spared = 0; ///< calls fewer, were each run one copy
};

/// A kind of runs: those of the same call sites.
struct RunTotals {
    std::uint64_t rounds = 0;
    std::map<ids::CallSite, RunCopies> small;
};

/// What a run brings over could be one copy: the host's code between its copies may move before or behind all
/// of them, while what lies between two runs may depend on the first. At most `most_turns` copies of one call
/// site in a row share a run with other sites behind them. Copies of graphs and batches are left out. Memory:
/// one entry a combination of at most `most_sites` call sites, and `most_kinds` of these.
class CopyRuns {
public:
    static constexpr std::size_t most_sites = 8, most_kinds = 1024, most_turns = 16;

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::GraphLaunch&, std::uint32_t thread) { end(thread); }
    void add(const trace::Set&, std::uint32_t thread) { end(thread); }
    void add(const trace::Prefetch&, std::uint32_t thread) { end(thread); }
    void add(const trace::HostFunction&, std::uint32_t thread) { end(thread); }
    void add(const trace::Pause&, std::uint32_t thread) { end(thread); }
    void launch(std::uint32_t thread) { end(thread); }
    void finish();

    const std::map<std::vector<ids::CallSite>, RunTotals>& kinds() const { return kinds_; }

private:
    struct Member {
        ids::CallSite site;
        std::uint64_t small = 0, large = 0;
    };
    struct Run {
        std::vector<Member> members; ///< by site
        std::uint64_t copies = 0;
        std::uint64_t unawaited = 0; ///< of these, since the last wait
        bool up = false;
        ids::CallSite last;
        std::uint64_t turns = 0; ///< of the last, in a row
    };
    void end(std::uint32_t thread);
    void end(Run& run);

    facts::PerThread<Run> runs_;
    std::map<std::vector<ids::CallSite>, RunTotals> kinds_;
};

} // namespace umadvisor::rules
