#include "interposer/control/address.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::control {

namespace {

constexpr int backlog = 8;

/// The environment as it was at start: the program may change it at any time (getenv(3)). Too long for a
/// socket's name: as if there were none.
char runtime_folder[sizeof(sockaddr_un::sun_path)];

/// Why our folder is not used; null: it is. `ours`: below XDG_RUNTIME_DIR, else the user has named it, and in a
/// container it may belong to its root.
const char* trouble_with(const char* folder, bool ours) {
    struct stat file {};
    if (lstat(folder, &file) != 0)
        return "the folder does not exist";
    if (S_ISLNK(file.st_mode))
        return "the folder is a symbolic link";
    if (!S_ISDIR(file.st_mode))
        return "it is no folder";
    if (file.st_uid != geteuid() && (ours || file.st_uid != 0))
        return "the folder belongs to another user";
    if (ours ? (file.st_mode & 077) != 0 : (file.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
        return "others may write to the folder";
    return nullptr;
}

} // namespace

void remember_runtime_folder() noexcept {
    const char* const folder = secure_getenv("XDG_RUNTIME_DIR");
    if (folder != nullptr && *folder == '/' && std::strlen(folder) < sizeof runtime_folder)
        std::strcpy(runtime_folder, folder);
}

void Address::choose_abstract() noexcept {
    const int bytes = std::snprintf(name_.sun_path + 1, sizeof name_.sun_path - 1, "umadvisor/%u/%d",
                                    static_cast<unsigned>(geteuid()), static_cast<int>(getpid()));
    name_.sun_path[0] = '\0';
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(bytes));
}

const char* Address::choose_in(const char* folder) noexcept {
    const int bytes =
        std::snprintf(name_.sun_path, sizeof name_.sun_path, "%s/%d", folder, static_cast<int>(getpid()));
    if (bytes >= static_cast<int>(sizeof name_.sun_path))
        return "its name is too long for a socket";
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + static_cast<std::size_t>(bytes) + 1);
    return nullptr;
}

const char* Address::choose(const char* given) noexcept {
    name_.sun_family = AF_UNIX;
    if (*given != '\0') {
        const char* const why = choose_in(given);
        if (*given != '/')
            return "UMADVISOR_CONTROL is neither an absolute path nor 0";
        return why != nullptr ? why : trouble_with(given, false);
    }
    char folder[sizeof runtime_folder + 16];
    std::snprintf(folder, sizeof folder, "%s/umadvisor", runtime_folder);
    // Where there is no such place, as after su(1), the name is one without a file. A client looks there, too.
    if (runtime_folder[0] == '\0' || (mkdir(folder, 0700) != 0 && errno != EEXIST) ||
        choose_in(folder) != nullptr) {
        choose_abstract();
        return nullptr;
    }
    return trouble_with(folder, true);
}

/// Removes what a dead process has left there. Null, or why it stays.
const char* Address::remove_stale() noexcept {
    constexpr const char* in_use = "another process has the name";
    if (!has_file())
        return in_use;
    struct stat file {};
    if (lstat(name_.sun_path, &file) != 0)
        return errno == ENOENT ? nullptr : "the file there cannot be looked at";
    if (!S_ISSOCK(file.st_mode) || file.st_uid != geteuid())
        return "a file is in the way";
    const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client < 0)
        return "no socket can be made";
    const bool refused =
        connect(client, reinterpret_cast<const sockaddr*>(&name_), length_) != 0 && errno == ECONNREFUSED;
    ::close(client);
    if (!refused)
        return in_use;
    return unlink(name_.sun_path) == 0 ? nullptr : "the socket of a dead process cannot be removed";
}

const char* Address::bind(int socket) noexcept {
    // The file gets the mode of the socket: no umask(2), which is the whole process's.
    fchmod(socket, 0600);
    for (bool again = true;; again = false) {
        if (::bind(socket, reinterpret_cast<const sockaddr*>(&name_), length_) == 0)
            break;
        if (errno != EADDRINUSE || !again)
            return "the folder takes no socket";
        if (const char* const why = remove_stale())
            return why;
    }
    struct stat file {};
    if (has_file() && lstat(name_.sun_path, &file) == 0) {
        device_ = file.st_dev;
        inode_ = file.st_ino;
    }
    return ::listen(socket, backlog) == 0 ? nullptr : "the socket does not listen";
}

const char* Address::listen(OwnDescriptor& socket) noexcept {
    if (!socket.adopt(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)))
        return "no socket can be made";
    const char* const why = bind(socket.number());
    if (why != nullptr)
        socket.close();
    return why;
}

void Address::remove() noexcept {
    struct stat file {};
    if (inode_ != 0 && lstat(name_.sun_path, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
        unlink(name_.sun_path);
    inode_ = 0;
}

const char* Address::words() const noexcept {
    return has_file() ? name_.sun_path : name_.sun_path + 1;
}

} // namespace umadvisor::control
