#include "interposer/act/host_share.hpp"

#include "interposer/record/quiet.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace umadvisor::act {

namespace {

constexpr std::uint64_t no_limit = UINT64_MAX;

struct Text {
    char bytes[4096];
    std::size_t length = 0;
    std::string_view view() const { return {bytes, length}; }
};

bool read_text(const char* path, Text& out) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t length = read(file, out.bytes, sizeof out.bytes - 1);
    close(file);
    out.length = length > 0 ? static_cast<std::size_t>(length) : 0;
    out.bytes[out.length] = '\0';
    return length > 0;
}

/// The number that a file holds; `no_limit` for "max" and where there is none.
std::uint64_t read_number(const char* path) {
    Text text;
    if (!read_text(path, text) || text.bytes[0] < '0' || text.bytes[0] > '9')
        return no_limit;
    return std::strtoull(text.bytes, nullptr, 10);
}

std::uint64_t available(const char* root) {
    constexpr std::string_view name = "MemAvailable:";
    char path[512];
    std::snprintf(path, sizeof path, "%s/proc/meminfo", root);
    Text text;
    if (!read_text(path, text))
        return 0;
    const std::size_t at = text.view().find(name);
    return at == std::string_view::npos ? 0 : std::strtoull(text.bytes + at + name.size(), nullptr, 10) << 10;
}

struct Hierarchy {
    const char *line, *folder, *limit, *usage; ///< how its line of /proc/self/cgroup has it, and its files
};
constexpr Hierarchy hierarchies[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current"},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

/// What a group and those above it leave. In a container a group may be listed by a path of the host's: then it
/// is the topmost that counts.
std::uint64_t left_by_groups(const char* root, const Hierarchy& hierarchy, std::string_view group) {
    std::uint64_t left = no_limit;
    for (bool more = true; more;) {
        char path[1024];
        const auto read = [&](const char* name) {
            const int length = std::snprintf(path, sizeof path, "%s%s%.*s/%s", root, hierarchy.folder,
                                             static_cast<int>(group.size()), group.data(), name);
            return length < static_cast<int>(sizeof path) ? read_number(path) : no_limit;
        };
        const std::uint64_t limit = read(hierarchy.limit), usage = read(hierarchy.usage);
        if (limit != no_limit && usage != no_limit)
            left = std::min(left, limit - std::min(limit, usage));
        more = !group.empty();
        group = group.substr(0, more ? group.rfind('/') : 0);
    }
    return left;
}

} // namespace

std::uint64_t free_host_memory(const char* root) noexcept {
    std::uint64_t left = available(root);
    char path[512];
    std::snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    Text groups;
    if (!read_text(path, groups))
        return left;
    for (const Hierarchy& hierarchy : hierarchies) {
        const std::size_t at = groups.view().find(hierarchy.line);
        if (at == std::string_view::npos)
            continue;
        const std::string_view rest = groups.view().substr(at + std::strlen(hierarchy.line));
        std::string_view group = rest.substr(0, rest.find('\n'));
        if (group == "/")
            group = {};
        left = std::min(left, left_by_groups(root, hierarchy, group));
    }
    return left;
}

std::uint64_t host_share() noexcept {
    static constinit std::atomic<std::uint64_t> share{0};
    std::uint64_t known = share.load(std::memory_order_relaxed);
    if (known == 0) {
        const record::Quiet quiet;
        const std::uint64_t now = std::max<std::uint64_t>(free_host_memory() / 2, 1); // 0: not asked yet
        if (share.compare_exchange_strong(known, now, std::memory_order_relaxed))
            known = now;
    }
    return known;
}

} // namespace umadvisor::act
