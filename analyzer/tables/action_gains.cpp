#include "analyzer/tables/action_gains.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/ids/call_site.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace umadvisor::tables {
namespace {

constexpr std::size_t nearby = 8;       ///< rounds before one that was left alone, and as many after it
constexpr std::size_t most_rounds = 64; ///< that are kept of one kind
constexpr std::size_t most_alone = 1024;
constexpr std::size_t most_done = 256;
constexpr std::size_t fewest_before = 2; ///< rounds without advice
/// In the long run the driver throttles and pins memory that comes and goes twice as often as it calls
/// thrashing (500 us): a few rounds left alone do not show that.
constexpr double brief_ns = 1e6;
/// Rounds whose times differ by no more than this share of a round count as equally long.
constexpr double least_share = 0.02;
/// Rounds that differ by more than this many times their usual difference, do.
constexpr double spreads = 2 * 1.4826;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// The median distance of values from their median.
double spread(const std::vector<double>& values) {
    const double middle = median(values);
    std::vector<double> away;
    for (const double each : values)
        away.push_back(std::abs(each - middle));
    return median(away);
}

template <class Rounds, class Value>
std::vector<double> each(const Rounds& rounds, Value value) {
    std::vector<double> values;
    for (const auto& round : rounds)
        values.push_back(value(round));
    return values;
}

template <class Rounds>
std::vector<double> totals(const Rounds& rounds) {
    return each(rounds, [](const auto& round) { return round.total; });
}
template <class Rounds>
std::vector<double> hosts(const Rounds& rounds) {
    return each(rounds, [](const auto& round) { return round.host; });
}

bool differs(double difference, const std::vector<double>& others) {
    return std::abs(difference) > std::max(spreads * spread(others), least_share * median(others));
}

bool is_own(trace::Origin origin) {
    return origin == trace::Origin::umadvisor;
}

} // namespace

ActionGains::ActionGains(const reader::Dictionary& dictionary, double ns_per_tick)
    : dictionary_(dictionary), brief_(static_cast<std::uint32_t>(brief_ns / ns_per_tick)) {
    acts_ = std::ranges::any_of(dictionary.options, [](const trace::Option& option) {
        return option.option == "ACT" || option.option == "PLAN";
    });
}

ActionGains::Round ActionGains::round_until(const Site& site, const Thread& thread, std::uint64_t time) {
    const double total = static_cast<double>(time - std::min(time, site.begun));
    return {total, std::max(0.0, total - static_cast<double>(thread.calls - site.calls))};
}

void ActionGains::remember(Site& site, const Round& round, bool acted) {
    const auto keep = [&](std::deque<Round>& rounds) {
        rounds.push_back(round);
        if (rounds.size() > nearby)
            rounds.pop_front();
    };
    keep(site.last);
    if (site.relief == Relief::given && ++site.relieved <= most_rounds)
        site.after.push_back(round);
    if (!acted)
        return;
    ++site.acted;
    keep(site.last_acted);
    for (Compared& compared : site.compared)
        if (compared.to_come != 0) {
            compared.around.push_back(round);
            --compared.to_come;
        }
}

void ActionGains::close(Site& site, const Thread& thread, std::uint64_t time) {
    const Round round = round_until(site, thread, time);
    if (site.left) {
        if (site.alone.size() < most_alone)
            site.alone.push_back(round);
    } else if (!site.spoiled && site.rounds != 0) { // the first round pays for what is done once
        remember(site, round, site.prefetches != thread.prefetches);
    }
    ++site.rounds;
    site.spoiled = false;
}

/// The mean of the rounds that were left alone: the driver may serve faults differently in one of several
/// rounds. It excludes the first of many, which finds memory as prefetches left it, and the longest tenth,
/// which the machine may have disturbed.
ActionGains::Round ActionGains::usual(const Rounds& alone) {
    constexpr std::size_t many = 3;
    Rounds counted(alone.begin() + (alone.size() >= many ? 1 : 0), alone.end());
    std::ranges::sort(counted, {}, &Round::total);
    counted.resize(counted.size() - counted.size() / 10);
    Round sum;
    for (const Round& round : counted) {
        sum.total += round.total;
        sum.host += round.host;
    }
    const auto count = static_cast<double>(counted.size());
    return {sum.total / count, sum.host / count};
}

/// A launch at the site, or an action for it. Ends a round, and begins the next, where a wait came between.
ActionGains::Site& ActionGains::reach(ids::StackId stack, Thread& thread, std::uint64_t time) {
    Site& site = thread.sites[stack];
    if (site.open && site.waits == thread.waits)
        return site;
    if (site.open)
        close(site, thread, time);
    site.open = true;
    site.begun = time;
    site.waits = thread.waits;
    site.calls = thread.calls;
    site.prefetches = thread.prefetches;
    return site;
}

void ActionGains::launch(const trace::Launch& record, const reader::Shape* shape, std::uint32_t thread) {
    if (!acts_ || shape == nullptr || !shape->stack.known() || shape->captured)
        return;
    Thread& of = threads_[thread];
    reach(shape->stack, of, record.start);
    of.calls += record.duration;
}

void ActionGains::add(const trace::GraphLaunch& record, std::uint32_t thread) {
    if (!acts_ || !ids::StackId::of(record).known() || record.captured != 0)
        return;
    Thread& of = threads_[thread];
    reach(ids::StackId::of(record), of, record.start);
    of.calls += record.duration;
}

void ActionGains::add(const trace::Sync& record, std::uint32_t thread) {
    if (!acts_ || !facts::waits_for_work(record))
        return;
    Thread& of = threads_[thread];
    ++of.waits;
    of.calls += record.duration;
}

void ActionGains::add(const trace::Alloc& record, std::uint32_t) {
    if (!acts_)
        return;
    calls_.add(record, kind_of(record.reason), record.origin);
    const std::string_view entry = dictionary_.symbol(record.entry);
    if (entry.starts_with("cuMemAllocAsync") || entry.starts_with("cuMemAllocFromPoolAsync"))
        pools_.add(record);
}

void ActionGains::add(const trace::Pool& record, std::uint32_t) {
    if (acts_)
        pools_.add(record);
}

void ActionGains::add(const trace::Free& record, std::uint32_t) {
    if (acts_)
        calls_.add(record, kind_of(record.reason), trace::Origin::program);
}

void ActionGains::add(const trace::Prefetch& record, std::uint32_t thread) {
    if (acts_)
        calls_.add(record, kind_of(record.reason), record.origin);
    if (!is_own(record.origin) || !ids::StackId::of(record).known())
        return;
    acts_ = true;
    Thread& of = threads_[thread];
    const ActionKind kind = kind_of(record.reason);
    if (kind == ActionKind::prefetch_to_device)
        reach(ids::StackId::of(record), of, record.start);
    if (kind != ActionKind::prefetch_to_host)
        of.calls += record.duration;
    if (record.status != 0 || text_of(kind).measure != Measure::rounds)
        return;
    ++of.prefetches;
    const Done done{{kind, ids::StackId::of(record)}, record.start, record.bytes};
    for (const ids::StackId stack : of.compared)
        of.sites[stack].places[done.site] += done.bytes;
    of.done.push_back(done);
    if (of.done.size() > most_done)
        of.done.pop_front();
}

void ActionGains::add(const trace::Comparison& record, std::uint32_t thread) {
    acts_ = true;
    Thread& of = threads_[thread];
    if (record.leaves != 0) {
        const std::uint64_t last = of.sites[ids::StackId::of(record)].begun;
        Site& site = reach(ids::StackId::of(record), of, record.start);
        site.left = true;
        site.alone.clear();
        if (std::ranges::find(of.compared, ids::StackId::of(record)) != of.compared.end())
            return;
        for (const Done& done : of.done)
            if (done.start >= last && last != 0)
                site.places[done.site] += done.bytes;
        of.compared.push_back(ids::StackId::of(record));
        return;
    }
    Site& site = of.sites[ids::StackId::of(record)];
    if (!site.left)
        return;
    if (record.whole != 0)
        close(site, of, record.start);
    site.open = record.whole == 0;
    site.spoiled = site.open;
    site.left = false;
    if (record.whole != 0 && !site.alone.empty() && site.compared.size() < most_rounds)
        site.compared.push_back(
            {usual(site.alone), Rounds(site.last_acted.begin(), site.last_acted.end()), nearby});
}

void ActionGains::add(const trace::Advise& record, std::uint32_t thread) {
    if (acts_)
        calls_.add(record, kind_of(record.reason), record.origin);
    if (!is_own(record.origin) || !ids::StackId::of(record).known())
        return;
    acts_ = true;
    Thread& of = threads_[thread];
    of.calls += record.duration;
    const ActionKind kind = kind_of(record.reason);
    if (record.status != 0 || text_of(kind).measure != Measure::earlier)
        return;
    Site& site = reach(ids::StackId::of(record), of, record.start);
    if (record.reason == trace::Reason::no_relief) {
        site.relief = site.relief == Relief::given ? Relief::taken_back : site.relief;
    } else if (site.relief == Relief::none) {
        site.relief = Relief::given;
        site.given = kind;
        site.before.assign(site.last.begin(), site.last.end());
    }
}

void ActionGains::add(const trace::Copy& record, std::uint32_t thread) {
    const ActionKind kind = kind_of(record, dictionary_);
    if (!acts_ && kind == ActionKind::other)
        return;
    acts_ = true;
    if (kind == ActionKind::other || text_of(kind).measure == Measure::calls)
        calls_.add(record, kind, record.origin);
    Thread& of = threads_[thread];
    of.calls += record.duration;
    of.waits += record.asynchronous == 0;
    const bool left = record.reason == trace::Reason::compared || record.reason == trace::Reason::slower_staged;
    const bool acted = text_of(kind).measure == Measure::copies;
    if (record.status != 0 || record.bytes == 0 || (!acted && !left))
        return;
    const facts::Direction direction = facts::direction_of(record, dictionary_.symbol(record.entry));
    Copies& copies = copies_[{ids::StackId::of(record), direction, std::bit_width(record.bytes)}];
    const auto bytes = static_cast<double>(record.bytes);
    const auto ticks = static_cast<double>(record.duration - std::min(record.duration, record.wait_duration));
    if (acted) {
        Acted& to = copies.acted[kind];
        ++to.count;
        to.ticks += ticks;
        to.bytes += bytes;
    } else if (++copies.driver <= most_rounds) {
        copies.paces.push_back(ticks / bytes);
    }
}

/// Rounds of one loop are those of several launch sites: the gain of a prefetch is counted once, in the longest
/// round that holds it.
void ActionGains::tell_compared(const Thread& thread) {
    std::vector<const Site*> sites;
    for (const ids::StackId stack : thread.compared)
        if (const Site& site = thread.sites.at(stack); !site.compared.empty() && !site.last_acted.empty())
            sites.push_back(&site);
    std::ranges::stable_sort(sites,
                             [](const Site* a, const Site* b) { return a->places.size() > b->places.size(); });
    std::set<ActionSite> told;
    for (const Site* const site : sites) {
        if (std::ranges::any_of(site->places, [&](const auto& place) { return told.contains(place.first); }))
            continue;
        std::vector<double> gains, of_host;
        std::vector<double> others;
        for (const Compared& compared : site->compared) {
            if (compared.around.empty())
                continue;
            const std::vector<double> around = totals(compared.around);
            gains.push_back(compared.without.total - median(around));
            of_host.push_back(compared.without.host - median(hosts(compared.around)));
            others.insert(others.end(), around.begin(), around.end());
        }
        if (gains.empty())
            continue;
        const double gain = median(gains);
        const bool brief = median(others) + gain < brief_;
        const bool alike = !differs(gain, others);
        std::map<ActionKind, std::uint64_t> bytes;
        for (const auto& [place, moved] : site->places)
            bytes[place.kind] += std::max<std::uint64_t>(moved, 1);
        const double to_host =
            bytes.size() == 1 ? gain : std::clamp(median(of_host), std::min(0.0, gain), std::max(0.0, gain));
        for (const auto& [place, moved] : site->places) {
            told.insert(place);
            const double share =
                static_cast<double>(std::max<std::uint64_t>(moved, 1)) / static_cast<double>(bytes[place.kind]);
            const bool all = bytes.size() == 1 || place.kind == ActionKind::prefetch_to_host;
            ActionGain& to = sites_[place];
            to.ticks += alike || brief
                            ? 0
                            : share * (all ? to_host : gain - to_host) * static_cast<double>(site->acted);
            to.with += site->acted;
            to.without += gains.size();
            to.alike = alike;
            to.brief = brief;
        }
    }
}

void ActionGains::tell_relief(ids::StackId stack, const Site& site) {
    if (site.relief == Relief::none || site.before.size() < fewest_before || site.after.empty())
        return;
    const std::vector<double> before = totals(site.before), after = totals(site.after);
    const double gain = median(before) - median(after);
    ActionGain& to = sites_[{site.given, stack}];
    to.alike = !differs(gain, before);
    to.brief = median(before) < brief_;
    to.ticks += to.alike || to.brief ? 0 : gain * static_cast<double>(site.relieved);
    to.with += site.relieved;
    to.without += before.size();
}

void ActionGains::tell_copies() {
    struct Known {
        double gain = 0, ticks = 0, bytes = 0, all_bytes = 0;
        std::uint64_t with = 0, without = 0;
        bool alike() const { return std::abs(gain) <= least_share * ticks; }
    };
    std::map<ActionSite, Known> known;
    for (const auto& [key, copies] : copies_)
        for (const auto& [kind, acted] : copies.acted) {
            Known& of = known[{kind, std::get<0>(key)}];
            of.all_bytes += acted.bytes;
            if (copies.paces.empty())
                continue;
            of.gain += median(copies.paces) * acted.bytes - acted.ticks;
            of.ticks += acted.ticks;
            of.bytes += acted.bytes;
            of.with += acted.count;
            of.without += copies.driver;
        }
    for (const auto& [site, of] : known)
        if (2 * of.bytes >= of.all_bytes && of.without != 0) // else most have nothing like them
            sites_[site] = {.ticks = of.alike() ? 0 : of.gain * of.all_bytes / of.bytes,
                            .with = of.with,
                            .without = of.without,
                            .alike = of.alike()};
}

void ActionGains::finish() {
    for (const auto& [number, thread] : threads_) {
        tell_compared(thread);
        for (const auto& [stack, site] : thread.sites)
            tell_relief(stack, site);
    }
    tell_copies();
    for (const auto& gains : {calls_.gains(), pools_.gains()})
        for (const auto& [site, gain] : gains)
            sites_[site] = {.ticks = gain.alike ? 0 : gain.ticks,
                            .with = gain.with,
                            .without = gain.without,
                            .alike = gain.alike};
}

} // namespace umadvisor::tables
