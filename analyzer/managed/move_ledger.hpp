/// Whose memory moved between two readings of the driver's totals.
#pragma once

#include "analyzer/managed/managed_site.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace umadvisor::managed {

/// Shares each interval between two readings among the memory that can have moved in it: first what events
/// recorded of it, then what looks at the host's page table show, then memory that was used on the other side
/// than the one where it lay. The last share goes to memory that no call names, since kernels also find memory
/// through pointers that lie in other memory. No allocation gets more than can have moved of it; the rest stays
/// unassigned.
///
/// Steps and events may come late: those of an interval that has been shared are left out. Memory: a row for
/// each live allocation, `most_open` intervals, and `most_entries` uses of allocations in these.
class MoveLedger {
public:
    static constexpr std::size_t most_open = 4096, most_entries = 65'536;

    MoveLedger();
    ~MoveLedger();
    MoveLedger(MoveLedger&&) noexcept;
    MoveLedger& operator=(MoveLedger&&) noexcept;

    /// Returns the number of the memory, which all other calls take. `site` must outlive the ledger.
    std::uint64_t open(std::uint64_t address, std::uint64_t bytes, ManagedSiteActivity& site);
    /// The memory is freed.
    void close(std::uint64_t memory, std::uint64_t time);

    /// Times are in ticks. A launch or a prefetch may bring it to a device, until it is waited for.
    void reach(std::uint64_t memory, std::uint64_t time);
    /// A copy may read or write it, on either side.
    void touch(std::uint64_t memory, std::uint64_t time);
    /// So many bytes are prefetched to the host, until they are waited for.
    void prefetch_to_host(std::uint64_t memory, std::uint64_t bytes, std::uint64_t time);
    void wait(std::uint64_t memory, std::uint64_t time);
    /// The driver reported something of it: faults of the host, and bytes that moved, if it was that.
    void event(std::uint64_t memory, std::uint64_t host_faults, const MovedBytes& moved, std::uint64_t time);
    /// `share` of its pages, from 0 to 1, are the host's.
    void look(std::uint64_t memory, double share, std::uint64_t time);

    /// Since the last reading of the totals a kernel that reaches managed memory was launched or ran.
    void run(const facts::KernelSite& kernel);
    /// Since the last reading, unknown memory may have been used.
    void use_unknown();

    /// The totals have grown by so much since they were read last.
    void totals(const MovedBytes& moved, std::uint64_t time);
    /// Call once, at the end.
    void finish();

    /// Counts these bytes as guessed: the account has found that the line which got them cannot have moved
    /// them.
    void take_back(const MovedBytes& moved);
    /// The part of the totals that no memory can have moved.
    MovedBytes unassigned() const;
    /// The assigned bytes that memory of another line may have moved instead.
    MovedBytes guessed() const;
    /// True if nearly all that moved, each way, is assigned to some memory, and little of it by guess.
    bool closes() const;

private:
    struct Book; ///< memory and intervals
    std::unique_ptr<Book> book_;
};

} // namespace umadvisor::managed
