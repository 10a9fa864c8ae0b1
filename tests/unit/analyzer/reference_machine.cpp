#include "reference_machine.hpp"

#include <algorithm>
#include <limits>

namespace reference {

bool Machine::is_left_out(Site site) const {
    return std::ranges::find(left_out, site) != left_out.end();
}

Call Machine::begin(Site site, double least) const {
    Call call;
    call.site = {umadvisor::ids::StackId(static_cast<std::uint64_t>(site)), 1};
    call.start = now;
    call.thread = thread;
    call.least_ns = least;
    return call;
}

/// Of which the clock knows nothing but that it is alike to other work of its group.
Call Machine::begin_work(Site site, std::uint32_t stream, std::uint64_t group) {
    Call call = begin(site, 2 * us);
    call.stream = place(stream);
    call.queues = Queues::work;
    const auto number_of = [this](std::uint64_t key) {
        return groups_.try_emplace(key, groups_.size() + 1).first->second;
    };
    const std::uint64_t kin = group * 2 + 1;
    call.kin = number_of(kin);
    call.group = number_of(kin ^ (static_cast<std::uint64_t>(site) << 56U));
    call.expected_ns = 3 * us;
    call.doubt = 10;
    return call;
}

/// Work runs when the device knows of it, what is before it in order is done, and its engine is free.
double Machine::queue(const Call& call, double from, double ns) {
    constexpr std::uint32_t own = 499;
    const StreamPlace at = std::ranges::find(apart, static_cast<Site>(call.site.stack.number())) == apart.end()
                               ? call.stream
                               : place(own);
    const std::uint32_t stream = at.number;
    double start = std::max(from, ends_[stream]);
    if (at.legacy)
        start = std::max(start, blocking_);
    else if (at.blocking)
        start = std::max(start, ends_[0]);
    double& engine = engines_[static_cast<std::size_t>(call.engine)];
    if (call.engine != Engine::none)
        start = std::max(start, engine);
    const double done = start + ns;
    if (call.engine != Engine::none)
        engine = done;
    ends_[stream] = done;
    if (at.blocking && !at.legacy)
        blocking_ = std::max(blocking_, done);
    all_ = std::max(all_, done);
    return done;
}

double Machine::end_of(std::uint32_t stream) {
    return stream == 0 ? std::max(ends_[0], blocking_) : ends_[stream];
}

void Machine::end(Call& call, double at) {
    call.duration = at - now;
    now = at;
    if (clock_ != nullptr && call.site.stack != umadvisor::ids::StackId(static_cast<std::uint64_t>(unseen)))
        clock_->add(call);
}

void Machine::tell() {
    if (!tells_late)
        tell_all();
}

void Machine::tell_all() {
    for (const auto& [sample, ns] : measured_)
        if (clock_ != nullptr)
            clock_->measured(sample, ns);
    measured_.clear();
}

void Machine::launch(Call call, double ns, double measured) {
    call.wide = wide;
    if (measured != 0)
        call.sample = ++sample_;
    std::vector<double>& queued = queued_[call.stream.number];
    const double room = queued.size() < queue_length ? 0 : queued[queued.size() - queue_length];
    const double begun = std::max(now, room);
    queued.push_back(queue(call, begun + told, ns));
    const double waited = quick_launches ? begun - now : 0;
    end(call, begun - waited + 2 * us);
    now += waited;
    if (measured != 0)
        measured_.emplace_back(call.sample, measured);
}

void Machine::launch(double ns, std::uint32_t stream, double measured, Site site, std::uint64_t kind) {
    if (!is_left_out(site))
        launch(begin_work(site, stream, kind != 0 ? kind : static_cast<std::uint64_t>(ns)), ns, measured);
}

void Machine::launch_graph(std::uint64_t graph, double ns, std::uint32_t stream, double measured) {
    double& done = graphs_[graph];
    ends_[stream] = std::max(ends_[stream], done);
    Call call = begin_work(launches, stream, graph << 32U);
    call.event = static_cast<std::uint32_t>(1000 + graph);
    launch(call, ns, measured);
    done = ends_[stream];
}

void Machine::call_host(double ns, std::uint32_t stream) {
    Call call = begin_work(others, stream, 1U << 31U);
    ends_[stream] = std::max(ends_[stream], host_server_);
    host_server_ = queue(call, now + told, ns);
    end(call, now + us);
}

void Machine::copy_behind(Site site, Engine engine, std::uint64_t bytes, double ns, std::uint32_t stream,
                          double call_ns) {
    if (is_left_out(site))
        return;
    Call call = begin_work(site, stream, bytes * 8 + site);
    call.engine = engine;
    call.bytes = bytes;
    call.expected_ns = ns;
    call.doubt = 0.1;
    queue(call, now + told, ns);
    end(call, now + call_ns);
}

void Machine::upload_staged(Site site, std::uint64_t bytes, double staging_ns, std::uint32_t stream) {
    if (is_left_out(site))
        return;
    Call call = begin_work(site, stream, bytes * 8 + site);
    call.engine = Engine::up;
    call.bytes = bytes;
    call.expected_ns = staging_ns;
    call.doubt = 0.5;
    call.staged = true;
    queue(call, now + told, staging_ns);
    end(call, now + staging_ns);
}

void Machine::copy(Site site, Engine engine, std::uint64_t bytes, double ns, std::uint32_t stream) {
    if (is_left_out(site))
        return;
    Call call = begin_work(site, stream, bytes * 8 + site);
    call.waits = Waits::itself;
    call.engine = engine;
    call.bytes = bytes;
    call.expected_ns = 5 * us + static_cast<double>(bytes) / 20.0;
    call.doubt = 0.5;
    call.least_ns = us;
    end(call, queue(call, now, ns));
    tell();
}

void Machine::wait(std::uint32_t stream, Site site) {
    if (is_left_out(site))
        return;
    Call call = begin(site, us);
    call.stream = place(stream);
    call.waits = Waits::stream;
    end(call, std::max(now + us, end_of(stream) + wake));
    tell();
}

void Machine::wait_for_device(Site site) {
    if (is_left_out(site))
        return;
    Call call = begin(site, us);
    call.waits = Waits::device;
    end(call, std::max(now + us, all_ + wake));
    tell();
}

void Machine::wait_for_event(std::uint32_t event, Site site) {
    if (is_left_out(site))
        return;
    Call call = begin(site, us);
    call.event = event;
    call.waits = Waits::event;
    end(call, std::max(now + us, events_[event] + wake));
    tell();
}

void Machine::wait_for_passed(double ns, std::uint32_t event, Site site) {
    Call call = begin(site, us);
    call.event = event;
    call.waits = Waits::event;
    end(call, now + ns);
}

void Machine::free(double own_ns) {
    if (is_left_out(frees))
        return;
    Call call = begin(frees, own_ns);
    call.waits = Waits::device;
    call.surely_waits = false;
    end(call, std::max(now, all_) + own_ns);
    tell();
}

void Machine::free_in_order(double own_ns) {
    if (is_left_out(frees))
        return;
    Call call = begin(frees, own_ns);
    end(call, now + own_ns);
}

/// An event keeps what it stood for when it was recorded last.
void Machine::record(std::uint32_t event, std::uint32_t stream) {
    if (is_left_out(records))
        return;
    Call call = begin(records, us);
    call.stream = place(stream);
    call.event = event;
    call.queues = Queues::record;
    events_[event] = std::max(now + told, end_of(stream));
    end(call, now + us);
}

void Machine::join(std::uint32_t stream, std::uint32_t event) {
    if (is_left_out(joins))
        return;
    Call call = begin(joins, us);
    call.stream = place(stream);
    call.event = event;
    call.queues = Queues::join;
    ends_[stream] = std::max(ends_[stream], events_[event]);
    end(call, now + us);
}

/// The thread whose next step begins first goes on.
void Machine::run(const std::vector<std::vector<Step>>& threads) {
    std::vector<double> times(threads.size(), now);
    std::vector<std::size_t> next(threads.size());
    for (;;) {
        double first = std::numeric_limits<double>::infinity();
        std::size_t chosen = threads.size();
        for (std::size_t i = 0; i < threads.size(); ++i) {
            if (next[i] == threads[i].size())
                continue;
            const std::uint32_t after = threads[i][next[i]].after;
            if (after != 0 && !posts_.contains(after))
                continue;
            const double begin = after == 0 ? times[i] : std::max(times[i], posts_[after]);
            if (begin < first) {
                first = begin;
                chosen = i;
            }
        }
        if (chosen == threads.size())
            break;
        thread = static_cast<std::uint32_t>(chosen);
        now = first;
        threads[chosen][next[chosen]++].act(*this);
        times[chosen] = now;
    }
    now = *std::ranges::max_element(times);
}

namespace {

Change change(Site site, Change::What what) {
    return {.site = {umadvisor::ids::StackId(static_cast<std::uint64_t>(site)), 1}, .what = what};
}

} // namespace

Change gone(Site site) {
    return change(site, Change::What::gone);
}

Change asynchronous(Site site) {
    return change(site, Change::What::asynchronous);
}

Change own_stream(Site site) {
    return change(site, Change::What::own_stream);
}

Change shorter(Site site, double less_ns) {
    Change less = change(site, Change::What::shorter);
    less.less_ns = less_ns;
    return less;
}

double time_of(const Program& program, const std::vector<Site>& left_out) {
    Machine machine(nullptr);
    machine.left_out = left_out;
    program(machine);
    return machine.end();
}

std::vector<Gain> gains(const Program& program, const std::vector<Edit>& edits) {
    Clock earlier({});
    Machine first(&earlier);
    program(first);
    earlier.finish();
    Clock clock({}, edits);
    clock.know(earlier);
    Machine machine(&clock);
    program(machine);
    clock.finish();
    return clock.gains();
}

double predicted(const Program& program, const Edit& edit) {
    return gains(program, {edit}).at(0).saved_ns;
}

Accuracy accuracy(const Program& program, Site unseen, bool hidden) {
    Clock clock({}, {}, hidden);
    Machine machine(&clock);
    machine.unseen = unseen;
    program(machine);
    clock.finish();
    return clock.accuracy();
}

} // namespace reference
