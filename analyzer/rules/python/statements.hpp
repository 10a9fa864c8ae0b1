/// What lies between the CUDA calls of Python code: what a statement costs beside its calls, and which of its
/// lines threads of a framework work for.
#pragma once

#include "analyzer/facts/distribution.hpp"
#include "analyzer/facts/own_calls.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/counter.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// Uploads whose bytes were looked at, and of these, those that brought what the same site had brought before.
struct Sameness {
    std::uint64_t looked = 0, repeated = 0;
};

/// Uploads by threads that run no Python, for which a Python line made its stream wait at once.
struct AwaitedUploads {
    std::uint64_t rounds = 0, uploads = 0, bytes = 0;
    std::uint64_t ticks = 0; ///< the thread of that line made no call while they were prepared
    Sameness content{};
};

/// The calls of one site whose stack has Python frames.
struct PythonSite {
    enum class Kind : std::uint8_t { launch, upload, download, across, wait, other };
    ids::CallSite site{};
    Kind kind = Kind::other;
    bool pinned = true;   ///< the host's end of all copies is page-locked
    bool pageable = true; ///< it is pageable
    std::uint64_t count = 0, ticks = 0, bytes = 0, most_bytes = 0;
    Sameness content{};
    std::uint64_t last_repeated = 0; ///< number of the site's last upload that repeated bytes
    /// Downloads whose source lies close behind that of the download before; and the end of the last.
    std::uint64_t advances = 0, source_end = 0;
    AwaitedUploads awaited{}; ///< by this call
};

/// Two of them that follow each other on their thread, by number.
using PythonStep = std::pair<std::uint32_t, std::uint32_t>;

/// Only of traces with Python frames. Memory: one entry a call site and a pair of sites, up to `most_sites` and
/// `most_steps`, and one a recorded event of threads without Python, up to `most_events`.
class Statements : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< the program makes these calls, too
    static constexpr std::size_t most_sites = 1 << 13, most_steps = 1 << 14, most_events = 1 << 12;

    explicit Statements(const Begin& begin);

    template <class Record>
    requires requires(const Record& record) {
        record.entry;
        record.stack;
        record.status;
    }
    void add(const Record& record, std::uint32_t thread) {
        if (!watches_ || !facts::is_program_call(record))
            return;
        Seen call{ids::CallSite::of(record), PythonSite::Kind::other, record.start, record.duration, thread};
        if constexpr (std::is_same_v<Record, trace::Sync>)
            call.kind = facts::waits_for_work(record) ? PythonSite::Kind::wait : PythonSite::Kind::other;
        note(call, record);
    }
    void add(const Launched& launched);

    /// By number.
    const std::vector<PythonSite>& sites() const { return sites_; }
    const PythonSite* find(const ids::CallSite& site) const;
    /// Ticks from the end of the first call to the start of the second.
    const std::map<PythonStep, facts::Distribution>& steps() const { return steps_; }
    /// Of sites whose calls come from threads without Python: between which two calls of Python code, on the
    /// thread that ran Python last, they were made, and how often.
    using Background = std::unordered_map<ids::CallSite, std::map<PythonStep, std::uint64_t>>;
    const Background& background() const { return background_; }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr std::size_t most_hashes = 64, most_pending = 256;

    struct Seen {
        ids::CallSite site;
        PythonSite::Kind kind;
        std::uint64_t start, duration;
        std::uint32_t thread;
    };
    struct Upload {
        std::uint64_t start = 0, end = 0, bytes = 0, count = 0, looked = 0, repeated = 0;
    };
    struct Thread {
        std::uint32_t last = none; ///< number of the call before; none: it was no call of Python code
        std::uint64_t end = 0;     ///< of that
        Upload upload;             ///< of a thread without Python
        bool recorded = false;     ///< an event behind it
    };
    using Hashes = std::unordered_set<std::uint64_t>;

    template <class Record>
    void note(const Seen& call, const Record& record) {
        if (dictionary_.is_python(call.site.stack)) {
            PythonSite* const site = enter(call);
            if constexpr (std::is_same_v<Record, trace::Copy>) {
                if (site != nullptr)
                    count(*site, record);
            } else if constexpr (std::is_same_v<Record, trace::Stream>) {
                if (site != nullptr && record.action == trace::StreamAction::wait_event)
                    await(*site, record, before_);
            }
            return;
        }
        leave(call);
        if constexpr (std::is_same_v<Record, trace::Copy>)
            upload(record, call.thread);
        else if constexpr (std::is_same_v<Record, trace::Event>)
            if (record.action == trace::EventAction::record)
                recorded(record, call.thread);
    }
    /// A call of Python code. nullptr: there are too many sites.
    PythonSite* enter(const Seen& call);
    void leave(const Seen& call);
    void count(PythonSite& site, const trace::Copy& record);
    static bool look(Hashes& hashes, const trace::CopyContent& content, Sameness& sameness);
    void upload(const trace::Copy& record, std::uint32_t thread);
    void recorded(const trace::Event& record, std::uint32_t thread);
    void await(PythonSite& site, const trace::Stream& record, std::uint64_t before);
    void settle_background(std::uint32_t next);

    const reader::Dictionary& dictionary_;
    double ticks_per_byte_; ///< a slow copy on the host
    bool watches_;
    std::uint64_t launch_ticks_; ///< that a launch takes, of those that were not measured
    facts::PerThread<Thread> threads_;
    std::vector<PythonSite> sites_;
    std::unordered_map<ids::CallSite, std::uint32_t> numbers_;
    std::map<PythonStep, facts::Distribution> steps_;
    std::unordered_map<ids::CallSite, Hashes> hashes_;
    std::unordered_map<std::uint64_t, Upload> events_;
    Background background_;
    std::vector<ids::CallSite> pending_; ///< without Python, since the last call of Python code
    std::uint32_t python_last_ = none;   ///< that call
    std::uint64_t before_ = 0;           ///< end of the call before the one that was entered last
};

} // namespace umadvisor::rules
