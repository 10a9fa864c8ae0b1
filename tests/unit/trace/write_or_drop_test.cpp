/// Writes to what belongs to others: what cannot be written at once is dropped, and the process does not
/// notice.
#include "trace/write_or_drop.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using umadvisor::trace::write_or_drop;

const std::string line = "umadvisor: a line\n";

bool write_line(int descriptor, mode_t mode = 0) {
    return write_or_drop(descriptor, mode, line.data(), line.size());
}

/// Two connected descriptors that close themselves.
struct Ends {
    int reader = -1, writer = -1;

    explicit Ends(bool sockets = false) {
        int both[2];
        BOOST_TEST_REQUIRE((sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, both) : pipe(both)) == 0);
        reader = both[0];
        writer = both[1];
    }
    ~Ends() {
        close_reader();
        close(writer);
    }
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;

    void close_reader() {
        if (reader >= 0)
            close(reader);
        reader = -1;
    }
    void fill() const {
        const int flags = fcntl(writer, F_GETFL);
        fcntl(writer, F_SETFL, flags | O_NONBLOCK);
        for (char byte = 'x'; write(writer, &byte, 1) == 1;) {
        }
        fcntl(writer, F_SETFL, flags);
    }
    std::string read_all() const {
        fcntl(reader, F_SETFL, O_NONBLOCK);
        std::string text(1 << 20, '\0');
        const ssize_t got = read(reader, text.data(), text.size());
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return text;
    }
};

bool is_pending(int signal) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
}

sigset_t blocked_signals() {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return blocked;
}

/// Whether `good` holds in a child, whose signals have their default actions.
template <class Good>
bool holds_in_child(const Good& good) {
    const pid_t child = fork();
    if (child == 0) {
        for (const int signal : {SIGPIPE, SIGXFSZ})
            ::signal(signal, SIG_DFL);
        _exit(good() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void block(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

/// A file to which no more can be written.
int full_file() {
    char name[] = "/tmp/umadvisor-test-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    return file;
}

} // namespace

BOOST_AUTO_TEST_SUITE(trace_write_or_drop)

BOOST_AUTO_TEST_CASE(writes_where_there_is_room) {
    for (const bool sockets : {false, true}) {
        const Ends ends(sockets);
        BOOST_TEST(write_line(ends.writer, sockets ? S_IFSOCK : S_IFIFO));
        BOOST_TEST(ends.read_all() == line);
    }
}

BOOST_AUTO_TEST_CASE(raises_no_signal) {
    for (const bool sockets : {false, true})
        BOOST_TEST(holds_in_child([&] {
            Ends ends(sockets);
            ends.close_reader();
            return !write_line(ends.writer, sockets ? S_IFSOCK : S_IFIFO) && !is_pending(SIGPIPE);
        }));
    BOOST_TEST(holds_in_child([] {
        const int file = full_file();
        return !write_line(file, S_IFREG) && !is_pending(SIGXFSZ);
    }));
    BOOST_TEST(holds_in_child([] { // nor one that comes once the program unblocks it
        block(SIGXFSZ);
        const int file = full_file();
        return !write_line(file, S_IFREG) && !is_pending(SIGXFSZ);
    }));
}

BOOST_AUTO_TEST_CASE(a_signal_of_the_programs_stays_pending) {
    for (const int signal : {SIGPIPE, SIGXFSZ})
        BOOST_TEST(holds_in_child([&] {
            block(signal);
            raise(signal);
            const int file = full_file();
            return !write_line(file, S_IFREG) && is_pending(signal);
        }));
}

BOOST_AUTO_TEST_CASE(does_not_wait_and_changes_no_flag) {
    for (const bool sockets : {false, true}) {
        const Ends ends(sockets);
        ends.fill();
        const int flags = fcntl(ends.writer, F_GETFL);
        BOOST_TEST(!write_line(ends.writer, sockets ? S_IFSOCK : S_IFIFO));
        BOOST_TEST(fcntl(ends.writer, F_GETFL) == flags);
        BOOST_TEST(ends.read_all().find('u') == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(the_threads_signal_mask_stays) {
    const sigset_t before = blocked_signals();
    const Ends ends;
    write_line(ends.writer);
    const sigset_t after = blocked_signals();
    for (int signal = 1; signal < NSIG; ++signal)
        BOOST_TEST(sigismember(&before, signal) == sigismember(&after, signal));
}

BOOST_AUTO_TEST_SUITE_END()
