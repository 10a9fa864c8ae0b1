#include "analyzer/managed/move_shares.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace umadvisor::managed::ledger {
namespace {

/// The largest part of what moved one way that may be unassigned or guessed. If it is more, the shares are
/// wrong.
constexpr double most_unsure = 0.05;

double positive(double value) {
    return std::max(value, 0.0);
}

enum class RoomKind : std::uint8_t { seen, likely };
/// Returns how many more bytes of the memory can have moved.
using RoomOf = std::function<double(const Memory&, const Part&)>;

/// Shares what moved one way in one interval. If more bytes can have moved than did, of memory of several
/// lines, the shares are guesses.
class Sharing {
public:
    Sharing(const ToShare& interval, Share Part::*way, Sum& sum, std::uint64_t moved)
        : memories_(interval.memories),
          parts_(interval.parts),
          only_(interval.only),
          way_(way),
          sum_(sum),
          rest_(static_cast<double>(moved)) {
        sum_.all += rest_;
        rest_ -= std::exchange(sum_.ahead, 0);
        for (const auto& [number, part] : parts_)
            rest_ -= (part.*way_).all;
        sum_.ahead = positive(-rest_);
        rest_ = positive(rest_);
    }
    ~Sharing() { sum_.unassigned += rest_; }
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;

    double rest() const { return rest_; }

    double room(const RoomOf& room_of) const {
        double all = 0;
        for (const auto& [number, part] : parts_)
            all += positive(room_of(memories_.at(number), part));
        return all;
    }

    void give(RoomKind kind, const RoomOf& room_of) {
        if (rest_ < 1)
            return;
        std::vector<std::pair<std::uint64_t, double>> rooms;
        std::map<const ManagedSiteActivity*, double> sites;
        double all = 0;
        for (const auto& [number, part] : parts_)
            if (const double each = room_of(memories_.at(number), part); each > 0) {
                sites[memories_.at(number).site] += each;
                rooms.emplace_back(number, each);
                all += each;
            }
        if (rooms.empty())
            return;
        const double given = std::min(rest_, all);
        const bool guess = sites.size() > 1 && kind == RoomKind::likely;
        for (const auto& [number, each] : rooms) {
            Share& share = parts_.at(number).*way_;
            share.all += each * (given / all);
            if (!guess)
                continue;
            // Had all others all that they may have, this line would have had the rest.
            const double line = sites.at(memories_.at(number).site), least = positive(given - (all - line));
            const double unsure = each * (given / all - least / line);
            share.guessed += unsure;
            sum_.may_be_others += unsure;
        }
        if (guess)
            sum_.guessed += std::min(given, all - given);
        rest_ -= given;
    }

    /// The rest goes to the one line whose memory was used.
    void give_only() {
        if (only_ == nullptr || rest_ < 1)
            return;
        add_unused();
        give(RoomKind::seen, [this](const Memory& memory, const Part& part) {
            return memory.site == only_ ? memory.pages - (part.*way_).all : 0;
        });
    }

    /// The driver moves whole granules and blocks: also bytes behind the end of the memory.
    double behind(double Memory::*size) const { return room(room_behind(size)); }
    void give_behind(double Memory::*size) { give(RoomKind::likely, room_behind(size)); }

    /// From here on, memory without a known use takes part, too.
    void add_unused() {
        if (memories_.size() <= most_searched)
            for (const auto& [number, memory] : memories_)
                if (memory.host > 0 || memory.was_there)
                    parts_[number];
    }

private:
    RoomOf room_behind(double Memory::*size) const {
        return [way = way_, size](const Memory& memory, const Part& part) {
            return (part.*way).all > 0 ? memory.*size : 0;
        };
    }

    Memories& memories_;
    Parts& parts_;
    const ManagedSiteActivity* only_;
    Share Part::*way_;
    Sum& sum_;
    double rest_;
};

bool reached(const Memory& memory, const Part& part) {
    return memory.reached || part.entry.touched;
}

/// Bytes that the host's faults and prefetches asked for.
double asked_for(const Memory& memory, const Part& part) {
    return static_cast<double>(part.entry.host_faults) * static_cast<double>(block_bytes) + memory.to_host;
}

/// Shares the rest among memory that no launch names: kernels find it through pointers that lie in other
/// memory.
void share_unreached(Sharing& share, const RoomOf& there) {
    const double in_granules = share.behind(&Memory::granule_rest),
                 in_blocks = share.behind(&Memory::block_rest);
    share.add_unused();
    const RoomOf of_others = [&there](const Memory& memory, const Part& part) {
        return reached(memory, part) ? 0 : there(memory, part);
    };
    const double others = share.room(of_others);
    // They explain all of it, with no more than the rest of granules.
    if (others > 0 && others <= share.rest() && share.rest() - others <= in_granules)
        share.give(RoomKind::likely, of_others);
    share.give_behind(&Memory::granule_rest);
    if (share.rest() > in_blocks)
        share.give(RoomKind::likely, of_others);
    share.give_behind(&Memory::block_rest);
}

} // namespace

bool Sum::closes() const {
    return unassigned + guessed <= most_unsure * all;
}

/// To the host went what it faulted on and what was prefetched to it; else what was evicted.
void share_to_host(const ToShare& interval, Sum& sum) {
    Sharing share(interval, &Part::to_host, sum, interval.moved.to_host);
    const bool both_ways = interval.moved.to_device != 0;
    share.give(RoomKind::seen, [](const Memory& memory, const Part& part) {
        return memory.was_there && memory.looked && part.host_after
                   ? *part.host_after - memory.host - part.to_host.all
                   : 0;
    });
    share.give(RoomKind::likely, [both_ways](const Memory& memory, const Part& part) {
        const double there = both_ways && memory.reached ? asked_for(memory, part)
                                                         : memory.pages - (memory.looked ? memory.host : 0);
        return memory.was_there ? std::min(asked_for(memory, part), there) - part.to_host.all : 0;
    });
    share.give(RoomKind::likely, [](const Memory& memory, const Part& part) {
        return memory.was_there ? 0 : std::min(asked_for(memory, part), memory.pages) - part.to_host.all;
    });
    share.give_behind(&Memory::granule_rest);
    share.give_behind(&Memory::block_rest);
    if (share.rest() >= page_bytes) {
        share.add_unused();
        share.give(RoomKind::likely, [](const Memory& memory, const Part& part) {
            return memory.was_there && part.entry.host_faults == 0
                       ? memory.pages - memory.host - part.to_host.all
                       : 0;
        });
    }
    share.give_only();
}

/// To the device went what launches reach; else what their kernels may have found through pointers.
void share_to_device(const ToShare& interval, Sum& sum) {
    Sharing share(interval, &Part::to_device, sum, interval.moved.to_device);
    const auto there = [](const Memory& memory, const Part& part) {
        return (memory.site->read_mostly ? memory.pages : std::max(memory.host, memory.before_look)) +
               part.to_host.all - part.to_device.all;
    };
    share.give(RoomKind::seen, [](const Memory& memory, const Part& part) {
        return reached(memory, part) && part.host_after
                   ? memory.host + part.to_host.all - *part.host_after - part.to_device.all
                   : 0;
    });
    share.give(RoomKind::likely, [&there](const Memory& memory, const Part& part) {
        return reached(memory, part) && !part.host_after ? there(memory, part) : 0;
    });
    share.give(RoomKind::likely, [&there](const Memory& memory, const Part& part) {
        return reached(memory, part) ? there(memory, part) : 0;
    });
    if (share.rest() >= page_bytes)
        share_unreached(share, there);
    share.give_only();
}

} // namespace umadvisor::managed::ledger
