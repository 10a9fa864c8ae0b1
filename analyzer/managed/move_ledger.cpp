#include "analyzer/managed/move_ledger.hpp"

#include "analyzer/managed/managed_site.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace umadvisor::managed {
namespace {

constexpr std::uint64_t page_bytes = 4096, block_bytes = std::uint64_t{2} << 20;
/// Of what moved one way, what nobody was given or was given by guess: more says that the ledger is wrong.
constexpr double most_unsure = 0.05;

/// The end of the unit that `value` lies in; itself where that is no number.
std::uint64_t up(std::uint64_t value, std::uint64_t unit) {
    const std::uint64_t rest = value % unit;
    return rest == 0 || value > UINT64_MAX - unit ? value : value - rest + unit;
}

double positive(double value) {
    return std::max(value, 0.0);
}

} // namespace

namespace ledger {

struct Account {
    ManagedSiteActivity* site = nullptr;
    std::uint64_t address = 0;
    std::uint64_t first = 0, end = 0; ///< addresses, of the pages that hold it
    double pages = 0;                 ///< bytes of these
    double granule_rest = 0;          ///< bytes behind it in its last 64 KiB that are no other's
    double block_rest = 0;            ///< the same in its last 2 MiB
    double host = 0;                  ///< bytes that the host has, at the most
    double before_look = 0;           ///< the same, before a look corrected it
    double to_host = 0;               ///< bytes of prefetches that nobody has waited for
    bool was_there = false;           ///< on a device
    bool reached = false;             ///< by what nobody has waited for
    bool looked = false;              ///< `host` is exact
};

/// What happened to an account in an interval.
struct Entry {
    MovedBytes told;
    std::uint64_t host_faults = 0, to_host = 0;
    std::optional<double> host_share; ///< by the first look
    bool reached = false, touched = false, waited = false, closed = false;
};

struct Interval {
    std::uint64_t end = UINT64_MAX; ///< ticks
    MovedBytes moved;
    std::map<std::uint64_t, Entry> entries; ///< by number of the account
};

/// What an account gets of an interval.
struct Part {
    double to_device = 0, to_host = 0;
    std::optional<double> host_after; ///< as looked at
    Entry entry;
};
using Parts = std::map<std::uint64_t, Part>;

/// Of all that moved one way.
struct Sum {
    double all = 0, nobody = 0, guessed = 0;
    double ahead = 0; ///< told of moves that no reading of the totals has yet
    bool closes() const { return nobody + guessed <= most_unsure * all; }
};

enum class RoomKind : std::uint8_t { seen, likely };
using RoomOf = std::function<double(const Account&, const Part&)>;

} // namespace ledger

struct MoveLedger::Book {
    using Account = ledger::Account;
    using Entry = ledger::Entry;
    using Interval = ledger::Interval;
    using Part = ledger::Part;
    using Parts = ledger::Parts;
    using Sum = ledger::Sum;

    std::map<std::uint64_t, Account> accounts;
    std::map<std::uint64_t, std::uint64_t> by_address; ///< of live ones: number
    std::set<std::uint64_t> running; ///< reached, or prefetched to the host, and not waited for
    std::deque<Interval> open{1};
    std::uint64_t settled = 0; ///< ticks: what is not later has been shared
    bool any_settled = false;
    std::size_t entries = 0;
    std::uint64_t accounts_ever = 0;
    Sum to_device, to_host;

    void keep_apart(std::uint64_t number);
    void leave_address(std::uint64_t number);
    void erase(std::uint64_t number);
    Entry* entry(std::uint64_t account, std::uint64_t time);
    void settle_front();
    void apply_looks(const Interval& interval);
    Parts parts_of(const Interval& interval, const Interval* next);
    void enter(std::uint64_t number, const Part& part);
};

namespace {

using ledger::Account, ledger::Part, ledger::Parts, ledger::RoomKind, ledger::RoomOf, ledger::Sum;

/// Shares what moved one way in one interval. Where there is more room than is needed, and it is not only one
/// line's, that is a guess.
class Sharing {
public:
    Sharing(std::map<std::uint64_t, Account>& accounts, Parts& parts, double Part::*way, Sum& sum,
            std::uint64_t moved)
        : accounts_(accounts), parts_(parts), way_(way), sum_(sum), rest_(static_cast<double>(moved)) {
        sum_.all += rest_;
        rest_ -= std::exchange(sum_.ahead, 0);
        for (const auto& [number, part] : parts_)
            rest_ -= part.*way_;
        sum_.ahead = positive(-rest_);
        rest_ = positive(rest_);
    }
    ~Sharing() { sum_.nobody += rest_; }
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;

    double rest() const { return rest_; }

    double room(const RoomOf& room_of) const {
        double all = 0;
        for (const auto& [number, part] : parts_)
            all += positive(room_of(accounts_.at(number), part));
        return all;
    }

    void give(RoomKind kind, const RoomOf& room_of) {
        if (rest_ < 1)
            return;
        std::vector<std::pair<std::uint64_t, double>> rooms;
        std::set<const ManagedSiteActivity*> sites;
        double all = 0;
        for (const auto& [number, part] : parts_)
            if (const double each = room_of(accounts_.at(number), part); each > 0) {
                sites.insert(accounts_.at(number).site);
                rooms.emplace_back(number, each);
                all += each;
            }
        if (rooms.empty())
            return;
        const double given = std::min(rest_, all);
        for (const auto& [number, each] : rooms)
            parts_.at(number).*way_ += each * (given / all);
        if (sites.size() > 1 && kind == RoomKind::likely)
            sum_.guessed += std::min(given, all - given);
        rest_ -= given;
    }

    /// What lies behind the memory that moves along with it.
    double behind(double Account::*size) const { return room(room_behind(size)); }
    void give_behind(double Account::*size) { give(RoomKind::likely, room_behind(size)); }

    /// From here on memory is asked, too, that nothing is known to have used.
    void ask_all() {
        if (accounts_.size() <= MoveLedger::most_searched)
            for (const auto& [number, account] : accounts_)
                if (account.host > 0 || account.was_there)
                    parts_[number];
    }

private:
    RoomOf room_behind(double Account::*size) const {
        return [way = way_, size](const Account& account, const Part& part) {
            return part.*way > 0 ? account.*size : 0;
        };
    }

    std::map<std::uint64_t, Account>& accounts_;
    Parts& parts_;
    double Part::*way_;
    Sum& sum_;
    double rest_;
};

bool reached(const Account& account, const Part& part) {
    return account.reached || part.entry.touched;
}

/// That the host asked for.
double asked_for(const Account& account, const Part& part) {
    return static_cast<double>(part.entry.host_faults) * static_cast<double>(block_bytes) + account.to_host;
}

/// What the host faulted on or what is prefetched to it; else what was evicted.
void share_to_host(Sharing share, bool both_ways) {
    share.give(RoomKind::seen, [](const Account& account, const Part& part) {
        return account.was_there && account.looked && part.host_after
                   ? *part.host_after - account.host - part.to_host
                   : 0;
    });
    share.give(RoomKind::likely, [both_ways](const Account& account, const Part& part) {
        const double there = both_ways && account.reached ? asked_for(account, part)
                                                          : account.pages - (account.looked ? account.host : 0);
        return account.was_there ? std::min(asked_for(account, part), there) - part.to_host : 0;
    });
    share.give(RoomKind::likely, [](const Account& account, const Part& part) {
        return account.was_there ? 0 : std::min(asked_for(account, part), account.pages) - part.to_host;
    });
    share.give_behind(&Account::granule_rest);
    share.give_behind(&Account::block_rest);
    if (share.rest() < page_bytes)
        return;
    share.ask_all();
    share.give(RoomKind::likely, [](const Account& account, const Part& part) {
        return account.was_there && part.entry.host_faults == 0 ? account.pages - account.host - part.to_host
                                                                : 0;
    });
}

/// What launches reach; else what their kernels may have found through pointers.
void share_to_device(Sharing share) {
    const auto there = [](const Account& account, const Part& part) {
        return (account.site->read_mostly ? account.pages : std::max(account.host, account.before_look)) +
               part.to_host - part.to_device;
    };
    share.give(RoomKind::seen, [](const Account& account, const Part& part) {
        return reached(account, part) && part.host_after
                   ? account.host + part.to_host - *part.host_after - part.to_device
                   : 0;
    });
    share.give(RoomKind::likely, [&there](const Account& account, const Part& part) {
        return reached(account, part) && !part.host_after ? there(account, part) : 0;
    });
    share.give(RoomKind::likely, [&there](const Account& account, const Part& part) {
        return reached(account, part) ? there(account, part) : 0;
    });
    if (share.rest() < page_bytes)
        return;
    const double in_granules = share.behind(&Account::granule_rest),
                 in_blocks = share.behind(&Account::block_rest);
    share.ask_all();
    const RoomOf of_others = [&there](const Account& account, const Part& part) {
        return reached(account, part) ? 0 : there(account, part);
    };
    const double others = share.room(of_others);
    // They explain all of it, with no more than the rest of granules.
    if (others > 0 && others <= share.rest() && share.rest() - others <= in_granules)
        share.give(RoomKind::likely, of_others);
    share.give_behind(&Account::granule_rest);
    if (share.rest() > in_blocks)
        share.give(RoomKind::likely, of_others);
    share.give_behind(&Account::block_rest);
}

} // namespace

MoveLedger::MoveLedger() : book_(std::make_unique<Book>()) {}
MoveLedger::~MoveLedger() = default;
MoveLedger::MoveLedger(MoveLedger&&) noexcept = default;
MoveLedger& MoveLedger::operator=(MoveLedger&&) noexcept = default;

std::uint64_t MoveLedger::open(std::uint64_t address, std::uint64_t bytes, ManagedSiteActivity& site) {
    const std::uint64_t number = ++book_->accounts_ever;
    Account& account = book_->accounts[number];
    account.site = &site;
    account.address = address;
    account.first = address / page_bytes * page_bytes;
    account.end = up(reader::saturated_sum(address, bytes), page_bytes);
    account.pages = static_cast<double>(account.end - account.first);
    account.granule_rest = static_cast<double>(up(account.end, granule) - account.end);
    account.block_rest = static_cast<double>(up(account.end, block_bytes) - account.end);
    book_->keep_apart(number);
    return number;
}

/// What lies behind memory ends where other memory begins.
void MoveLedger::Book::keep_apart(std::uint64_t number) {
    Account& account = accounts.at(number);
    const auto limit = [](Account& before, const Account& behind) {
        const double most = behind.first > before.end ? static_cast<double>(behind.first - before.end) : 0;
        before.granule_rest = std::min(before.granule_rest, most);
        before.block_rest = std::min(before.block_rest, most);
    };
    const auto here = by_address.insert_or_assign(account.address, number).first;
    if (here != by_address.begin())
        limit(accounts.at(std::prev(here)->second), account);
    if (std::next(here) != by_address.end())
        limit(account, accounts.at(std::next(here)->second));
}

void MoveLedger::Book::leave_address(std::uint64_t number) {
    const auto at = by_address.find(accounts.at(number).address);
    if (at != by_address.end() && at->second == number)
        by_address.erase(at);
}

/// nullptr: its interval has been shared, or the account is no more.
ledger::Entry* MoveLedger::Book::entry(std::uint64_t account, std::uint64_t time) {
    if ((any_settled && time <= settled) || !accounts.contains(account))
        return nullptr;
    auto interval = std::ranges::lower_bound(open, time, {}, &Interval::end); // the last has no end
    const auto [found, fresh] = interval->entries.try_emplace(account);
    entries += fresh;
    return &found->second;
}

void MoveLedger::close(std::uint64_t account, std::uint64_t time) {
    if (!book_->accounts.contains(account))
        return;
    book_->leave_address(account);
    if (ledger::Entry* const entry = book_->entry(account, time))
        entry->closed = true;
    else
        book_->erase(account);
}

void MoveLedger::reach(std::uint64_t account, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time)) {
        entry->reached = true;
        entry->waited = false;
    }
}

void MoveLedger::touch(std::uint64_t account, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time))
        entry->touched = true;
}

void MoveLedger::prefetch_to_host(std::uint64_t account, std::uint64_t bytes, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time)) {
        reader::add_saturated(entry->to_host, bytes);
        entry->waited = false;
    }
}

void MoveLedger::wait(std::uint64_t account, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time))
        entry->waited = true;
}

void MoveLedger::host_faults(std::uint64_t account, std::uint64_t count, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time))
        reader::add_saturated(entry->host_faults, count);
}

void MoveLedger::look(std::uint64_t account, double share, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time); entry != nullptr && !entry->host_share)
        entry->host_share = share;
}

void MoveLedger::told(std::uint64_t account, const MovedBytes& moved, std::uint64_t time) {
    if (ledger::Entry* const entry = book_->entry(account, time)) {
        reader::add_saturated(entry->told.to_device, moved.to_device);
        reader::add_saturated(entry->told.to_host, moved.to_host);
    }
}

void MoveLedger::totals(const MovedBytes& moved, std::uint64_t time) {
    book_->open.back().end = time;
    book_->open.back().moved = moved;
    book_->open.emplace_back();
    while (book_->open.size() > 2 && (book_->open.size() > most_open || book_->entries > most_entries))
        book_->settle_front();
}

void MoveLedger::finish() {
    while (!book_->open.empty())
        book_->settle_front();
}

/// What was seen when the interval began.
void MoveLedger::Book::apply_looks(const Interval& interval) {
    for (const auto& [number, entry] : interval.entries) {
        const auto found = accounts.find(number);
        if (found == accounts.end())
            continue;
        Account& account = found->second;
        account.before_look = account.host;
        if (entry.host_share)
            account.host = *entry.host_share * account.pages;
        account.looked = account.looked || entry.host_share.has_value();
    }
}

ledger::Parts MoveLedger::Book::parts_of(const Interval& interval, const Interval* next) {
    Parts parts;
    for (const std::uint64_t number : running) { // what has all of it where it is wanted has no part
        const Account& account = accounts.at(number);
        if (account.host > 0 || account.before_look > 0 || account.to_host > 0)
            parts[number];
    }
    for (const auto& [number, entry] : interval.entries)
        if (accounts.contains(number))
            parts[number].entry = entry;
    for (auto& [number, part] : parts) {
        Account& account = accounts.at(number);
        account.reached = account.reached || part.entry.reached;
        account.to_host += static_cast<double>(part.entry.to_host);
        part.to_device = static_cast<double>(part.entry.told.to_device);
        part.to_host = static_cast<double>(part.entry.told.to_host);
        if (next == nullptr)
            continue;
        const auto later = next->entries.find(number);
        if (later != next->entries.end() && later->second.host_share)
            part.host_after = *later->second.host_share * account.pages;
    }
    return parts;
}

void MoveLedger::Book::enter(std::uint64_t number, const Part& part) {
    Account& account = accounts.at(number);
    reader::add_saturated(account.site->by_intervals.to_device, reader::saturated(part.to_device + 0.5));
    reader::add_saturated(account.site->by_intervals.to_host, reader::saturated(part.to_host + 0.5));
    // The host may have made all of what it faulted on before a device had it.
    if (!account.was_there && (part.entry.host_faults != 0 || part.entry.touched))
        account.host = account.pages;
    const double gone = account.site->read_mostly ? 0 : part.to_device;
    account.host = std::clamp(account.host + part.to_host - gone, 0.0, account.pages);
    account.before_look = account.host;
    account.looked = account.looked && part.entry.host_faults == 0 && !part.entry.touched;
    account.was_there = account.was_there || account.reached || part.to_device > 0;
    if (part.entry.waited) {
        account.reached = false;
        account.to_host = 0;
    }
    if (account.reached || account.to_host > 0)
        running.insert(number);
    else
        running.erase(number);
    if (part.entry.closed)
        erase(number);
}

void MoveLedger::Book::erase(std::uint64_t number) {
    running.erase(number);
    accounts.erase(number);
}

void MoveLedger::Book::settle_front() {
    const Interval& interval = open.front();
    apply_looks(interval);
    Parts parts = parts_of(interval, open.size() > 1 ? &open[1] : nullptr);
    share_to_host({accounts, parts, &Part::to_host, to_host, interval.moved.to_host},
                  interval.moved.to_device != 0);
    share_to_device({accounts, parts, &Part::to_device, to_device, interval.moved.to_device});
    for (const auto& [number, part] : parts)
        enter(number, part);
    settled = interval.end;
    any_settled = true;
    entries -= interval.entries.size();
    open.pop_front();
}

MovedBytes MoveLedger::untold() const {
    return {reader::saturated(book_->to_device.nobody), reader::saturated(book_->to_host.nobody)};
}

bool MoveLedger::closes() const {
    return book_->to_device.closes() && book_->to_host.closes();
}

} // namespace umadvisor::managed
