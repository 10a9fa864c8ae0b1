/// What one thread of the program has: its buffers, streams and graphs, and the order in which work reaches
/// them. Whatever it reads is ordered behind all that wrote it, so what it sees depends on the seed alone.
#pragma once

#include "tools/bench/random/driver.hpp"
#include "tools/bench/random/random.hpp"
#include "tools/bench/random/told.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace random_program {

enum class Kind {
    device,
    pitched,
    pooled,
    managed,
    variable, ///< a __managed__ one
    pinned,
    registered,
    pageable
};

inline constexpr const char* kind_names[] = {"device",   "pitched", "pooled",     "managed",
                                             "variable", "pinned",  "registered", "pageable"};
static_assert(std::size(kind_names) == static_cast<std::size_t>(Kind::pageable) + 1);

struct Stream {
    cudaStream_t handle;
    bool blocking; ///< waits for the legacy default stream, and it for this one
    bool legacy = false;
    bool per_thread = false;

    bool captures() const { return !blocking && !legacy; }
};

struct Buffer {
    Kind kind;
    unsigned char* at = nullptr;        ///< for copies
    unsigned char* on_device = nullptr; ///< for kernels; null: they cannot reach it
    std::size_t bytes = 0;
    bool lasts = false;     ///< it is neither freed nor given to another
    Stream* last = nullptr; ///< whose work may still be under way on it; null: the host has waited
    std::size_t uses = 0;
    std::size_t used_in[8] = {}; ///< the last steps that did, in turn

    void use(std::size_t step) {
        if (uses == 0 || used_in[(uses - 1) % std::size(used_in)] != step)
            used_in[uses++ % std::size(used_in)] = step;
    }
    std::string describe() const {
        std::string text = std::string(kind_names[static_cast<int>(kind)]) + " of " + std::to_string(bytes) +
                           " bytes, used in";
        for (std::size_t i = uses - std::min(uses, std::size(used_in)); i < uses; ++i)
            text += " " + std::to_string(used_in[i % std::size(used_in)]);
        return text;
    }
    bool on_host() const { return kind == Kind::pinned || kind == Kind::registered || kind == Kind::pageable; }
    bool is_managed() const { return kind == Kind::managed || kind == Kind::variable; }
    bool host_reaches() const { return on_host() || is_managed(); }
    bool only_device() const { return !host_reaches(); }
    bool large() const { return bytes > (2u << 20); }
};

struct Graph {
    cudaGraphExec_t exec = nullptr;
    std::vector<Buffer*> uses;
    cudaGraph_t source = nullptr; ///< kept where nodes of exec are changed
    CUgraphNode kernel = nullptr; ///< the node that is
};

/// While a stream captures no thread may wait for the whole device.
inline std::shared_mutex& captures() {
    static std::shared_mutex only;
    return only;
}

struct Settings {
    std::uint64_t seed = 1;
    std::size_t steps = 10000;
    std::size_t bytes = std::size_t{64} << 20; ///< live memory, all threads together
    std::string without;                       ///< words, with commas around each
    bool tell_steps = false;

    /// Whether managed memory may be told to prefer the host.
    bool prefers_host() const { return seed % 2 == 0; }
    bool with(const char* word) const {
        return without.find("," + std::string(word) + ",") == std::string::npos;
    }
};

class Worker {
public:
    Worker(const Settings& given, unsigned index, std::size_t budget)
        : settings(given), number(index), random(given.seed * 1000003 + index), bytes_limit(budget) {
        own.push_back(std::unique_ptr<Stream>(new Stream{cudaStreamLegacy, true, true}));
        own.push_back(std::unique_ptr<Stream>(new Stream{cudaStreamPerThread, true, false, true}));
        for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking, cudaStreamNonBlocking})
            add_stream(flags);
        for (cudaEvent_t& event : events)
            expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }

    /// The answer to a call that has to succeed.
    template <class Status>
    void expect(Status status) {
        digest.add(static_cast<std::uint64_t>(status));
        if (static_cast<int>(status) != 0 && unexpected++ == 0)
            std::fprintf(stderr, "random_program: step %zu, %s: answer %d\n", step, doing,
                         static_cast<int>(status));
    }
    /// The answer to a call that may fail; the runtime forgets it again.
    template <class Status>
    void see(Status status) {
        digest.add(static_cast<std::uint64_t>(status));
        digest.add(static_cast<std::uint64_t>(cudaGetLastError()));
    }

    void add_stream(unsigned flags) {
        cudaStream_t made = nullptr;
        expect(cudaStreamCreateWithFlags(&made, flags));
        own.push_back(std::unique_ptr<Stream>(new Stream{made, flags == cudaStreamDefault}));
    }
    Stream& any_stream() { return *own[random.below(own.size())]; }
    Stream& capturing_stream() {
        for (;;)
            if (Stream& found = any_stream(); found.captures())
                return found;
    }
    Stream& legacy() { return *own[0]; }
    cudaEvent_t any_event() { return events[random.below(std::size(events))]; }

    /// A buffer for which `fits` holds; null: none was found.
    template <class Fits>
    Buffer* any(Fits fits) {
        for (int i = 0; i < 24 && !buffers.empty(); ++i)
            if (Buffer* found = buffers[random.below(buffers.size())].get(); fits(*found))
                return found;
        return nullptr;
    }

    /// Where in `buffer` that many bytes begin.
    unsigned char* any_place(const Buffer& buffer, std::size_t length) {
        return buffer.at + random.below(buffer.bytes - length + 1);
    }

    /// Whatever `stream` gets from now on finds `buffer` as all work so far leaves it.
    void order(Buffer& buffer, Stream& stream) {
        const Stream* const last = buffer.last;
        if (last && ((last->legacy && stream.blocking) || (stream.legacy && last->blocking)))
            buffer.use(step);
        else
            order_by_event(buffer, stream);
    }
    /// The same, where the order that the legacy default stream brings may not be relied upon.
    void order_by_event(Buffer& buffer, Stream& stream) {
        buffer.use(step);
        if (buffer.last == nullptr || buffer.last == &stream)
            return;
        if (random.one_in(16))
            return settle(buffer);
        wait_for(*buffer.last, stream);
    }
    void wait_for(Stream& first, Stream& then) {
        const cudaEvent_t event = any_event();
        expect(cudaEventRecord(event, first.handle));
        expect(cudaStreamWaitEvent(then.handle, event, 0));
    }
    /// The host may use `buffer`.
    void settle(Buffer& buffer) {
        buffer.use(step);
        if (buffer.last == nullptr)
            return;
        switch (random.below(settings.with("queries") ? 4 : 2)) {
        case 0:
            expect(cudaStreamSynchronize(buffer.last->handle));
            break;
        case 1: {
            const std::unique_lock<std::shared_mutex> alone(captures());
            expect(cudaDeviceSynchronize());
            break;
        }
        case 2: {
            const cudaEvent_t event = any_event();
            expect(cudaEventRecord(event, buffer.last->handle));
            expect(cudaEventSynchronize(event));
            break;
        }
        default: {
            const cudaEvent_t event = any_event();
            expect(cudaEventRecord(event, buffer.last->handle));
            for (int i = 0; i < 4 && cudaEventQuery(event) == cudaErrorNotReady; ++i)
                cudaGetLastError(); // how often is a matter of time
            expect(cudaStreamSynchronize(buffer.last->handle));
        }
        }
        buffer.last = nullptr;
    }

    /// `length` bytes of `buffer`, or of a copy of it, at `from`.
    void read(const Buffer& buffer, const void* from, std::size_t length) {
        digest.add(from, length);
        if (!settings.tell_steps)
            return;
        Digest alone;
        alone.add(from, length);
        told.push_back({step, doing, alone.value(), first_bytes(from, length) + " of " + buffer.describe()});
    }

    void drop_graphs_of(const Buffer& buffer) {
        graphs.erase(std::remove_if(graphs.begin(), graphs.end(),
                                    [&](const Graph& graph) {
                                        if (std::find(graph.uses.begin(), graph.uses.end(), &buffer) ==
                                            graph.uses.end())
                                            return false;
                                        destroy(graph);
                                        return true;
                                    }),
                     graphs.end());
    }
    void destroy(const Graph& graph) {
        expect(cudaGraphExecDestroy(graph.exec));
        if (graph.source)
            expect(cudaGraphDestroy(graph.source));
    }

    const Settings& settings;
    const unsigned number;
    Random random;
    Digest digest;
    std::size_t step = 0;
    std::size_t unexpected = 0;
    const char* doing = "";
    std::vector<Told> told; ///< with settings.tell_steps

    const std::size_t bytes_limit;
    std::size_t bytes = 0;
    std::size_t device_bytes = 0; ///< of these, what no host memory can take the place of
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<std::unique_ptr<Stream>> own; ///< the legacy one, the thread's own, and those it made
    std::vector<Graph> graphs;
    std::unique_ptr<Buffer> table; ///< of pointers
    cudaEvent_t events[8];
    CUmemoryPool pool = nullptr;
};

} // namespace random_program
