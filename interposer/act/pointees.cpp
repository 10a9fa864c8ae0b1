#include "interposer/act/pointees.hpp"

#include "interposer/observe/host_read.hpp"
#include "interposer/observe/pagemap.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace umadvisor::act {

/// Addresses of managed allocations that the words of some pages point into.
struct Pointees::Found {
    std::uint64_t holder;
    std::uint64_t* addresses; ///< owned
    std::uint32_t count, most;
    bool any_page;

    void add(std::uint64_t word) noexcept {
        observe::Allocation allocation;
        if (!observe::allocations().find(word, allocation) || allocation.memory != trace::Memory::managed ||
            allocation.id == holder || count == most)
            return;
        if (count == 0 || addresses[count - 1] != allocation.address)
            addresses[count++] = allocation.address;
    }

    void read(std::uint64_t first, std::uint64_t last) noexcept {
        any_page = true;
        struct Words {
            std::uint64_t all[512];
        };
        const record::OffStack<Words> read_words;
        auto& words = read_words->all;
        for (; first < last; first += sizeof words) {
            const std::uint64_t bytes = std::min<std::uint64_t>(sizeof words, last - first);
            if (!record::read_checked(words, first, bytes))
                return;
            for (std::uint64_t i = 0; i < bytes / sizeof *words; ++i)
                add(words[i]);
        }
    }
};

Pointees::Holder* Pointees::open(const observe::Allocation& holder) noexcept {
    if (holder.bytes > most_bytes)
        return nullptr;
    Holder& known = holders_[holder.id % slots];
    if (known.id != holder.id) {
        if (known.count != 0 && holder.memory != trace::Memory::managed)
            return nullptr; // most copies to device memory hold no addresses, so they must not evict a holder
        std::free(known.addresses);
        known = {holder.id, nullptr, 0, 0, 0};
    }
    return known.count == 0 && known.idle_reads >= most_idle_reads ? nullptr : &known;
}

bool Pointees::make(const Holder& known, std::uint64_t words, Found& found) noexcept {
    const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, words));
    found = {known.id, static_cast<std::uint64_t*>(std::malloc((room + 1) * sizeof(std::uint64_t))), 0, room,
             false};
    return found.addresses != nullptr;
}

void Pointees::keep(Holder& known, Found& found) noexcept {
    std::sort(found.addresses, found.addresses + found.count);
    std::free(known.addresses);
    known.addresses = found.addresses;
    known.settled = 0;
    known.count = static_cast<std::uint32_t>(std::unique(known.addresses, known.addresses + found.count) -
                                             known.addresses);
    if (known.count == 0) {
        std::free(std::exchange(known.addresses, nullptr));
        ++known.idle_reads;
    }
}

void Pointees::read(const observe::Allocation& holder) noexcept {
    Holder* const known = open(holder);
    if (known == nullptr)
        return; // before Pagemap opens a file
    const record::Quiet quiet;
    observe::Pagemap pagemap;
    Found found;
    if (pagemap.trouble() != nullptr || !make(*known, holder.bytes / 8, found))
        return;
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
    if (found.any_page)
        keep(*known, found);
    else
        std::free(found.addresses);
}

bool Pointees::copied(const observe::Allocation& holder, std::uint64_t destination, std::uint64_t source,
                      std::uint64_t bytes) noexcept {
    if (!observe::may_read_host(source, bytes))
        return false;
    Holder* const known = open(holder);
    const record::Quiet quiet;
    Found found;
    const bool anew = destination == holder.address; // a copy into its middle adds to the pointees
    if (known == nullptr || !make(*known, bytes / 8 + (anew ? 0 : known->count), found))
        return false;
    const std::uint64_t unaligned = (8 - destination % 8) % 8;
    if (bytes > unaligned)
        found.read(source + unaligned, source + bytes);
    for (std::uint32_t i = 0; !anew && i < known->count; ++i)
        found.add(known->addresses[i]);
    keep(*known, found);
    return known->count != 0;
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
