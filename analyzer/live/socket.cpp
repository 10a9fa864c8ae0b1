#include "analyzer/live/socket.hpp"

#include "analyzer/live/connection.hpp"
#include "analyzer/reader/error.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace umadvisor::live {
namespace {

class Owned {
public:
    explicit Owned(int descriptor) : descriptor_(descriptor) {}
    ~Owned() {
        if (descriptor_ >= 0)
            ::close(descriptor_);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    int get() const { return descriptor_; }
    int release() { return std::exchange(descriptor_, -1); }

private:
    int descriptor_;
};

struct Address {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socklen_t length = 0;
};

/// `name` fits: both forms have a few numbers.
Address address_of(const std::string& name, bool abstract) {
    Address made;
    std::memcpy(made.address.sun_path + abstract, name.data(), name.size());
    made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return made;
}

/// 0, or what errno said. A backlog that is full empties soon (EAGAIN, unix(7)).
int connect_within(int socket, const Address& to, Clock::time_point last) {
    while (::connect(socket, reinterpret_cast<const sockaddr*>(&to.address), to.length) != 0) {
        if ((errno != EAGAIN && errno != EINTR) || Clock::now() >= last)
            return errno;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
}

/// A folder that may be looked into; -1: there is none. It is held open, so that what is looked at and what is
/// connected to are in the same one.
int open_folder(const SocketPlace& place) {
    const int folder = ::open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status {};
    if (folder < 0 && (errno == ENOENT || errno == EACCES))
        return -1;
    if (folder < 0)
        throw reader::Error(place.folder + ": is not a folder (links are not followed): remove it");
    const bool own =
        ::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
    if (place.private_ && !own) {
        ::close(folder);
        throw reader::Error(place.folder +
                            ": is not a folder of yours alone (mode 0700): no process is reached there");
    }
    return folder;
}

/// False: it is that of another process which has this number, too, in another PID namespace.
bool is_its_own(int socket, const Process& process) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid())
        throw reader::Error(
            fmt::format("the control socket of process {} is another user's: not used", process.text()));
    if (peer.pid == process.pid)
        return true;
    if (peer.pid == 0 || process.pid == 0)
        return false;
    const std::optional<Process> other = read_process(peer.pid);
    if (!other || other->pid == other->inner_pid || other->inner_pid != process.inner_pid)
        throw reader::Error(fmt::format("the control socket of process {} belongs to process {}: not used",
                                        process.text(), peer.pid));
    return false;
}

} // namespace

int connect_to(const SocketPlace& place, const Process& process) {
    const std::string number = std::to_string(process.inner_pid);
    const Owned folder(place.folder.empty() ? -1 : open_folder(place));
    if (!place.folder.empty() && folder.get() < 0)
        return -1;
    if (struct stat status{}; folder.get() >= 0) {
        if (::fstatat(folder.get(), number.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return -1;
        if (!S_ISSOCK(status.st_mode))
            throw reader::Error(fmt::format("{}/{}: is not a socket: remove it", place.folder, number));
    }
    Owned socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Through the descriptor: a path may be longer than an address holds.
    const Address to = folder.get() >= 0
                           ? address_of(fmt::format("/proc/self/fd/{}/{}", folder.get(), number), false)
                           : address_of(fmt::format("umadvisor/{}/{}", ::geteuid(), number), true);
    if (const int error = connect_within(socket.get(), to, Clock::now() + answer_time); error != 0) {
        if (error == ECONNREFUSED || error == ENOENT)
            return -1;
        throw reader::Error(
            fmt::format("process {} cannot be reached: {}", process.text(), std::strerror(error)));
    }
    return is_its_own(socket.get(), process) ? socket.release() : -1;
}

} // namespace umadvisor::live
