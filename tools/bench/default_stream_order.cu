// Whether a copy to the device finds its source as a kernel on another stream leaves it, where the legacy
// default stream's implicit order is what puts it behind that kernel, and where an event is. A JSON line for
// each kind of source, length and order: how many copies of how many came too early.
#include "tools/examples/options.hpp"
#include "tools/simcuda/portable.hpp"

#include <vector>

/// Writes late: what is to come behind it has been asked for by then.
KERNEL write_late(DevicePtr<unsigned char> target, std::size_t bytes, unsigned steps, unsigned char value) {
    volatile unsigned passed = 0; // not to be computed in one step
    while (passed < steps)
        passed = passed + 1;
    for (std::size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        target[static_cast<std::ptrdiff_t>(i)] = value;
}

namespace {

constexpr int trials = 8;
constexpr std::size_t most_bytes = 1 << 20;
#ifdef __CUDACC__
constexpr unsigned late_steps = 10000; ///< longer than the next calls take
#else
constexpr unsigned late_steps = 1;
#endif

struct Source {
    const char* name;
    unsigned char* at;
};

/// What puts the copy behind the kernel.
enum class Order { legacy_first, legacy_last, event };

unsigned char* page_locked() {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, most_bytes));
    return static_cast<unsigned char*>(memory);
}

unsigned char* managed() {
    unsigned char* memory = nullptr;
    CHECK(cudaMallocManaged(&memory, most_bytes));
    return memory;
}

unsigned char* managed(cudaMemoryAdvise advice, cudaMemLocationType where) {
    unsigned char* const memory = managed();
    cudaMemLocation location{};
    location.type = where;
    CHECK(cudaMemAdvise(memory, most_bytes, advice, location));
    return memory;
}

struct Streams {
    cudaStream_t first, then;
    bool joined;
};

class Trial {
public:
    Trial() : found_(most_bytes) {
        CHECK(cudaMalloc(&target_, most_bytes));
        CHECK(cudaStreamCreate(&blocking_));
        CHECK(cudaStreamCreate(&other_));
        CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    }

    /// Whether the copy read what was there before the kernel.
    bool early(const Source& source, std::size_t bytes, Order order) {
        const auto value = static_cast<unsigned char>(1 + count_++ % 200);
        const Streams streams = streams_of(order);
        std::fill_n(source.at, bytes, static_cast<unsigned char>(0));
        CHECK(cudaMemset(target_, 0, bytes));
        CHECK(cudaDeviceSynchronize());
        LAUNCH(write_late, 1, 256, streams.first, source.at, bytes, late_steps, value);
        if (streams.joined) {
            CHECK(cudaEventRecord(event_, streams.first));
            CHECK(cudaStreamWaitEvent(streams.then, event_, 0));
        }
        CHECK(cudaMemcpyAsync(target_, source.at, bytes, cudaMemcpyDefault, streams.then));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(found_.data(), target_, bytes, cudaMemcpyDefault));
        return std::any_of(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(bytes),
                           [value](unsigned char each) { return each != value; });
    }

private:
    Streams streams_of(Order order) const {
        switch (order) {
        case Order::legacy_first:
            return {cudaStreamLegacy, blocking_, false};
        case Order::legacy_last:
            return {blocking_, cudaStreamLegacy, false};
        default:
            return {blocking_, other_, true};
        }
    }

    unsigned char* target_ = nullptr;
    std::vector<unsigned char> found_;
    cudaStream_t blocking_ = nullptr, other_ = nullptr;
    cudaEvent_t event_ = nullptr;
    unsigned count_ = 0;
};

} // namespace

int main() {
    const Source sources[] = {
        {"page_locked", page_locked()},
        {"managed", managed()},
        {"managed.prefers_device", managed(cudaMemAdviseSetPreferredLocation, cudaMemLocationTypeDevice)},
        {"managed.accessed_by", managed(cudaMemAdviseSetAccessedBy, cudaMemLocationTypeDevice)},
        {"managed.read_mostly", managed(cudaMemAdviseSetReadMostly, cudaMemLocationTypeDevice)},
        {"managed.prefers_host", managed(cudaMemAdviseSetPreferredLocation, cudaMemLocationTypeHost)},
    };
    constexpr const char* orders[] = {"behind_legacy", "before_legacy", "by_event"};
    Trial trial;
    for (const Source& source : sources)
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{24576}, std::size_t{32768}, most_bytes})
            for (const Order order : {Order::legacy_first, Order::legacy_last, Order::event}) {
                int early = 0;
                for (int i = 0; i < trials; ++i)
                    early += trial.early(source, bytes, order);
                std::printf(
                    "{\"source\": \"%s\", \"bytes\": %zu, \"order\": \"%s\", \"early\": %d, \"of\": %d}\n",
                    source.name, bytes, orders[static_cast<int>(order)], early, trials);
            }
    return 0;
}
