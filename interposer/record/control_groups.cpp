#include "interposer/record/control_groups.hpp"

#include "interposer/base/small_file.hpp"
#include "interposer/base/text.hpp"
#include "interposer/record/off_stack.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace umadvisor::record {
namespace {

using SmallFile = base::SmallFile<>;

/// The files of one group.
struct Group {
    const char *root, *folder;
    std::string_view path;

    bool read(const char* name, SmallFile& out) const {
        char file[1024];
        const int length = std::snprintf(file, sizeof file, "%s%s%.*s/%s", root, folder,
                                         static_cast<int>(path.size()), path.data(), name);
        return length < static_cast<int>(sizeof file) && out.read(file);
    }
    /// `no_limit` for "max", for negative numbers, and without the file.
    std::uint64_t number(const char* name) const {
        const OffStack<SmallFile> text;
        return read(name, *text) ? number_of(text->bytes) : no_limit;
    }
    static std::uint64_t number_of(const char* text) {
        return *text < '0' || *text > '9' ? no_limit : std::strtoull(text, nullptr, 10);
    }
};

bool lists(std::string_view controllers, std::string_view name) {
    while (!controllers.empty()) {
        const std::size_t end = std::min(controllers.find(','), controllers.size());
        if (base::first(controllers, end) == name)
            return true;
        controllers.remove_prefix(std::min(end + 1, controllers.size()));
    }
    return false;
}

/// The smallest answer of `ask(group, second version)` for the groups that the process is in and for those
/// above them. In a container a group may be listed by a path of the host; then only the topmost one is found.
template <class Ask>
std::uint64_t least(const char* root, std::string_view controller, const char* first_version, const Ask& ask) {
    char path[512];
    std::snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    const OffStack<SmallFile> file;
    if (!file->read(path))
        return no_limit;
    std::uint64_t result = no_limit;
    for (std::string_view rest = file->view(); !rest.empty();) {
        std::string_view line = base::first(rest, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        line.remove_prefix(std::min(line.find(':') + 1, line.size())); // the hierarchy's number
        const std::string_view controllers = base::first(line, line.find(':'));
        line.remove_prefix(std::min(controllers.size() + 1, line.size()));
        const bool second = controllers.empty();
        if (!second && !lists(controllers, controller))
            continue;
        Group group{root, second ? "/sys/fs/cgroup" : first_version, line == "/" ? std::string_view() : line};
        for (bool more = true; more;) {
            result = std::min(result, ask(group, second));
            more = !group.path.empty();
            group.path = base::first(group.path, more ? group.path.rfind('/') : 0);
        }
    }
    return result;
}

} // namespace

std::uint64_t memory_limit_by_groups(const char* root) noexcept {
    constexpr std::uint64_t most_limit = 1ull << 60; // version 1 has a number where there is none
    const std::uint64_t limit =
        least(root, "memory", "/sys/fs/cgroup/memory", [](const Group& group, bool second) {
            return group.number(second ? "memory.max" : "memory.limit_in_bytes");
        });
    return limit < most_limit ? limit : no_limit;
}

std::uint64_t memory_left_by_groups(const char* root) noexcept {
    return least(root, "memory", "/sys/fs/cgroup/memory", [](const Group& group, bool second) {
        const std::uint64_t limit = group.number(second ? "memory.max" : "memory.limit_in_bytes");
        const std::uint64_t usage = group.number(second ? "memory.current" : "memory.usage_in_bytes");
        return limit == no_limit || usage == no_limit ? no_limit : limit - std::min(limit, usage);
    });
}

std::uint64_t cores_of_groups(const char* root) noexcept {
    return least(root, "cpu", "/sys/fs/cgroup/cpu", [](const Group& group, bool second) {
        std::uint64_t quota = no_limit, period = no_limit; // microseconds
        if (const OffStack<SmallFile> file; second && group.read("cpu.max", *file)) {
            const SmallFile& both = *file;
            quota = Group::number_of(both.bytes);
            const std::size_t space = both.view().find(' ');
            period = space == std::string_view::npos ? no_limit : Group::number_of(both.bytes + space + 1);
        } else if (!second) {
            quota = group.number("cpu.cfs_quota_us");
            period = group.number("cpu.cfs_period_us");
        }
        return quota == no_limit || period == no_limit || period == 0
                   ? no_limit
                   : std::max<std::uint64_t>(quota / period, 1);
    });
}

} // namespace umadvisor::record
