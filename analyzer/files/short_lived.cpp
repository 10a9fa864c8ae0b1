#include "analyzer/files/short_lived.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace umadvisor::files {
namespace {

constexpr std::string_view name_begin = "umadvisor-";
constexpr std::size_t digits = 16; ///< at the end of a name, and nothing but such: hexadecimal
constexpr time_t least_age = 24 * 60 * 60;

/// The handler removes what is in here. It is static, since a handler may not allocate. A command has one or
/// two such names.
struct Slot {
    std::atomic<bool> used{false};
    std::array<char, PATH_MAX> path{};
};
std::array<Slot, 8> slots;
static_assert(std::atomic<bool>::is_always_lock_free); // signal-safety(7)

/// Whether a file, or a folder with all that is in it, is removed.
bool remove_entry(int folder, const char* name, unsigned depth) noexcept;

/// A handler has the stack and the descriptors for so many folders inside each other.
constexpr unsigned most_depth = 256;

/// All that is in a folder, without following links. readdir(3) may not be called in a handler, system calls
/// may.
void empty_folder(int folder, unsigned depth) noexcept {
    struct Entry { // linux_dirent64 of getdents64(2)
        std::uint64_t inode, offset;
        std::uint16_t bytes;
        std::uint8_t type;
        char name[1];
    };
    ::fchmod(folder, S_IRWXU); // a build may have made one that is read-only
    alignas(Entry) std::array<char, 1024> entries;
    bool removed = true;
    while (removed) { // a walk may pass over what moves when others are removed
        removed = false;
        ::lseek(folder, 0, SEEK_SET);
        for (long got = 0; (got = ::syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0;)
            for (long at = 0; at < got;) {
                const auto* const entry = reinterpret_cast<const Entry*>(entries.data() + at);
                at += entry->bytes;
                if (std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0)
                    continue;
                removed = remove_entry(folder, entry->name, depth) || removed;
            }
    }
}

bool remove_entry(int folder, const char* name, unsigned depth) noexcept {
    if (::unlinkat(folder, name, 0) == 0)
        return true;
    if ((errno != EISDIR && errno != EPERM) || depth == most_depth)
        return false;
    const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return false;
    empty_folder(inner, depth + 1);
    ::close(inner);
    return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

/// Calls nothing but what signal-safety(7) allows.
void remove(const char* path) noexcept {
    remove_entry(AT_FDCWD, path, 0);
}

extern "C" void remove_and_end(int signal) {
    end_by(signal); // it is blocked until this returns
}

/// Installs the handler for all signals whose default action ends a process. A signal that is ignored (nohup)
/// or handled stays so.
void handle_signals() {
    static bool done = false;
    if (std::exchange(done, true))
        return;
    struct sigaction action {};
    action.sa_handler = &remove_and_end;
    sigfillset(&action.sa_mask);
    constexpr std::array others{SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                                SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
        struct sigaction before {};
        if (std::ranges::find(others, signal) == others.end() && ::sigaction(signal, nullptr, &before) == 0 &&
            before.sa_handler == SIG_DFL)
            ::sigaction(signal, &action, nullptr);
    }
}

std::string name_in(const std::string& folder, std::string_view purpose) {
    std::random_device random;
    std::array<char, digits + 1> number{};
    std::snprintf(number.data(), number.size(), "%08x%08x", random(), random());
    std::string path = folder;
    if (!path.empty() && !path.ends_with('/'))
        path += '/';
    path += purpose.empty() ? "." : "";
    path += name_begin;
    if (!purpose.empty())
        path.append(purpose).append("-");
    return path + number.data();
}

/// True if name_in() gives such names. The name of a file has no purpose, that of a folder has one.
bool is_ours(std::string_view name, Left kind) {
    const std::size_t dot = kind == Left::file ? 1 : 0;
    constexpr std::string_view hexadecimal = "0123456789abcdef";
    if (name.size() < dot + name_begin.size() + digits || name.starts_with('.') != (dot != 0) ||
        !name.substr(dot).starts_with(name_begin) || name[name.size() - digits - 1] != '-' ||
        name.substr(name.size() - digits).find_first_not_of(hexadecimal) != name.npos)
        return false;
    return (name.size() == dot + name_begin.size() + digits) == (kind == Left::file);
}

/// Follows no link.
bool is_left(const std::string& path, Left kind) {
    struct stat named {
    }, opened{};
    if (::lstat(path.c_str(), &named) != 0 ||
        (kind == Left::file ? !S_ISREG(named.st_mode) : !S_ISDIR(named.st_mode)) ||
        named.st_uid != ::geteuid() || named.st_mtime > ::time(nullptr) - least_age)
        return false;
    const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    // The lock goes with its holder, however that ends; where there are no locks (ENOLCK) nothing is removed.
    const bool left = file >= 0 && ::fstat(file, &opened) == 0 && opened.st_dev == named.st_dev &&
                      opened.st_ino == named.st_ino && ::flock(file, LOCK_EX | LOCK_NB) == 0;
    if (file >= 0)
        ::close(file);
    return left;
}

} // namespace

ShortLived::ShortLived(const std::string& folder, std::string_view purpose) : path_(name_in(folder, purpose)) {
    handle_signals();
    slot_ = static_cast<std::size_t>(std::ranges::find_if(slots, [](const Slot& slot) { return !slot.used; }) -
                                     slots.begin());
    if (slot_ == slots.size() || path_.size() >= slots[slot_].path.size()) { // no file has so long a name
        slot_ = slots.size();
        return;
    }
    std::ranges::copy(path_, slots[slot_].path.begin());
    slots[slot_].path[path_.size()] = '\0';
    slots[slot_].used.store(true, std::memory_order_release);
}

ShortLived::~ShortLived() {
    remove(path_.c_str());
    if (slot_ < slots.size())
        slots[slot_].used.store(false, std::memory_order_release);
}

void remove_unfinished() noexcept {
    for (Slot& slot : slots)
        if (slot.used.load(std::memory_order_acquire))
            remove(slot.path.data());
}

void end_by(int signal) noexcept {
    remove_unfinished();
    ::signal(signal, SIG_DFL); // the status is the signal's own
    ::raise(signal);
}

void remove_left(const std::string& folder, Left kind) noexcept {
    try {
        const std::string parent = folder.empty() ? "." : folder;
        DIR* const entries = ::opendir(parent.c_str());
        if (entries == nullptr)
            return;
        std::vector<std::string> left;
        while (const dirent* const entry = ::readdir(entries))
            if (is_ours(entry->d_name, kind))
                left.push_back(parent + "/" + entry->d_name);
        ::closedir(entries);
        for (const std::string& path : left)
            if (is_left(path, kind))
                remove(path.c_str());
    } catch (...) { // memory: what is left can wait
    }
}

} // namespace umadvisor::files
