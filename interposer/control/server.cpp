#include "interposer/control/server.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/control/address.hpp"
#include "interposer/control/answers.hpp"
#include "interposer/control/client.hpp"
#include "interposer/control/program_name.hpp"
#include "interposer/control/siblings.hpp"
#include "interposer/control/trigger_watch.hpp"
#include "interposer/control/waker.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/runtime/failures.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "interposer/runtime/recordings.hpp"
#include "interposer/runtime/window.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::control {

namespace {

/// In pages of its own. Belongs to its thread, but for what is atomic.
struct Server {
    static constexpr std::size_t most_clients = 16;
    static constexpr int most_losses = 8; ///< of our descriptors to the program, then the process is left alone

    Address address;
    OwnDescriptor listener; ///< none: only a trigger is watched
    Waker waker;
    Client clients[most_clients];
    Answering room;
    TriggerWatch trigger;
    int losses = 0;
    bool counts = false; ///< runtime::watch() is on

    std::atomic<bool> ending{false}; ///< the thread is to end
    std::atomic<bool> idle{true};    ///< it waits for something to do
};

constinit std::atomic<Server*> server{nullptr};
constinit std::atomic<pid_t> owner{0}; ///< its process

/// Calls are counted while any client asks for counters, and for a trigger that is about calls.
void count_for_watchers(Server& self) {
    bool wanted = self.trigger.needs_calls();
    for (const Client& client : self.clients)
        wanted = wanted || (client.is_open() && client.watches);
    if (wanted == self.counts)
        return;
    self.counts = wanted;
    runtime::watch(wanted);
}

/// The recording has ended: connections that held it end with it, so that their clients see it, and none holds
/// the next one. Not that of `asking`, which waits for its answer.
void end_holds(Server& self, const Client* asking = nullptr) {
    for (Client& client : self.clients)
        if (std::exchange(client.holds, false) && &client != asking) {
            client.socket.close();
            client.received = client.unread = 0;
            client.watches = false;
        }
}

void disconnect(Server& self, Client& client) {
    client.socket.close();
    client.received = client.unread = 0;
    client.watches = false;
    if (client.holds)
        runtime::stop(trace::PauseCause::attach, self.room.outcome);
    client.holds = false;
}

/// False: the connection is over.
bool answer_line(Server& self, Client& client, char* line, std::size_t bytes) {
    Request request;
    Wishes wishes;
    const char* const why = parse(line, bytes, request);
    self.room.trigger_rests = self.trigger.rests(record::monotonic_nanoseconds());
    const std::string_view text = why != nullptr ? refuse(why, self.room) : answer(request, self.room, wishes);
    if (wishes.hold)
        client.holds = true;
    if (request.command == "stop") // also where its trace lacks something
        end_holds(self, &client);
    if (wishes.watch && !client.watches) {
        client.watches = true;
        count_for_watchers(self);
    }
    return client.answer(text);
}

bool serve(Server& self, Client& client, short events) {
    if ((events & (POLLERR | POLLNVAL)) != 0 || !client.socket.is_ours())
        return false;
    if ((events & POLLOUT) != 0 && !client.send_kept())
        return false;
    if ((events & (POLLIN | POLLHUP)) == 0)
        return true;
    const bool open = client.receive();
    if ((events & POLLHUP) != 0) // the client has given up, and has reported that
        return false;
    for (;;) {
        char* line = nullptr;
        std::size_t bytes = 0;
        if (!client.next_line(line, bytes))
            return false;
        if (line == nullptr)
            break;
        if (!answer_line(self, client, line, bytes))
            return false;
        client.drop(bytes + 1);
    }
    return client.send_kept() && open;
}

bool is_of_our_user(int socket) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

void accept_one(Server& self) {
    const int socket = accept4(self.listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0)
        return;
    Client* const free = std::find_if(std::begin(self.clients), std::end(self.clients),
                                      [](const Client& client) { return !client.is_open(); });
    const bool ours = is_of_our_user(socket);
    if (ours && free != std::end(self.clients)) {
        free->socket.adopt(socket);
        return;
    }
    if (ours) {
        const std::string_view text = refuse("too many clients", self.room);
        send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ::close(socket);
}

/// What the program has closed is made again, a few times. Clients have to connect anew. False: enough.
bool keep_descriptors(Server& self) {
    const bool listens = !self.listener.is_open() || self.listener.is_ours();
    if (listens && self.waker.is_ours())
        return true;
    for (Client& client : self.clients)
        if (client.is_open() && !client.socket.is_ours())
            disconnect(self, client);
    if (++self.losses > Server::most_losses)
        return false;
    return self.waker.renew() && (listens || self.address.listen(self.listener) == nullptr);
}

/// Nanoseconds until there is something to do by the clock.
std::uint64_t longest_wait(Server& self) {
    std::uint64_t due = ~std::uint64_t{0};
    self.room.state.ends = 0;
    self.room.state.recording = false;
    runtime::read_state(self.room.state);
    if (self.room.state.recording && self.room.state.ends != 0)
        due = self.room.state.ends;
    if (self.trigger.is_set())
        due = std::min(due, self.trigger.next());
    const std::uint64_t now = record::monotonic_nanoseconds();
    const std::uint64_t by_clock = due == ~std::uint64_t{0} ? runtime::any_sleep : due > now ? due - now : 0;
    return std::min(by_clock, runtime::longest_sleep_now());
}

int poll_timeout(std::uint64_t nanoseconds) {
    if (nanoseconds == runtime::any_sleep)
        return -1;
    return static_cast<int>(std::min<std::uint64_t>((nanoseconds + 999'999) / 1'000'000, INT_MAX));
}

/// The condition has held: recorded for as long as the options say; a ring is written.
void fire(Server& self, std::string_view condition) {
    char why[256]; // a condition is short
    const std::size_t bytes = std::min(condition.size(), sizeof why - 1);
    std::memcpy(why, condition.data(), bytes);
    why[bytes] = '\0';
    if (self.room.state.ring) {
        char note[sizeof why + 32];
        std::snprintf(note, sizeof note, "condition held: %s", why);
        runtime::snapshot("", false, note, self.room.outcome);
    } else {
        runtime::Request& wanted = self.room.wanted;
        wanted = {};
        wanted.for_ns = runtime::options().when_duration_ns;
        wanted.cause = trace::PauseCause::trigger;
        wanted.why = why;
        runtime::start(wanted, self.room.outcome);
    }
    if (self.room.outcome.error != nullptr)
        runtime::say("%s holds, but no trace was begun: %s", why, self.room.outcome.error);
    else
        runtime::say("%s holds: %s %s", why,
                     self.room.state.ring ? "wrote the last part of the run to" : "records to",
                     self.room.outcome.file);
}

void keep_time(Server& self) {
    runtime::RecordingState& state = self.room.state;
    runtime::read_state(state);
    const std::uint64_t now = record::monotonic_nanoseconds();
    if (state.recording && state.ends != 0 && state.ends <= now) {
        runtime::stop_if_over();
        end_holds(self);
        runtime::read_state(state);
    }
    if (!self.trigger.is_due(now))
        return;
    const bool idle = state.recording ? state.ring : state.standby; // a ring that was stopped stays so
    take(self.room.sample);
    if (const std::string_view condition = self.trigger.look(self.room.sample, idle); !condition.empty())
        fire(self, condition);
}

/// Ends the socket: from here on no client reaches the process.
void withdraw(Server& self) {
    self.address.remove();
    self.listener.close();
    for (Client& client : self.clients)
        disconnect(self, client);
    count_for_watchers(self);
}

/// Waits until there is something to do. False: the thread ends.
bool wait(Server& self, pollfd* polled, nfds_t count) {
    const std::uint64_t nanoseconds = longest_wait(self);
    self.idle.store(true);
    if (!self.ending.load())
        poll(polled, count, poll_timeout(nanoseconds));
    self.idle.store(false);
    // The filter of a program that has confined all its threads may kill it for anything else.
    if (self.ending.load() || record::is_confined())
        return false;
    if (keep_descriptors(self))
        return true;
    withdraw(self);
    return false;
}

/// Sleeps until there is something to do, and does it. False: the thread ends.
bool run_round(Server& self) {
    constexpr std::size_t own = Waker::polled + 1;
    pollfd polled[own + Server::most_clients];
    self.waker.poll_for(polled);
    pollfd& listener = polled[Waker::polled];
    listener = {self.listener.number(), POLLIN, 0}; // a negative number is left out
    for (std::size_t i = 0; i < Server::most_clients; ++i) {
        const Client& client = self.clients[i];
        const int events = POLLIN | (client.unread != 0 ? POLLOUT : 0);
        polled[own + i] = {client.socket.number(), static_cast<short>(events), 0};
    }
    if (!wait(self, polled, std::size(polled)))
        return false;
    self.waker.clear();
    for (std::size_t i = 0; i < Server::most_clients; ++i)
        if (polled[own + i].revents != 0 && !serve(self, self.clients[i], polled[own + i].revents))
            disconnect(self, self.clients[i]);
    count_for_watchers(self);
    if (listener.revents != 0)
        accept_one(self);
    runtime::snapshot_after_failure();
    keep_time(self);
    runtime::end_if_program_is_over();
    return true;
}

void run(void* its_server) noexcept {
    Server& self = *static_cast<Server*>(its_server);
    record::seat.inside_wrapper = true; // what the driver calls for us is not the program's
    count_for_watchers(self);
    while (run_round(self)) {
    }
    self.idle.store(true);
}

void ask_to_end(void* its_server) noexcept {
    Server& self = *static_cast<Server*>(its_server);
    self.ending.store(true);
    self.waker.wake();
}

void wake_up(void* its_server) noexcept {
    static_cast<Server*>(its_server)->waker.wake();
}

bool wants_socket() {
    return std::strcmp(runtime::options().control, "0") != 0;
}

/// A program that may open fewer files needs each of them.
constexpr rlim_t least_files = 64;

/// Null, or why the process cannot be reached.
const char* open(Server& self) {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < least_files)
        return "it may open few files (ulimit -n)";
    if (!self.waker.renew())
        return "no socket can be made";
    if (!wants_socket())
        return nullptr;
    if (const char* const why = self.address.choose(runtime::options().control))
        return why;
    return self.address.listen(self.listener);
}

} // namespace

void begin() noexcept {
    const runtime::Options& options = runtime::options();
    if ((!wants_socket() && options.when[0] == '\0' && !options.ring.any()) || record::is_confined())
        return;
    const record::Quiet quiet;
    void* const pages = base::map_pages(sizeof(Server));
    if (pages == nullptr)
        return;
    Server* const self = new (pages) Server;
    remember_program_name();
    self->trigger.begin(options.when, options.when_limit, record::monotonic_nanoseconds());
    if (const char* const why = open(*self)) {
        const char* const place = self->address.words();
        if (*place == '\0')
            runtime::say("the process cannot be reached while it runs: %s", why);
        else
            runtime::say(
                "the process cannot be reached while it runs: %s (%s); UMADVISOR_CONTROL names another folder",
                why, place);
        if (!self->trigger.is_set())
            return;
    }
    owner.store(getpid());
    server.store(self);
    if (!runtime::start_own_thread(
            {&run, &ask_to_end, "umadvisor-ctl", self, runtime::Faults::blocked, &wake_up})) {
        server.store(nullptr);
        self->address.remove();
        self->listener.close();
    }
    if (self->listener.is_open())
        ask_siblings_when_memory_lacks(self->address);
}

void wake() noexcept {
    if (Server* const self = server.load(); self != nullptr && owner.load() == getpid())
        self->waker.wake();
}

void end() noexcept {
    Server* const self = server.load();
    if (self == nullptr || owner.load() != getpid() || record::is_confined())
        return;
    const record::Quiet quiet;
    server.store(nullptr);
    self->address.remove();
    ask_to_end(self);
    constexpr int most_naps = 1000;
    for (int naps = 0; naps < most_naps && !self->idle.load(); ++naps) {
        const timespec millisecond{0, 1'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &millisecond, nullptr);
    }
}

void forget() noexcept {
    Server* const self = server.exchange(nullptr);
    if (self == nullptr || record::is_confined())
        return;
    self->listener.close();
    self->waker.close();
    for (Client& client : self->clients)
        client.socket.close();
}

} // namespace umadvisor::control
