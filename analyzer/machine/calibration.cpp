#include "analyzer/machine/calibration.hpp"

#include "analyzer/machine/bench.hpp"
#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace umadvisor::machine {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t bytes = 64 * mib; ///< of each buffer
constexpr std::size_t block = 2 * mib, page = 4096;

// Numbers as in cuda.h.
constexpr int concurrent_managed_access = 89, set_preferred_location = 3, set_accessed_by = 5;
constexpr unsigned attach_global = 1, non_blocking = 1;

/// Reads each of `count` words. It would write if it met a value that no word has, so that the compiler keeps
/// the reads.
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

class Calibrator {
public:
    explicit Calibrator(int ordinal) : bench_(ordinal), device_(bench_.device()) {
        Rates::each(result_.rates, [](const char*, double& value) { value = 0; });
        result_.rates.device = bench_.device_name();
        std::size_t free = 0, total = 0;
        check(cuda_.free_memory(&free, &total), "cuMemGetInfo");
        if (free < 16 * bytes) // never near the end of what others may want
            throw reader::Error(
                fmt::format("too little free device memory to measure with: {} MiB, {} are wanted", free / mib,
                            16 * bytes / mib));
        check(cuda_.allocate(&data_, bytes), "cuMemAlloc");
        check(cuda_.allocate(&other_, bytes), "cuMemAlloc");
        check(cuda_.allocate_pinned(&pinned_, bytes), "cuMemAllocHost");
        std::memset(pageable_.get(), 1, bytes);
        std::memset(pinned_, 1, bytes);
    }
    ~Calibrator() {
        cuda_.synchronize();
        cuda_.free(data_);
        cuda_.free(other_);
        cuda_.free_pinned(pinned_);
        if (managed_ != 0)
            cuda_.free(managed_);
    }
    Calibrator(const Calibrator&) = delete;
    Calibrator& operator=(const Calibrator&) = delete;

    Calibration measure() {
        measure_copies();
        measure_host_pages();
        measure_both_ways();
        measure_peer();
        const bool kernels = load_kernel();
        if (kernels) {
            measure_device_memory();
            measure_launch();
        }
        if (measure_prefetches() && kernels)
            measure_kernels_on_managed();
        return std::move(result_);
    }

private:
    static double rate(double ns) { return static_cast<double>(bytes) / ns * 1e9; }
    static double rate_beyond(double ns, double resident_ns) { return rate(std::max(1.0, ns - resident_ns)); }

    void measure_copies() {
        Rates& rates = result_.rates;
        rates.pinned_to_device =
            rate(bench_.typical([&] { check(cuda_.upload(data_, pinned_, bytes), "cuMemcpyHtoD"); }));
        rates.device_to_pinned =
            rate(bench_.typical([&] { check(cuda_.download(pinned_, data_, bytes), "cuMemcpyDtoH"); }));
        void* const host_memory = pageable_.get();
        rates.pageable_to_device =
            rate(bench_.typical([&] { check(cuda_.upload(data_, host_memory, bytes), "cuMemcpyHtoD"); }));
        rates.device_to_pageable =
            rate(bench_.typical([&] { check(cuda_.download(host_memory, data_, bytes), "cuMemcpyDtoH"); }));
        rates.device_to_device =
            rate(bench_.typical([&] { check(cuda_.copy_on_device(other_, data_, bytes), "cuMemcpyDtoD"); }));
        rates.memory_set =
            rate(bench_.typical([&] { check(cuda_.set_bytes(other_, 1, bytes), "cuMemsetD8"); }));
        rates.small_copy_ns = bench_.typical([&] { check(cuda_.upload(data_, pinned_, 4), "cuMemcpyHtoD"); });
        rates.host_to_host = rate(bench_.host_time([&] { std::memcpy(host_memory, pinned_, bytes); }));
    }

    void measure_host_pages() {
        Rates& rates = result_.rates;
        rates.host_first_touch = rate(bench_.host_time([] {
            const std::unique_ptr<char[]> fresh{new char[bytes]};
            volatile char* const touched = fresh.get();
            for (std::size_t at = 0; at < bytes; at += page)
                touched[at] = 1;
        }));
        constexpr std::size_t few = mib;
        const auto lock_and_unlock = [this](std::size_t length) {
            return bench_.host_time([&] {
                check(cuda_.page_lock(pageable_.get(), length, 0), "cuMemHostRegister");
                check(cuda_.unlock(pageable_.get()), "cuMemHostUnregister");
            });
        };
        const double few_ns = lock_and_unlock(few), all_ns = lock_and_unlock(bytes);
        rates.page_lock = static_cast<double>(bytes - few) / std::max(1.0, all_ns - few_ns) * 1e9;
        rates.page_lock_ns = std::max(1.0, few_ns - static_cast<double>(few) / rates.page_lock * 1e9);
        rates.host_unlock = rate(
            bench_.host_time([this] { check(cuda_.page_lock(pageable_.get(), bytes, 0), "cuMemHostRegister"); },
                             [this] { check(cuda_.unlock(pageable_.get()), "cuMemHostUnregister"); }));
    }

    /// Half of the bytes each way, in two streams.
    void measure_both_ways() {
        Handle up = nullptr, down = nullptr;
        check(cuda_.create_stream(&up, non_blocking), "cuStreamCreate");
        check(cuda_.create_stream(&down, non_blocking), "cuStreamCreate");
        constexpr std::size_t half = bytes / 2;
        const auto upload = [&] { check(cuda_.upload_async(data_, pinned_, half, up), "cuMemcpyHtoDAsync"); };
        const auto download = [&] {
            check(cuda_.download_async(static_cast<char*>(pinned_) + half, other_, half, down),
                  "cuMemcpyDtoHAsync");
        };
        const auto waited = [this](const auto& act) {
            return bench_.host_time([&] {
                act();
                bench_.wait();
            });
        };
        waited(upload);
        const double alone = std::max(waited(upload), waited(download));
        const double both = waited([&] {
            upload();
            download();
        });
        result_.rates.both_ways_ratio = std::max(1.0, both / alone);
        cuda_.destroy_stream(up);
        cuda_.destroy_stream(down);
    }
    /// From this device to the one that comes next, where there is one that it reaches.
    void measure_peer() {
        int count = 0, next = 0, reaches = 0;
        if (cuda_.count_devices(&count) != 0 || count < 2 ||
            cuda_.get_device(&next, (device_ + 1) % count) != 0 ||
            cuda_.can_access_peer(&reaches, device_, next) != 0 || reaches == 0)
            return;
        Handle peer = nullptr;
        Address there = 0;
        check(cuda_.retain_context(&peer, next), "cuDevicePrimaryCtxRetain");
        check(cuda_.set_context(peer), "cuCtxSetCurrent");
        const bool room = cuda_.allocate(&there, bytes) == 0;
        check(cuda_.set_context(bench_.context()), "cuCtxSetCurrent");
        if (room) {
            const auto copied = [&] {
                return rate(bench_.typical([&] {
                    check(cuda_.copy_to_peer(there, peer, data_, bench_.context(), bytes, nullptr),
                          "cuMemcpyPeerAsync");
                }));
            };
            result_.rates.peer_through_host = copied();
            if (cuda_.enable_peer_access(peer, 0) == 0)
                result_.rates.peer = copied();
        }
        bench_.wait();
        cuda_.set_context(peer);
        if (room)
            cuda_.free(there);
        check(cuda_.set_context(bench_.context()), "cuCtxSetCurrent");
    }

    bool load_kernel() {
        Handle module = nullptr;
        if (cuda_.load_module(&module, kernel) == 0 && cuda_.get_function(&kernel_, module, "read_words") == 0)
            return true;
        result_.unmeasured.emplace_back("kernels on managed memory: the driver does not compile PTX");
        return false;
    }
    void read(Address memory, std::uint64_t count = bytes / sizeof(std::uint32_t)) {
        void* parameters[]{&memory, &count};
        check(cuda_.launch(kernel_, 264, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr), "cuLaunchKernel");
    }
    void measure_device_memory() {
        resident_ns_ = bench_.typical([&] { read(data_); });
        result_.rates.device_memory = rate(resident_ns_);
    }

    void measure_launch() {
        constexpr int launches = 64;
        result_.rates.launch_call_ns = bench_.host_time([this] {
            for (int i = 0; i < launches; ++i)
                read(data_, 0);
        }) / launches;
    }

    void move(int where, std::size_t size = bytes) {
        check(cuda_.prefetch(managed_, size, where, nullptr), "cuMemPrefetchAsync");
    }
    void settle(int where) {
        move(where);
        bench_.wait();
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
    /// Reads before it writes, each word.
    void raise_from_host() {
        auto* const words = reinterpret_cast<volatile std::uint32_t*>(managed_);
        for (std::size_t i = 0; i < bytes / sizeof *words; ++i)
            words[i] = words[i] + 1;
    }

    void touch_first_page() { *reinterpret_cast<volatile char*>(managed_) = 1; }

    bool measure_prefetches() {
        int concurrent = 0;
        if (cuda_.get_attribute(&concurrent, concurrent_managed_access, device_) != 0 || concurrent == 0) {
            result_.unmeasured.emplace_back("managed memory: this device moves it at launches only");
            return false;
        }
        check(cuda_.allocate_managed(&managed_, bytes, attach_global), "cuMemAllocManaged");
        touch_from_host();
        Rates& rates = result_.rates;
        rates.prefetch_to_device = rate(bench_.typical([&] { settle(host); }, [&] { move(device_); }));
        rates.prefetch_to_host = rate(bench_.typical([&] { settle(device_); }, [&] { move(host); }));
        rates.fault_to_host = rate(bench_.typical([&] { settle(device_); }, [&] { read_from_host(); }));
        rates.host_fault_ns = bench_.mean_now_and_then([&] { settle(device_); }, [&] { touch_first_page(); });
        measure_writes();
        settle(device_);
        const double one = bench_.host_time([&] { move(device_, block); });
        const double all = bench_.host_time([&] { move(device_); });
        constexpr std::size_t more_blocks = bytes / block - 1;
        rates.prefetch_block_ns = std::max(1.0, (all - one) / static_cast<double>(more_blocks));
        rates.prefetch_call_ns = std::max(1.0, one - rates.prefetch_block_ns);
        const double moving = bench_.typical([&] { settle(host); }, [&] { move(device_, block); });
        rates.prefetch_move_ns =
            std::max(1.0, moving - one - static_cast<double>(block) / rates.prefetch_to_device * 1e9);
        return true;
    }
    /// What the host pays for memory that it writes, by faults and after a prefetch, beyond memory that it has.
    void measure_writes() {
        const auto raise = [this] { raise_from_host(); };
        settle(host);
        touch_from_host();
        const auto [resident_ns, by_faults_ns, prefetched_ns] =
            bench_.typical_in_turn<3>({{{[] {}, raise},
                                        {[this] { settle(device_); }, raise},
                                        {[this] {
                                             settle(device_);
                                             settle(host);
                                         },
                                         raise}}});
        result_.rates.fault_to_host_written = rate_beyond(by_faults_ns, resident_ns);
        result_.rates.host_first_write = rate_beyond(prefetched_ns, resident_ns);
    }
    void measure_kernels_on_managed() {
        Rates& rates = result_.rates;
        rates.fault_to_device =
            rate_beyond(bench_.typical([&] { settle(host); }, [&] { read(managed_); }), resident_ns_);
        const auto read_block = [this] { read(managed_, block / sizeof(std::uint32_t)); };
        settle(device_);
        const double block_ns = bench_.mean_now_and_then([] {}, read_block);
        const auto take_a_page = [this] {
            settle(device_);
            touch_first_page();
        };
        rates.device_fault_ns = std::max(1.0, bench_.mean_now_and_then(take_a_page, read_block) - block_ns);
        settle(host);
        check(cuda_.advise(managed_, bytes, set_preferred_location, host), "cuMemAdvise");
        check(cuda_.advise(managed_, bytes, set_accessed_by, device_), "cuMemAdvise");
        rates.remote_access = rate(bench_.typical([&] { read(managed_); }));
    }

    Bench bench_;
    const Driver& cuda_ = bench_.driver();
    int device_;
    Calibration result_;
    Handle kernel_ = nullptr;
    Address data_ = 0, other_ = 0, managed_ = 0;
    void* pinned_ = nullptr;
    std::unique_ptr<char[]> pageable_{new char[bytes]};
    double resident_ns_ = 0; ///< the kernel on device memory
};

} // namespace

Calibration calibrate(int ordinal) {
    return Calibrator(ordinal).measure();
}

} // namespace umadvisor::machine
