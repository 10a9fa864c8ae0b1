#include "tools/simcuda/late/order.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace simcuda::late {

struct Operation {
    std::function<void()> run; ///< empty: it is done
    std::vector<Work> after;
};

namespace {

struct Streams {
    Stream legacy{true, true};
    std::map<CUstream, Stream> made;
    std::vector<std::shared_ptr<Stream>> of_threads; ///< their default streams; a thread's outlives it
};

/// Never destroyed: threads may call until the process has ended.
Streams& streams() {
    static auto* const only = new Streams;
    return *only;
}

Stream& own_default_stream() {
    static thread_local std::shared_ptr<Stream> own;
    if (!own) {
        own = std::make_shared<Stream>();
        streams().of_threads.push_back(own);
    }
    return *own;
}

template <class Use>
void for_each_stream(Use use) {
    use(streams().legacy);
    for (auto& [handle, stream] : streams().made)
        use(stream);
    for (const auto& stream : streams().of_threads)
        use(*stream);
}

std::uint64_t next_random() {
    static std::uint64_t state = 1;
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Work behind(std::vector<Work> after) {
    return std::make_shared<Operation>([] {}, std::move(after));
}

/// A device that is not waited for gets something done, too.
void work_a_little() {
    if (!chance(16))
        return;
    std::vector<Work> ends;
    for_each_stream([&](Stream& stream) {
        if (!is_done(stream.last))
            ends.push_back(stream.last);
    });
    if (!ends.empty())
        force(ends[next_random() % ends.size()]);
}

Work append(Stream& stream, Work work, std::function<void()> run) {
    std::erase_if(work->after, &is_done);
    work->run = std::move(run);
    stream.last = work;
    work_a_little();
    return work;
}

} // namespace

std::recursive_mutex& mutex() {
    static auto* const only = new std::recursive_mutex;
    return *only;
}

bool chance(unsigned one_in) {
    return next_random() % one_in == 0;
}

Stream& stream_of(CUstream handle, bool per_thread) {
    if (handle == CU_STREAM_PER_THREAD || (handle == nullptr && per_thread))
        return own_default_stream();
    if (handle == nullptr || handle == CU_STREAM_LEGACY)
        return streams().legacy;
    return streams().made[handle];
}

void add_stream(CUstream handle, bool blocking) {
    streams().made[handle] = {blocking, false};
}

void remove_stream(CUstream handle) {
    if (const auto found = streams().made.find(handle); found != streams().made.end()) {
        force(found->second.last);
        streams().made.erase(found);
    }
}

Work so_far(Stream& stream) {
    Work all = behind({stream.last});
    if (stream.legacy)
        for_each_stream([&](Stream& other) {
            if (other.blocking)
                all->after.push_back(other.last);
        });
    else if (stream.blocking)
        all->after.push_back(streams().legacy.last);
    return all;
}

Work submit(Stream& stream, std::function<void()> run, const Work& also) {
    Work work = so_far(stream);
    work->after.push_back(also);
    return append(stream, std::move(work), std::move(run));
}

void submit_beside_legacy(Stream& stream, std::function<void()> run) {
    append(stream, behind({stream.last}), std::move(run));
}

void put_behind(Stream& stream, const Work& work) {
    if (!is_done(work))
        submit(
            stream, [] {}, work);
}

bool is_done(const Work& work) {
    return work == nullptr || !work->run;
}

/// Not by recursion: a stream that nobody waits for grows long.
void force(const Work& work) {
    std::vector<Work> stack{work};
    while (!stack.empty()) {
        const Work current = stack.back();
        if (is_done(current)) {
            stack.pop_back();
            continue;
        }
        std::erase_if(current->after, &is_done);
        if (!current->after.empty()) {
            stack.push_back(current->after[next_random() % current->after.size()]);
            continue;
        }
        stack.pop_back();
        const std::function<void()> run = std::exchange(current->run, nullptr);
        run();
    }
}

void force_all() {
    std::vector<Work> ends;
    for_each_stream([&](Stream& stream) { ends.push_back(stream.last); });
    force(behind(std::move(ends)));
}

} // namespace simcuda::late
