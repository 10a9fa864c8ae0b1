/// How stacks are looked up and shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// Which source files a report may quote.
struct SourceRule {
    bool shown = true;             ///< false: the trace is another user's
    bool named = true;             ///< remedies may use expressions of the source
    std::int64_t run_ended_ns = 0; ///< since the epoch; what changed later is not what ran. 0: not known
};

struct Options {
    std::vector<std::string> hide = {}, show = {}; ///< globs for Ownership
    bool full_stacks = false;                      ///< reports show whole stacks, not only the line
    std::vector<std::string> debug_folders = {};   ///< looked at before /usr/lib/debug; no ':' in them
    std::string sysroot = {};    ///< where the files of the machine that ran it are; empty: here
    bool debuginfod = false;     ///< debug files may come over the network, from DEBUGINFOD_URLS
    std::string cache = {};      ///< folder of what was looked up before; empty: none
    bool foreign_source = false; ///< source lines also for a trace of another user
    SourceRule source = {};      ///< what the trace at hand adds to that
    /// Called as frames are looked up in files, with the file and how many frames it were so far.
    std::function<void(std::string_view file, std::size_t frames)> progress = {};
};

} // namespace umadvisor::symbols
