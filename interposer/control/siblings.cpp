#include "interposer/control/siblings.hpp"

#include "interposer/act/action.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::control {

namespace {

constexpr int patience_ms = 20;
constexpr std::size_t most_siblings = 16;

struct Siblings {
    sockaddr_un names[most_siblings];
    socklen_t lengths[most_siblings];
    std::size_t count = 0;
    char text[16 * 1024];

    void add(const sockaddr_un& name, socklen_t length) noexcept {
        if (count == most_siblings)
            return;
        names[count] = name;
        lengths[count++] = length;
    }
};

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Reads the folder by getdents64(2), since opendir(3) allocates.
void list_files(const Address& own, Siblings& to) {
    sockaddr_un name = own.name();
    char* const last = std::strrchr(name.sun_path, '/');
    const std::size_t room = sizeof name.sun_path - static_cast<std::size_t>(last + 1 - name.sun_path);
    char own_number[16];
    std::snprintf(own_number, sizeof own_number, "%s", last + 1);
    last[1] = '\0';
    const int folder = open(name.sun_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    for (long bytes; (bytes = syscall(SYS_getdents64, folder, to.text, sizeof to.text)) > 0;)
        for (long at = 0; at < bytes;) {
            const auto* const entry = reinterpret_cast<const dirent64*>(to.text + at);
            at += entry->d_reclen;
            const std::string_view number = entry->d_name;
            if (!is_number(number) || number == own_number || number.size() >= room)
                continue;
            std::memcpy(last + 1, number.data(), number.size() + 1);
            to.add(name,
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(name.sun_path) + 1));
        }
    close(folder);
}

/// Reads the names without a file from /proc/net/unix (proc_net(5)), where each stands at the end of its line
/// after an @.
void list_abstract(const Address& own, Siblings& to) {
    const std::string_view mine(own.name().sun_path + 1);
    const std::string_view prefix(mine.data(), mine.rfind('/') + 1);
    const int file = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    std::size_t kept = 0;
    for (ssize_t bytes; (bytes = read(file, to.text + kept, sizeof to.text - kept)) > 0;) {
        std::string_view rest(to.text, kept + static_cast<std::size_t>(bytes));
        for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
            std::string_view text(rest.data(), end);
            text.remove_prefix(text.rfind('@') + 1); // the whole line, if it has none
            std::string_view number = text;
            sockaddr_un name{};
            if (!text.starts_with(prefix) || text == mine || text.size() >= sizeof name.sun_path)
                continue;
            number.remove_prefix(prefix.size());
            if (!is_number(number))
                continue;
            name.sun_family = AF_UNIX;
            std::memcpy(name.sun_path + 1, text.data(), text.size());
            to.add(name, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size()));
        }
        kept = rest.size() < sizeof to.text ? rest.size() : 0;
        std::memmove(to.text, rest.data(), kept);
    }
    close(file);
}

/// Whether the process belongs to this user. A name without a file is anybody's.
bool is_ours(int socket) {
    ucred other{};
    socklen_t length = sizeof other;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == geteuid();
}

bool gives_back(const sockaddr_un& name, socklen_t length, char (&text)[16 * 1024]) {
    constexpr std::string_view request = "give_back\n";
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return false;
    ssize_t bytes = 0;
    if (connect(socket, reinterpret_cast<const sockaddr*>(&name), length) == 0 && is_ours(socket) &&
        send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
        pollfd answer{socket, POLLIN, 0};
        if (poll(&answer, 1, patience_ms) == 1)
            bytes = read(socket, text, sizeof text);
    }
    close(socket);
    return bytes > 0 && std::string_view(text, static_cast<std::size_t>(bytes)).find("\"given_back\":true") !=
                            std::string_view::npos;
}

constinit Address address;
constinit std::atomic<pid_t> owner{0}; ///< the process whose address it is

/// Returns whether any gave memory back.
bool ask_siblings() noexcept {
    if (owner.load() != getpid()) // a forked child
        return false;
    const record::Quiet quiet;
    const record::OffStack<Siblings> siblings;
    if (address.has_file())
        list_files(address, *siblings);
    else
        list_abstract(address, *siblings);
    bool any = false;
    for (std::size_t i = 0; i < siblings->count; ++i)
        any |= gives_back(siblings->names[i], siblings->lengths[i], siblings->text);
    return any;
}

} // namespace

void ask_siblings_when_memory_lacks(const Address& own) noexcept {
    address = own;
    owner.store(getpid());
    act::set_siblings(&ask_siblings);
}

} // namespace umadvisor::control
