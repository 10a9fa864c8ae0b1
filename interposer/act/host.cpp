#include "interposer/act/host.hpp"

#include "interposer/base/small_file.hpp"
#include "interposer/record/control_groups.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace umadvisor::act {

namespace {

std::uint64_t available(const char* root) {
    constexpr std::string_view name = "MemAvailable:";
    char path[512];
    std::snprintf(path, sizeof path, "%s/proc/meminfo", root);
    const record::OffStack<base::SmallFile<>> file;
    base::SmallFile<>& text = *file;
    if (!text.read(path))
        return 0;
    const std::size_t at = text.view().find(name);
    return at == std::string_view::npos ? 0 : std::strtoull(text.bytes + at + name.size(), nullptr, 10) << 10;
}

} // namespace

std::uint64_t free_host_memory(const char* root) noexcept {
    return std::min(available(root), record::memory_left_by_groups(root));
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

World launcher_world() noexcept {
    // Slurm gives the number to a job's script too; only what srun starts has a rank as well.
    struct Variable {
        const char *size, *with;
    };
    constexpr Variable variables[] = {
        {"WORLD_SIZE", nullptr}, {"OMPI_COMM_WORLD_SIZE", nullptr}, {"PMI_SIZE", nullptr},
        {"PMIX_SIZE", nullptr},  {"MV2_COMM_WORLD_SIZE", nullptr},  {"SLURM_NTASKS", "SLURM_PROCID"}};
    World world{1, ""};
    for (const auto& [size, with] : variables) {
        const char* const value = std::getenv(size);
        if (value == nullptr || (with != nullptr && std::getenv(with) == nullptr))
            continue;
        if (const std::uint64_t number = std::strtoull(value, nullptr, 10); number > world.size)
            world = {number, size};
    }
    return world;
}

} // namespace umadvisor::act
