// A million launches of a kernel that does nothing: what is timed is the call. Prints one JSON line with the
// median and the mean nanoseconds of a launch call, over batches that end before the synchronisation.
#include "tools/examples/options.hpp"

#include "tools/simcuda/portable.hpp"

#include <numeric>

namespace {

struct Settings {
    std::size_t launches = 1'000'000;
    std::size_t batch =
        256; ///< launches between synchronisations: well under what the driver queues before it blocks
    std::size_t depth = 12; ///< frames above the launch, about what a C++ program has
};

Settings read_settings(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::size_t value = std::strtoul(argv[i + 1], nullptr, 10);
        if (!std::strcmp(argv[i], "--launches"))
            settings.launches = value;
        else if (!std::strcmp(argv[i], "--batch"))
            settings.batch = value;
        else if (!std::strcmp(argv[i], "--depth"))
            settings.depth = value;
        else
            example::refuse("usage: [--launches N] [--batch N] [--depth FRAMES]");
    }
    if (argc % 2 == 0 || settings.batch == 0 || settings.launches < settings.batch)
        example::refuse("usage: [--launches N] [--batch N] [--depth FRAMES], N above 0, at least one batch");
    return settings;
}

} // namespace

KERNEL touch_nothing(DevicePtr<float> a, DevicePtr<const float> b, DevicePtr<const float> c, std::size_t n) {
    if (n == 1)
        a[0] = b[0] + c[0];
}

// One batch, launched below `depth` more frames. The volatile result keeps each level a real frame.
__attribute__((noinline)) double launch_batch(std::size_t depth, std::size_t count, float* const (&arrays)[3]) {
    if (depth > 0) {
        volatile double nanoseconds = launch_batch(depth - 1, count, arrays);
        return nanoseconds;
    }
    const example::Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i)
        LAUNCH(touch_nothing, 1, 1, nullptr, arrays[0], arrays[1], arrays[2], std::size_t{0});
    return watch.microseconds() * 1000.0 / static_cast<double>(count);
}

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    float* arrays[3];
    for (float*& array : arrays)
        CHECK(cudaMalloc(&array, std::size_t{1} << 20));

    launch_batch(settings.depth, settings.batch, arrays);
    CHECK(cudaDeviceSynchronize());

    std::vector<double> batches;
    for (std::size_t done = 0; done + settings.batch <= settings.launches; done += settings.batch) {
        batches.push_back(launch_batch(settings.depth, settings.batch, arrays));
        CHECK(cudaDeviceSynchronize());
    }
    const double mean =
        std::accumulate(batches.begin(), batches.end(), 0.0) / static_cast<double>(batches.size());
    std::printf("{\"launches\": %zu, \"median_ns\": %.1f, \"mean_ns\": %.1f}\n",
                (batches.size() + 1) * settings.batch, example::median(batches), mean);
    for (float* array : arrays)
        CHECK(cudaFree(array));
}
