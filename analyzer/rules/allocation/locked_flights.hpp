/// Copies from and to page-locked memory that the host has not waited for.
#pragma once

#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/stream_order.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/counter.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

namespace umadvisor::rules {

/// By the call site that made the memory.
struct FlightTotals {
    std::uint64_t buffers = 0, bytes = 0;           ///< allocations and bytes that were in flight, now
    std::uint64_t most_buffers = 0, most_bytes = 0; ///< the most at once
    std::uint64_t copies = 0;
    /// Copies before which the thread had, since its last one of this site, as much time outside
    /// of calls as one thread needs to write or read the bytes.
    std::uint64_t beside_work = 0;
    std::uint64_t renewed = 0; ///< copies of allocations that held other bytes at the copy before
    std::uint64_t kept = 0;    ///< uploads of what the allocation held at its copy before

    FlightTotals& operator+=(const FlightTotals& other);
};

/// Memory: one entry for each live page-locked allocation and each site, and for up to `most_flights` copies
/// that nothing has waited for.
class LockedFlights : public Counter {
public:
    LockedFlights(const Begin& begin, Counters& counters);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const WorkCall& work);

    /// The recorded calls do not show what is in flight.
    bool unknown() const { return lost_ || order_.unknown(); }
    const std::map<ids::CallSite, FlightTotals>& sites() const { return sites_; }

private:
    static constexpr std::size_t most_flights = 65'536;
    struct Site {
        FlightTotals* totals = nullptr;
        std::uint32_t thread = 0; ///< of the last copy
        double own_ns = 0;        ///< of that thread, then
    };
    struct Memory {
        Site* site = nullptr;
        std::uint64_t bytes = 0;
        std::uint64_t flights = 0, flying_bytes = 0; ///< not waited for
        std::uint64_t upload_hash = 0; ///< of the copy before, where that was an upload; 0: not known
        bool downloaded = false;       ///< by the copy before
    };
    struct Flight {
        facts::StreamOrder::Moment moment;
        trace::AllocationId allocation{};
        std::uint64_t bytes = 0;
    };
    struct Thread {
        double end = 0, own_ns = 0; ///< own_ns: outside of calls
    };

    static std::uint64_t in_flight(const Memory& memory) { return std::min(memory.bytes, memory.flying_bytes); }
    void land();
    void end(const Flight& flight);
    void fly(const trace::Copy& copy, trace::AllocationId allocation, bool up, const facts::Call& call);
    static void count_content(Memory& memory, const trace::Copy& copy, bool up);

    const facts::StreamOrder& order_; ///< of the calls before
    bool lost_ = false;               ///< too many flights
    facts::PerThread<Thread> threads_;
    std::map<ids::CallSite, FlightTotals> sites_;
    std::map<ids::CallSite, Site> made_at_;
    reader::FlatMap<Memory, trace::AllocationId> live_;   ///< by allocation
    std::map<std::uint32_t, std::deque<Flight>> flights_; ///< by stream
    std::size_t flying_ = 0;                              ///< in all of them
};

} // namespace umadvisor::rules
