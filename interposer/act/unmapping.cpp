#include "interposer/act/unmapping.hpp"

#include "interposer/observe/host_ranges.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/high_descriptor.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/runtime/own_thread.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace umadvisor::act {

namespace {

constexpr std::uint64_t longest_read = 10'000'000; ///< ns
constexpr int no_descriptor = -1;

/// What the thread reads and writes without a lock: the program's threads wait for it, and may hold any.
struct WatchedPages {
    std::atomic<std::uint64_t> first{0}, last{0}; ///< both 0: none
    std::atomic<bool> changed{false};
};
constinit WatchedPages watched_pages[most_watched];
constinit std::atomic<int> event_file{no_descriptor};
constinit std::atomic<bool> reading{false}; ///< events that have been read may not be marked yet
constinit std::atomic<bool> reader_is_to_end{false};
constinit std::atomic<int> reader_refused{0}; ///< errno
constinit std::atomic_flag reader_is_tried{};

void mark_changed(std::uint64_t first, std::uint64_t last) {
    for (WatchedPages& each : watched_pages)
        if (each.first.load() < last && first < each.last.load())
            each.changed.store(true);
}

void mark_all_changed() {
    mark_changed(0, ~std::uint64_t{0});
}

bool forget_pages(int file, std::uint64_t first, std::uint64_t last) {
    uffdio_range range{first, last - first};
    return ioctl(file, UFFDIO_UNREGISTER, &range) == 0;
}

void mark(const uffd_msg& message, int file) {
    const auto& arg = message.arg;
    if (message.event == UFFD_EVENT_REMOVE || message.event == UFFD_EVENT_UNMAP) {
        mark_changed(arg.remove.start, arg.remove.end);
    } else if (message.event == UFFD_EVENT_REMAP) { // the new place is watched, too
        mark_changed(arg.remap.from, arg.remap.from + arg.remap.len);
        forget_pages(file, arg.remap.to, arg.remap.to + arg.remap.len);
    }
}

/// The program's thread goes on as soon as read() has its event, so `reading` covers both.
void read_event(int file) {
    uffd_msg message{};
    reading.store(true);
    if (read(file, &message, sizeof message) == static_cast<ssize_t>(sizeof message))
        mark(message, file);
    reading.store(false);
}

/// A thread that unmaps would wait for ever if pages were watched, and nothing read the events.
void stop_watching(int file) {
    event_file.store(no_descriptor);
    for (WatchedPages& each : watched_pages)
        if (each.last.load() != 0) {
            each.changed.store(true);
            forget_pages(file, each.first.load(), each.last.load());
        }
    for (pollfd more{file, POLLIN, 0}; poll(&more, 1, 0) > 0 && (more.revents & POLLIN) != 0;)
        read_event(file);
    close(file);
}

void read_events(void*) noexcept {
    record::seat.inside_wrapper = true;
    const int file = event_file.load();
    while (!reader_is_to_end.load()) {
        pollfd ready{file, POLLIN, 0};
        const int count = poll(&ready, 1, static_cast<int>(runtime::longest_sleep / 1'000'000));
        if (count > 0 && (ready.revents & POLLIN) != 0)
            read_event(file);
        else if (count > 0)
            break; // the program has closed the file
        else
            runtime::end_if_program_is_over();
    }
    stop_watching(file);
}

void end_reader(void*) noexcept {
    reader_is_to_end.store(true);
}

/// Its copy of the file would keep the parent's pages watched after the parent has closed its own.
void close_in_child() {
    const int file = event_file.exchange(no_descriptor);
    if (file != no_descriptor)
        close(file);
}

/// Returns the file, or `no_descriptor` with an errno.
int open_events() {
    const auto file = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    if (file < 0)
        return no_descriptor;
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP;
    if (ioctl(file, UFFDIO_API, &api) == 0)
        return record::raise_descriptor(file);
    const int why = errno;
    close(file);
    errno = why;
    return no_descriptor;
}

/// Returns an errno; 0: the thread runs.
int start_reader() {
    if (record::is_confined())
        return EPERM;
    const int file = open_events();
    if (file == no_descriptor)
        return errno;
    event_file.store(file);
    if (runtime::start_own_thread({&read_events, &end_reader, "umadvisor-unmap"})) {
        // A child that writes there may leave the parent other pages than those the driver has.
        pthread_atfork(&mark_all_changed, nullptr, &close_in_child);
        return 0;
    }
    event_file.store(no_descriptor);
    close(file);
    return EAGAIN;
}

bool is_private_memory(const observe::Mapping& mapping) {
    return mapping.readable && mapping.writable && !mapping.shared &&
           (mapping.path.empty() || mapping.path == "[heap]" || mapping.path.starts_with("[anon"));
}

/// Whether /proc/self/maps shows nothing but private anonymous memory there.
bool is_private_memory(std::uint64_t first, std::uint64_t last) {
    struct Text {
        char bytes[16384];
    };
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const record::OffStack<Text> text;
    std::uint64_t seen = first;
    std::size_t held = 0;
    bool is_private = true;
    for (ssize_t got = 1; is_private && seen < last && got > 0;) {
        got = read(file, text->bytes + held, sizeof(Text) - held);
        held += got > 0 ? static_cast<std::size_t>(got) : 0;
        std::size_t at = 0;
        while (is_private && seen < last) {
            const void* const end = std::memchr(text->bytes + at, '\n', held - at);
            if (end == nullptr)
                break;
            const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - (text->bytes + at));
            observe::Mapping mapping{};
            if (observe::parse_mapping({text->bytes + at, length}, mapping) && mapping.last > seen) {
                is_private = mapping.first <= seen && is_private_memory(mapping);
                seen = mapping.last;
            }
            at += length + 1;
        }
        std::memmove(text->bytes, text->bytes + at, held - at);
        held -= at;
    }
    close(file);
    return is_private && seen >= last;
}

} // namespace

bool watch_mapping(std::size_t number, std::uint64_t address, std::uint64_t bytes, int& why) noexcept {
    if (!reader_is_tried.test_and_set())
        reader_refused.store(start_reader());
    why = reader_refused.load();
    const int file = event_file.load();
    if (why != 0 || file == no_descriptor)
        return false;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t first = address / page * page, last = (address + bytes + page - 1) / page * page;
    if (!is_private_memory(first, last))
        return false;
    WatchedPages& pages = watched_pages[number];
    pages.changed.store(false);
    pages.first.store(first);
    pages.last.store(last);
    uffdio_register asked{};
    asked.range = {first, last - first};
    asked.mode = UFFDIO_REGISTER_MODE_WP; // nothing is ever write-protected
    if (ioctl(file, UFFDIO_REGISTER, &asked) == 0)
        return true;
    why = errno;
    pages.last.store(0);
    pages.first.store(0);
    return false;
}

void unwatch_mapping(std::size_t number) noexcept {
    WatchedPages& pages = watched_pages[number];
    const std::uint64_t last = pages.last.exchange(0);
    if (const int file = event_file.load(); file != no_descriptor && last != 0)
        forget_pages(file, pages.first.load(), last);
    pages.first.store(0);
}

bool mapping_has_changed(std::size_t number) noexcept {
    const std::uint64_t until = record::monotonic_nanoseconds() + longest_read;
    while (reading.load()) {
        if (record::monotonic_nanoseconds() > until)
            return true;
        sched_yield();
    }
    return event_file.load() == no_descriptor || watched_pages[number].changed.load();
}

} // namespace umadvisor::act
