#include "interposer/act/pointees.hpp"

#include "interposer/observe/host_read.hpp"
#include "interposer/observe/pagemap.hpp"
#include "interposer/record/quiet.hpp"

#include <algorithm>
#include <cstdlib>

namespace umadvisor::act {

namespace {

/// Addresses of managed allocations that the words of some pages point into.
struct Found {
    std::uint64_t holder;
    std::uint64_t* addresses;
    std::uint32_t count, most;
    bool any_page;

    void add(std::uint64_t word) {
        observe::Allocation allocation;
        if (!observe::allocations().find(word, allocation) || allocation.memory != trace::Memory::managed ||
            allocation.id == holder || count == most)
            return;
        if (count == 0 || addresses[count - 1] != allocation.address)
            addresses[count++] = allocation.address;
    }

    void read(std::uint64_t first, std::uint64_t last) {
        any_page = true;
        std::uint64_t words[512];
        for (; first < last; first += sizeof words) {
            const std::uint64_t bytes = std::min<std::uint64_t>(sizeof words, last - first);
            if (!observe::read_host(words, first, bytes))
                return;
            for (std::uint64_t i = 0; i < bytes / sizeof *words; ++i)
                add(words[i]);
        }
    }
};

} // namespace

void Pointees::read(const observe::Allocation& holder) noexcept {
    if (holder.bytes > most_bytes)
        return;
    Holder& known = holders_[holder.id % slots];
    if (known.id != holder.id) {
        std::free(known.addresses);
        known = {holder.id, nullptr, 0, 0, 0};
    }
    if (known.count == 0 && known.idle_reads >= most_idle_reads)
        return;
    const record::Quiet quiet;
    observe::Pagemap pagemap;
    if (pagemap.trouble() != nullptr)
        return;
    const auto words = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, holder.bytes / 8));
    auto* const addresses = static_cast<std::uint64_t*>(std::malloc((words + 1) * sizeof(std::uint64_t)));
    if (addresses == nullptr)
        return;
    Found found{holder.id, addresses, 0, words, false};
    const std::uint64_t page = observe::Pagemap::page_bytes();
    struct Visit {
        Found& found;
        std::uint64_t first, last;
    } visit{found, holder.address, holder.address + holder.bytes};
    pagemap.visit_present(
        holder.address & ~(page - 1), (holder.address + holder.bytes + page - 1) & ~(page - 1),
        [](void* to, std::uint64_t from, std::uint64_t until) {
            const Visit& own = *static_cast<Visit*>(to);
            own.found.read(std::max(from, own.first), std::min(until, own.last));
        },
        &visit);
    if (!found.any_page) {
        std::free(addresses);
        return;
    }
    std::sort(addresses, addresses + found.count);
    std::free(known.addresses);
    known.addresses = addresses;
    known.settled = 0;
    known.count = static_cast<std::uint32_t>(std::unique(addresses, addresses + found.count) - addresses);
    known.idle_reads += known.count == 0;
}

std::uint32_t Pointees::list(std::uint64_t holder, std::uint32_t from, observe::Touched& out) const noexcept {
    const Holder& known = holders_[holder % slots];
    if (known.id != holder)
        return 0;
    for (; from < known.count && out.managed_count < observe::Touched::max_managed; ++from) {
        observe::Allocation& next = out.managed[out.managed_count];
        out.managed_count += observe::allocations().find(known.addresses[from], next) &&
                             next.address == known.addresses[from] && next.memory == trace::Memory::managed;
    }
    return from < known.count ? from : 0;
}

void Pointees::settle(std::uint64_t holder, std::uint64_t epoch) noexcept {
    if (Holder& known = holders_[holder % slots]; known.id == holder)
        known.settled = epoch;
}

bool Pointees::settled(std::uint64_t holder, std::uint64_t epoch) const noexcept {
    const Holder& known = holders_[holder % slots];
    return known.id != holder || known.count == 0 || known.settled == epoch;
}

void Pointees::forget(std::uint64_t holder) noexcept {
    Holder& known = holders_[holder % slots];
    if (known.id != holder)
        return;
    std::free(known.addresses);
    known = {};
}

} // namespace umadvisor::act
