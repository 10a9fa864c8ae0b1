#include "interposer/act/launcher_world.hpp"

#include <cstdlib>

namespace umadvisor::act {

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
