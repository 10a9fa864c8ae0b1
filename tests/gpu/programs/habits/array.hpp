#pragma once
// A managed array and all that either side does to it. Nothing here touches it unasked: that a result is right
// is checked where the data lies.
#include "contents.hpp"
#include "timeline.hpp"

#include "tools/simcuda/portable.hpp"

#include <cstring>

namespace habits {

static KERNEL fill(DevicePtr<unsigned> words, std::size_t first, std::size_t cells, unsigned seed) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = first + std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < first + cells;
         i += stride)
        words[i * line_words] = static_cast<unsigned>(i) * 2654435761u + seed;
}

static KERNEL add_one(DevicePtr<unsigned> words, std::size_t first, std::size_t cells) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = first + std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < first + cells;
         i += stride)
        words[i * line_words] += 1u;
}

static KERNEL add_up(DevicePtr<const unsigned> words, std::size_t first, std::size_t cells,
                     DevicePtr<unsigned> digest) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    unsigned sum = 0;
    for (std::size_t i = first + std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < first + cells;
         i += stride) {
        const unsigned value = words[i * line_words];
        sum += value * static_cast<unsigned>(2 * i + 1);
    }
    atomicAdd(digest, sum);
}

/// Work of the device that is about no managed memory.
static KERNEL stay_away(DevicePtr<unsigned> digest) {
    atomicAdd(digest, 0u);
}

class Array {
public:
    Array(Trial& trial, const char* name, std::size_t bytes, std::string label)
        : trial_(trial), bytes_(bytes), contents_(trial.request.seed), streams_(trial.request.streams + 1) {
        trial.allocations.push_back({name, bytes, std::move(label)});
        CHECK(cudaMallocManaged(&words_, bytes));
        prepare();
    }
    explicit Array(Trial& trial) : Array(trial, "data", trial.request.bytes, trial.label) {}
    /// A __managed__ variable.
    Array(Trial& trial, unsigned* variable, std::size_t bytes)
        : trial_(trial),
          words_(variable),
          bytes_(bytes),
          ours_(false),
          contents_(trial.request.seed),
          streams_(trial.request.streams + 1) {
        trial.allocations.push_back({"variable", bytes, trial.label});
        prepare();
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() {
        synchronize();
        // Into pinned memory: the one copy of the program must not be a habit of its own.
        CHECK(cudaMemcpy(result_, digest_, sizeof *digest_, cudaMemcpyDeviceToHost));
        trial_.right = trial_.right && *result_ == device_digest_;
        for (cudaStream_t stream : streams_)
            CHECK(cudaStreamDestroy(stream));
        CHECK(cudaFreeHost(result_));
        CHECK(cudaFree(digest_));
        if (ours_)
            CHECK(cudaFree(words_));
    }

    Span all() const { return {0, bytes_ / line}; }
    Span pages(std::size_t first, std::size_t count) const {
        return {first * page_cells, std::min(count * page_cells, bytes_ / line - first * page_cells)};
    }
    Span half() const {
        if (bytes_ < fewest_pages * page)
            example::refuse("half of it: --bytes of at least 1 MiB");
        return pages(0, bytes_ / page / 2);
    }
    /// Next to nothing of it, also where 64 KiB are moved for it.
    Span one_page() const {
        if (bytes_ < fewest_pages * page)
            example::refuse("one page of it: --bytes of at least 1 MiB");
        return pages(0, 1);
    }
    unsigned* words() { return words_; }

    void device_fill() { device_fill(all()); }
    /// The rest stays where it is, which is nowhere.
    void device_fill(Span span) {
        contents_.start(Source::counted);
        each_slice(span, [&](cudaStream_t stream, Span slice) {
            LAUNCH(fill, grid(slice), threads, stream, words_, slice.first, slice.cells, trial_.request.seed);
        });
    }
    void device_add(Span span) {
        contents_.add(span);
        each_slice(span, [&](cudaStream_t stream, Span slice) {
            LAUNCH(add_one, grid(slice), threads, stream, words_, slice.first, slice.cells);
        });
    }
    void device_read(Span span) {
        device_digest_ += contents_.digest(span);
        each_slice(span, [&](cudaStream_t stream, Span slice) {
            LAUNCH(add_up, grid(slice), threads, stream, words_, slice.first, slice.cells, digest_);
        });
    }
    void device_stay_away() { LAUNCH(stay_away, 1, 1, streams_.front(), digest_); }

    void host_fill(Source source) {
        contents_.start(source);
        if (source == Source::file)
            return copy_pages();
        volatile unsigned* const words = words_;
        for (std::size_t i = 0; i < all().cells; ++i)
            words[i * line_words] = contents_.first_value(i);
    }
    void host_add(Span span) {
        contents_.add(span);
        volatile unsigned* const words = words_;
        for (std::size_t i = span.first; i < span.first + span.cells; ++i)
            words[i * line_words] = words[i * line_words] + 1u;
        pass_host_time(span.cells * line);
    }
    void host_read(Span span) {
        const volatile unsigned* const words = words_;
        unsigned sum = 0;
        for (std::size_t i = span.first; i < span.first + span.cells; ++i)
            sum += words[i * line_words] * static_cast<unsigned>(2 * i + 1);
        trial_.right = trial_.right && sum == contents_.digest(span);
        pass_host_time(span.cells * line);
    }

    void to_device(Span span) { prefetch(span, device); }
    void to_host(Span span) { prefetch(span, host); }
    /// On a stream that nothing else is on: ordered with no kernel.
    void to_device_aside(Span span) {
        CHECK(cudaMemPrefetchAsync(words_ + span.first * line_words, span.cells * line, device, 0,
                                   streams_.back()));
    }
    /// What is put on the other streams from now on comes after the prefetches aside.
    void wait_for_aside() {
        cudaEvent_t event;
        CHECK(cudaEventCreate(&event));
        CHECK(cudaEventRecord(event, streams_.back()));
        for (cudaStream_t stream : streams_)
            CHECK(cudaStreamWaitEvent(stream, event, 0));
        CHECK(cudaEventDestroy(event));
    }
    void advise(cudaMemoryAdvise advice, cudaMemLocation where) {
        CHECK(cudaMemAdvise(words_, bytes_, advice, where));
    }
    void synchronize() { CHECK(cudaDeviceSynchronize()); }

    static constexpr cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
    static constexpr unsigned threads = 256;

    /// The work is split over the streams page by page; with fewer pages than streams some have none.
    template <class Work>
    void each_slice(Span span, Work work) {
        const std::size_t parts = streams_.size() - 1, pages = (span.cells + page_cells - 1) / page_cells;
        for (std::size_t part = 0; part < parts; ++part) {
            const std::size_t first = pages * part / parts * page_cells;
            const std::size_t last = std::min(pages * (part + 1) / parts * page_cells, span.cells);
            if (first < last)
                work(streams_[part], Span{span.first + first, last - first});
        }
        CHECK(cudaGetLastError());
    }

    bool busy() const {
        for (cudaStream_t stream : streams_) {
            const cudaError_t status = cudaStreamQuery(stream);
            if (status == cudaErrorNotReady) {
                cudaGetLastError(); // which would answer this once more
                return true;
            }
            CHECK(status);
        }
        return false;
    }
    Contents& contents() { return contents_; }

private:
    void prepare() {
        for (cudaStream_t& stream : streams_)
            CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&digest_, sizeof *digest_));
        CHECK(cudaMemset(digest_, 0, sizeof *digest_));
        CHECK(cudaMallocHost(&result_, sizeof *result_));
        synchronize();
    }
    /// As who reads a file does: what touches the array is libc's code. A copy that the compiler knows to be
    /// memcpy would be its own.
    void copy_pages() {
        void* (*volatile const copy)(void*, const void*, std::size_t) = std::memcpy;
        unsigned buffer[page / sizeof(unsigned)] = {};
        for (std::size_t first = 0; first < all().cells; first += page_cells) {
            for (std::size_t i = 0; i < page_cells; ++i)
                buffer[i * line_words] = contents_.first_value(first + i);
            copy(words_ + first * line_words, buffer, page);
        }
    }
    void prefetch(Span span, cudaMemLocation where) {
        each_slice(span, [&](cudaStream_t stream, Span slice) {
            CHECK(
                cudaMemPrefetchAsync(words_ + slice.first * line_words, slice.cells * line, where, 0, stream));
        });
    }
    static unsigned grid(Span slice) {
        return static_cast<unsigned>(std::min<std::size_t>((slice.cells + threads - 1) / threads, 264));
    }

    Trial& trial_;
    unsigned* words_ = nullptr;
    std::size_t bytes_;
    bool ours_ = true;
    Contents contents_;
    std::vector<cudaStream_t> streams_; ///< those asked for and, last, the one aside
    unsigned* digest_ = nullptr;        ///< device memory: what the kernels have added up
    unsigned* result_ = nullptr;        ///< pinned memory
    unsigned device_digest_ = 0;        ///< what they should have
};

} // namespace habits
