#include "analyzer/machine/calibration.hpp"

#include "analyzer/machine/driver.hpp"
#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>

namespace umadvisor::machine {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t bytes = 64 * mib; ///< of each buffer
constexpr std::size_t block = 2 * mib, page = 4096;
constexpr int rounds = 5;

// Numbers as in cuda.h.
constexpr int concurrent_managed_access = 89, set_preferred_location = 3, set_accessed_by = 5;
constexpr unsigned attach_global = 1;

/// Reads each of `count` words. That it writes where it meets a certain one, which is nowhere, keeps the reads
/// in.
constexpr const char* kernel = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry read_words(.param .u64 words, .param .u64 count)
{
    .reg .pred %end, %met;
    .reg .b32 %r<6>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [words];
    ld.param.u64 %d2, [count];
    cvta.to.global.u64 %d1, %d1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %nctaid.x;
    mad.lo.s32 %r3, %r1, %r2, %r3;
    cvt.u64.u32 %d3, %r3;
    mul.wide.u32 %d4, %r2, %r4;
again:
    setp.ge.u64 %end, %d3, %d2;
    @%end bra done;
    shl.b64 %d5, %d3, 2;
    add.s64 %d6, %d1, %d5;
    ld.global.u32 %r5, [%d6];
    setp.eq.u32 %met, %r5, 0x5bd1e995;
    @%met st.global.u32 [%d6], %r5;
    add.s64 %d3, %d3, %d4;
    bra again;
done:
    ret;
}
)";

double median(std::array<double, rounds> values) {
    std::ranges::sort(values);
    return values[rounds / 2];
}

class Bench {
public:
    explicit Bench(int ordinal) {
        check(cuda_.initialize(0), "cuInit");
        check(cuda_.get_device(&device_, ordinal), "cuDeviceGet");
        std::array<char, 256> name{};
        check(cuda_.get_name(name.data(), static_cast<int>(name.size()) - 1, device_), "cuDeviceGetName");
        Rates::each(result_.rates, [](const char*, double& value) { value = 0; });
        result_.rates.device = name.data();
        Handle context = nullptr;
        check(cuda_.retain_context(&context, device_), "cuDevicePrimaryCtxRetain");
        check(cuda_.set_context(context), "cuCtxSetCurrent");
        std::size_t free = 0, total = 0;
        check(cuda_.free_memory(&free, &total), "cuMemGetInfo");
        if (free < 16 * bytes) // never near the end of what others may want
            throw reader::Error("too little free device memory to measure with: " + std::to_string(free / mib) +
                                " MiB, " + std::to_string(16 * bytes / mib) + " are wanted");
        check(cuda_.create_event(&from_, 0), "cuEventCreate");
        check(cuda_.create_event(&to_, 0), "cuEventCreate");
        check(cuda_.allocate(&data_, bytes), "cuMemAlloc");
        check(cuda_.allocate(&other_, bytes), "cuMemAlloc");
        check(cuda_.allocate_pinned(&pinned_, bytes), "cuMemAllocHost");
        std::memset(pageable_.get(), 1, bytes);
        std::memset(pinned_, 1, bytes);
    }
    ~Bench() {
        cuda_.synchronize();
        cuda_.free(data_);
        cuda_.free(other_);
        cuda_.free_pinned(pinned_);
        if (managed_ != 0)
            cuda_.free(managed_);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    Calibration measure() {
        measure_copies();
        const bool kernels = load_kernel();
        if (kernels)
            measure_device_memory();
        if (measure_prefetches() && kernels)
            measure_kernels_on_managed();
        return std::move(result_);
    }

private:
    /// Nanoseconds between two events around `act`, on a device that was idle.
    template <class Act>
    double time(const Act& act) {
        check(cuda_.synchronize(), "cuCtxSynchronize");
        check(cuda_.record_event(from_, nullptr), "cuEventRecord");
        act();
        check(cuda_.record_event(to_, nullptr), "cuEventRecord");
        check(cuda_.wait_event(to_), "cuEventSynchronize");
        float milliseconds = 0;
        check(cuda_.elapsed(&milliseconds, from_, to_), "cuEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e6;
    }
    /// Median of what `act` takes after `prepare`, less what the events take.
    template <class Prepare, class Act>
    double typical(const Prepare& prepare, const Act& act) {
        std::array<double, rounds> taken{};
        prepare();
        act(); // the first time loads code and maps memory
        for (double& each : taken) {
            prepare();
            each = time(act);
        }
        return std::max(1.0, median(taken) - floor_);
    }
    template <class Act>
    double typical(const Act& act) {
        return typical([] {}, act);
    }
    /// Of calls that cost the thread that makes them, whatever the device has to do: median, in nanoseconds.
    template <class Act>
    double host_time(const Act& act) {
        using Clock = std::chrono::steady_clock;
        std::array<double, rounds> taken{};
        for (double& each : taken) {
            check(cuda_.synchronize(), "cuCtxSynchronize");
            const Clock::time_point begin = Clock::now();
            act();
            each = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
        }
        return median(taken);
    }
    static double rate(double ns) { return static_cast<double>(bytes) / ns * 1e9; }

    void measure_copies() {
        Rates& rates = result_.rates;
        floor_ = 0;
        floor_ = typical([] {});
        rates.pinned_to_device =
            rate(typical([&] { check(cuda_.upload(data_, pinned_, bytes), "cuMemcpyHtoD"); }));
        rates.device_to_pinned =
            rate(typical([&] { check(cuda_.download(pinned_, data_, bytes), "cuMemcpyDtoH"); }));
        void* const host_memory = pageable_.get();
        rates.pageable_to_device =
            rate(typical([&] { check(cuda_.upload(data_, host_memory, bytes), "cuMemcpyHtoD"); }));
        rates.device_to_pageable =
            rate(typical([&] { check(cuda_.download(host_memory, data_, bytes), "cuMemcpyDtoH"); }));
        rates.device_to_device =
            rate(typical([&] { check(cuda_.copy_on_device(other_, data_, bytes), "cuMemcpyDtoD"); }));
        rates.memory_set = rate(typical([&] { check(cuda_.set_bytes(other_, 1, bytes), "cuMemsetD8"); }));
        rates.small_copy_ns = typical([&] { check(cuda_.upload(data_, pinned_, 4), "cuMemcpyHtoD"); });
        rates.host_to_host = rate(host_time([&] { std::memcpy(host_memory, pinned_, bytes); }));
    }

    bool load_kernel() {
        Handle module = nullptr;
        if (cuda_.load_module(&module, kernel) == 0 && cuda_.get_function(&kernel_, module, "read_words") == 0)
            return true;
        result_.unmeasured.emplace_back("kernels on managed memory: the driver does not compile PTX");
        return false;
    }
    void read(Address memory) {
        std::uint64_t count = bytes / sizeof(std::uint32_t);
        void* parameters[]{&memory, &count};
        check(cuda_.launch(kernel_, 264, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr), "cuLaunchKernel");
    }
    void measure_device_memory() {
        resident_ns_ = typical([&] { read(data_); });
        result_.rates.device_memory = rate(resident_ns_);
    }

    void move(int where) { check(cuda_.prefetch(managed_, bytes, where, nullptr), "cuMemPrefetchAsync"); }
    void settle(int where) {
        move(where);
        check(cuda_.synchronize(), "cuCtxSynchronize");
    }
    void read_from_host() {
        const auto* const memory = reinterpret_cast<const volatile char*>(managed_);
        for (std::size_t at = 0; at < bytes; at += page)
            static_cast<void>(memory[at]);
    }
    void touch_from_host() {
        auto* const memory = reinterpret_cast<volatile char*>(managed_);
        for (std::size_t at = 0; at < bytes; at += page)
            memory[at] = 1;
    }

    bool measure_prefetches() {
        int concurrent = 0;
        if (cuda_.get_attribute(&concurrent, concurrent_managed_access, device_) != 0 || concurrent == 0) {
            result_.unmeasured.emplace_back("managed memory: this device moves it at launches only");
            return false;
        }
        check(cuda_.allocate_managed(&managed_, bytes, attach_global), "cuMemAllocManaged");
        touch_from_host();
        Rates& rates = result_.rates;
        rates.prefetch_to_device = rate(typical([&] { settle(host); }, [&] { move(device_); }));
        rates.prefetch_to_host = rate(typical([&] { settle(device_); }, [&] { move(host); }));
        rates.fault_to_host = rate(typical([&] { settle(device_); }, [&] { read_from_host(); }));
        auto* const first = reinterpret_cast<volatile char*>(managed_);
        rates.host_fault_ns = typical([&] { settle(device_); }, [&] { *first = 1; });
        settle(device_);
        const double one =
            host_time([&] { check(cuda_.prefetch(managed_, block, device_, nullptr), "cuMemPrefetchAsync"); });
        const double all = host_time([&] { move(device_); });
        rates.prefetch_block_ns = std::max(1.0, (all - one) / static_cast<double>(bytes / block - 1));
        rates.prefetch_call_ns = std::max(1.0, one - rates.prefetch_block_ns);
        return true;
    }
    void measure_kernels_on_managed() {
        const auto beyond_resident = [this](double ns) { return rate(std::max(1.0, ns - resident_ns_)); };
        Rates& rates = result_.rates;
        rates.fault_to_device = beyond_resident(typical([&] { settle(host); }, [&] { read(managed_); }));
        settle(host);
        check(cuda_.advise(managed_, bytes, set_preferred_location, host), "cuMemAdvise");
        check(cuda_.advise(managed_, bytes, set_accessed_by, device_), "cuMemAdvise");
        rates.remote_access = rate(typical([&] { read(managed_); }));
    }

    Driver cuda_;
    Calibration result_;
    int device_ = 0;
    Handle from_ = nullptr, to_ = nullptr, kernel_ = nullptr;
    Address data_ = 0, other_ = 0, managed_ = 0;
    void* pinned_ = nullptr;
    std::unique_ptr<char[]> pageable_{new char[bytes]};
    double floor_ = 0;       ///< of two events with nothing between
    double resident_ns_ = 0; ///< the kernel on device memory
};

} // namespace

Calibration calibrate(int ordinal) {
    return Bench(ordinal).measure();
}

} // namespace umadvisor::machine
