// Random valid steps of CUDA's runtime and driver interfaces, in several threads, and a digest of all that they
// bring: every answer, and every byte that is read back. A seed decides it all, so two runs that differ did not
// get the same. --without takes the name of a step, or what steps then do in another way: queries (of events),
// directions (of copies), pinned (memory).
#include "tools/bench/random/copy_steps.hpp"
#include "tools/bench/random/graph_steps.hpp"
#include "tools/bench/random/kernels.hpp"
#include "tools/bench/random/memory_steps.hpp"
#include "tools/bench/random/other_steps.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

using namespace random_program;

constexpr std::size_t round_steps = 500; ///< of a thread's life
constexpr std::size_t limit_mib = 512;   ///< the machine may be shared

struct Step {
    const char* name;
    std::size_t weight;
    void (*run)(Worker&);
};

constexpr Step steps[] = {
    {"allocate", 40, allocate_step},
    {"free", 24, free_step},
    {"write", 40, write_step},
    {"read", 40, read_step},
    {"copy", 90, copy_step},
    {"uploads", 30, uploads_step},
    {"repeat", 6, repeat_step},
    {"structures", 20, structures_step},
    {"copy_rows", 30, copy_rows_step},
    {"copy_box", 16, copy_box_step},
    {"set", 40, set_step},
    {"launch", 100, launch_step},
    {"register", 6, register_step},
    {"prefetch", 20, prefetch_step},
    {"advise", 12, advise_step},
    {"streams", 4, stream_step},
    {"host_function", 16, host_function_step},
    {"capture", 8, capture_step},
    {"build", 4, build_step},
    {"replay", 24, replay_step},
    {"attributes", 6, attributes_step},
    {"invalid", 10, invalid_step},
    {"compare", 1, compare_step},
};

const Step& choose(Worker& worker) {
    std::size_t all = 0;
    for (const Step& step : steps)
        all += step.weight;
    for (;;) {
        std::size_t place = worker.random.below(all);
        const Step* step = steps;
        while (place >= step->weight)
            place -= step++->weight;
        if (worker.settings.with(step->name))
            return *step;
    }
}

/// One life of a thread: what its own default stream does has to end with it.
void work(Worker& worker, std::size_t count) {
    worker.doing = "begin";
    worker.expect(cudaFree(nullptr)); // the driver's own calls need the context that the runtime brings
    for (std::size_t i = 0; i < count; ++i, ++worker.step) {
        const Step& step = choose(worker);
        worker.doing = step.name;
        step.run(worker);
        if (worker.settings.tell_steps)
            worker.told.push_back({worker.step, step.name, worker.digest.value(), ""});
    }
    const auto leave = [&](Buffer& buffer) {
        if (buffer.last && buffer.last->per_thread)
            worker.settle(buffer);
    };
    for (const auto& buffer : worker.buffers)
        leave(*buffer);
    if (worker.table)
        leave(*worker.table);
}

/// One gives a buffer of its own to the other, whose work on it comes after all that was done before.
void hand_over(Worker& from, Worker& to) {
    if (from.buffers.size() < 8 || to.buffers.size() >= 32)
        return;
    auto& chosen = from.buffers[from.random.below(from.buffers.size())];
    if (chosen->lasts)
        return;
    const std::size_t bytes = chosen->bytes, device_bytes = chosen->only_device() ? bytes : 0;
    if (to.bytes + bytes > to.bytes_limit || to.device_bytes + device_bytes > to.bytes_limit / 4)
        return;
    from.drop_graphs_of(*chosen);
    if (chosen->last) {
        Stream& next = to.capturing_stream();
        from.wait_for(*chosen->last, next);
        chosen->last = &next;
    }
    from.bytes -= bytes;
    from.device_bytes -= device_bytes;
    to.bytes += bytes;
    to.device_bytes += device_bytes;
    to.buffers.push_back(std::move(chosen));
    chosen = std::move(from.buffers.back());
    from.buffers.pop_back();
}

void tell(const std::vector<std::unique_ptr<Worker>>& workers) {
    Digest all;
    for (const auto& worker : workers)
        all.add(worker->digest.value());
    std::printf("step %zu digest %016llx\n", workers[0]->step, static_cast<unsigned long long>(all.value()));
}

/// Only now: so it costs the steps nothing.
void tell_steps(const std::vector<std::unique_ptr<Worker>>& workers) {
    for (const auto& worker : workers)
        for (const Told& told : worker->told)
            std::printf("%u %zu %s %016llx %s\n", worker->number, told.step, told.name,
                        static_cast<unsigned long long>(told.digest), told.about.c_str());
}

Settings read_settings(int argc, char** argv) {
    Settings settings;
    settings.without = ",";
    for (int i = 1; i < argc; ++i) {
        const bool has_value = i + 1 < argc;
        if (!std::strcmp(argv[i], "--seed") && has_value)
            settings.seed = std::strtoull(argv[++i], nullptr, 10);
        else if (!std::strcmp(argv[i], "--steps") && has_value)
            settings.steps = std::strtoull(argv[++i], nullptr, 10);
        else if (!std::strcmp(argv[i], "--mib") && has_value)
            settings.bytes = std::strtoull(argv[++i], nullptr, 10) << 20;
        else if (!std::strcmp(argv[i], "--without") && has_value)
            settings.without += std::string(argv[++i]) + ",";
        else if (!std::strcmp(argv[i], "--tell-steps"))
            settings.tell_steps = true;
        else {
            std::fprintf(stderr, "usage: random_program [--seed N] [--steps N] [--mib N] [--without STEP]... "
                                 "[--tell-steps]\n");
            std::exit(2);
        }
    }
    if (settings.bytes < (16u << 20) || settings.bytes > limit_mib << 20) {
        std::fprintf(stderr, "random_program: --mib takes 16 to %zu\n", limit_mib);
        std::exit(2);
    }
    return settings;
}

} // namespace

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    const std::size_t threads = 1 + settings.seed % 3;
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::size_t i = 0; i < threads; ++i)
        workers.emplace_back(new Worker(settings, static_cast<unsigned>(i), settings.bytes / threads));
    for (const auto& worker : workers)
        furnish(*worker);
    std::unique_ptr<Buffer> variable(new Buffer{Kind::variable});
    variable->at = variable->on_device = random_variable;
    variable->bytes = 1 << 16;
    variable->lasts = true;
    workers[0]->bytes += variable->bytes;
    workers[0]->buffers.push_back(std::move(variable));

    for (std::size_t done = 0; done < settings.steps;) {
        const std::size_t count = std::min(round_steps, (settings.steps - done + threads - 1) / threads);
        std::vector<std::thread> running;
        for (const auto& worker : workers)
            running.emplace_back([&] { work(*worker, count); });
        for (std::thread& thread : running)
            thread.join();
        done += count * threads;
        for (std::size_t i = 0; i < threads && threads > 1; ++i)
            hand_over(*workers[i], *workers[(i + 1) % threads]);
        tell(workers);
    }
    std::size_t unexpected = 0;
    for (const auto& worker : workers) {
        worker->doing = "end";
        compare_step(*worker);
        for (const auto& buffer : worker->buffers)
            release(*worker, *buffer);
        unexpected += worker->unexpected;
    }
    tell(workers);
    tell_steps(workers);
    return unexpected ? 1 : 0;
}
