// Small uploads in a row. Prints every answer, and what device memory holds at the end.
//   neighbours   to places that follow each other, from such places
//   scattered    to places apart from each other
//   repeated     to the same place again and again
//   reused       the stream is idle: each source is written again at once
//   downloaded   each round's source is what the same stream has downloaded before, without a wait
//   legacy       in the legacy default stream, to places apart
//   own          in the thread's own default stream
//   streams      two streams in turns
//   launched     a kernel follows each copy
//   recorded     an event is recorded after every tenth copy
//   counted      a call that umadvisor only counts, which orders work, follows every tenth copy
//   written      a stream waits for a value that the last copy writes, without a call after it
//   wrong        one copy has a bad address
//   beyond       the last copy is partly outside its memory
//   freed        source and target are freed after the copies
//   captured     the copies become a graph
//   contexts     two contexts, whose copies have the same stream handle (0) in turns
//   threads      two threads upload in streams of their own
//   large        every fiftieth copy is of 64 KiB
//   combined     the source is write-combined
//   paused       the program does nothing for a while before it waits
// Of structures on the stack, synchronously:
//   structs           to places apart from each other; the structure changes at once
//   structs_close     to places that follow each other
//   structs_again     to the same few places again and again
//   structs_behind    the first of each round comes behind a kernel in a blocking stream
//   structs_written   a host function in a blocking stream writes the first of each round
//   structs_mixed     every other ten copies are asynchronous, from pinned memory
//   structs_launched  a kernel follows each copy
//   structs_other     another thread launches a kernel after every tenth copy
//   structs_freed     the target is freed after the copies, and asked for again
//   structs_made      memory is allocated for each
//   structs_wrong     some copies have a bad address or are partly outside their memory
//   structs_seen      a stream that waits for nothing else sees the last one, without a call after it
#include "driver_program.hpp"

#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t piece = 512, count = 200, bytes = piece * count * 3;
constexpr int rounds = 4;

CUcontext context = nullptr;

CUresult upload(CUdeviceptr to, const void* from, std::size_t length, CUstream stream) {
    static const auto call = ASK("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2); // to look up is a call, too
    return call(to, from, length, stream);
}

CUresult upload_own(CUdeviceptr to, const void* from, std::size_t length) {
    static const auto call = ASK("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2);
    return call(to, from, length, CU_STREAM_PER_THREAD);
}

CUstream make_stream() {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    return stream;
}

void synchronize(CUstream stream) {
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait");
}

struct Memory {
    explicit Memory(unsigned flags = 0) {
        void* pinned = nullptr;
        must(ASK("cuMemHostAlloc", cuMemHostAlloc)(&pinned, bytes, flags), "pinned");
        host = static_cast<unsigned char*>(pinned);
        must(ASK("cuMemAlloc", cuMemAlloc_v2)(&device, bytes), "device");
        must(ASK("cuMemsetD8", cuMemsetD8_v2)(device, 3, bytes), "set");
        synchronize(nullptr);
    }
    void fill(int round) {
        for (std::size_t i = 0; i < bytes; ++i)
            host[i] = static_cast<unsigned char>(i * 7 + i / piece + static_cast<std::size_t>(round) * 31);
    }
    unsigned long sum() const {
        std::vector<unsigned char> now(bytes);
        must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(now.data(), device, bytes), "download");
        unsigned long result = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            result = result * 31 + now[i];
        return result;
    }
    void release() {
        must(ASK("cuMemFreeHost", cuMemFreeHost)(host), "free");
        must(ASK("cuMemFree", cuMemFree_v2)(device), "free");
    }
    unsigned char* host = nullptr;
    CUdeviceptr device = 0;
};

struct Uploads {
    std::string_view what;
    Memory memory{what == "combined" ? unsigned{CU_MEMHOSTALLOC_WRITECOMBINED} : 0u};
    CUstream stream = what == "legacy" ? nullptr : make_stream(), other = make_stream();
    CUevent event = nullptr;
    CUgraphExec graph = nullptr;

    bool is(std::string_view name) const { return what == name; }

    CUresult one(std::size_t i) {
        const bool adjoin = is("neighbours") || is("reused") || is("contexts");
        const std::size_t at = is("repeated") ? i % 3 * piece : i * piece * (adjoin ? 1 : 3);
        const std::size_t from = is("reused") ? 0 : i * piece;
        if (is("wrong") && i == count / 2)
            return upload(16, memory.host + from, piece, stream);
        if (is("beyond") && i + 1 == count)
            return upload(memory.device + bytes - piece, memory.host, piece + 1, stream);
        if (is("reused"))
            std::memset(memory.host, static_cast<int>(i), piece);
        if (is("large") && i % 50 == 49)
            return upload(memory.device + at % (bytes - 65536), memory.host + from, 65536, stream);
        if (is("own"))
            return upload_own(memory.device + at, memory.host + from, piece);
        return upload(memory.device + at, memory.host + from, piece, is("streams") && i % 2 ? other : stream);
    }

    void between(std::size_t i) {
        if (is("recorded") && i % 10 == 9)
            must(ASK("cuEventRecord", cuEventRecord)(event, stream), "record");
        if (is("counted") && i % 10 == 9)
            ASK("cuGraphUpload", cuGraphUpload)(graph, stream);
        if (is("launched"))
            must(ASK("cuMemsetD8Async", cuMemsetD8Async)(memory.device + i * piece * 3, 9, 8, stream), "set");
    }

    void run() {
        must(ASK("cuEventCreate", cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING), "event");
        for (int round = 0; round < (is("legacy") || is("repeated") || is("downloaded") ? 5 * rounds : rounds);
             ++round) {
            if (is("downloaded")) {
                memory.fill(round + 9);
                must(ASK("cuMemsetD8Async", cuMemsetD8Async)(memory.device, static_cast<unsigned char>(round),
                                                             bytes / 2, stream),
                     "set");
                must(ASK("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2)(memory.host, memory.device, bytes / 2,
                                                                    stream),
                     "download");
            } else if (!is("reused")) {
                memory.fill(round);
            }
            int good = 0, last = 0;
            for (std::size_t i = 0; i < count; ++i) {
                last = one(i);
                good += last == CUDA_SUCCESS;
                between(i);
            }
            if (is("freed") && round + 1 == rounds)
                return memory.release();
            if (is("paused"))
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            if (is("own"))
                synchronize(CU_STREAM_PER_THREAD);
            synchronize(stream);
            synchronize(other);
            std::printf("%d %d %lu\n", good, last, memory.sum());
        }
        memory.release();
        if (stream != nullptr)
            must(ASK("cuStreamDestroy", cuStreamDestroy_v2)(stream), "destroy");
    }
};

void run_captured() {
    Uploads uploads{"captured"};
    uploads.memory.fill(1);
    must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(uploads.stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
         "begin");
    for (std::size_t i = 0; i < count; ++i)
        must(uploads.one(i), "copy");
    CUgraph graph = nullptr;
    must(ASK("cuStreamEndCapture", cuStreamEndCapture)(uploads.stream, &graph), "end");
    std::size_t nodes = 0;
    must(ASK("cuGraphGetNodes", cuGraphGetNodes)(graph, nullptr, &nodes), "nodes");
    std::printf("nodes %zu %lu\n", nodes, uploads.memory.sum());
}

/// A run goes on in another context, and another thread waits for the first one's copies.
void run_contexts() {
    CUcontext second = nullptr;
    static const auto create = ASK("cuCtxCreate", cuCtxCreate_v4);
    static const auto current = ASK("cuCtxSetCurrent", cuCtxSetCurrent);
    must(create(&second, nullptr, 0, 0), "context");
    Uploads two{"contexts"};
    must(current(context), "current");
    Uploads one{"contexts"};
    for (int round = 0; round < rounds; ++round) {
        one.memory.fill(round);
        two.memory.fill(round + 5);
        for (Uploads* each : {&one, &two}) {
            must(current(each == &one ? context : second), "current");
            for (std::size_t i = 0; i < count; ++i)
                must(each->one(i), "copy");
        }
        synchronize(two.stream);
        std::printf("two %lu\n", two.memory.sum());
        must(current(context), "current");
        synchronize(one.stream);
        std::printf("one %lu\n", one.memory.sum());
    }
    must(ASK("cuCtxDestroy", cuCtxDestroy_v2)(second), "destroy");
    must(one.one(0), "copy");
    synchronize(one.stream);
}

void run_threads() {
    const auto work = [](unsigned long* sums) {
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
        Uploads uploads{"neighbours"};
        for (int round = 0; round < 4 * rounds; ++round) {
            uploads.memory.fill(round);
            for (std::size_t i = 0; i < count; ++i)
                must(uploads.one(i), "copy");
            synchronize(uploads.stream);
            sums[round] = uploads.memory.sum();
        }
    };
    unsigned long sums[2][4 * rounds] = {};
    std::thread other(work, sums[1]);
    work(sums[0]);
    other.join();
    for (int round = 0; round < 4 * rounds; ++round)
        std::printf("%lu %lu\n", sums[0][round], sums[1][round]);
}

struct Item {
    std::uint64_t number;
    unsigned char bytes[40];

    explicit Item(std::size_t i) : number(i * 3) {
        for (std::size_t k = 0; k < sizeof bytes; ++k)
            bytes[k] = static_cast<unsigned char>(i * 7 + k);
    }
};

CUresult put(CUdeviceptr to, const void* from, std::size_t length) {
    static const auto call = ASK("cuMemcpyHtoD", cuMemcpyHtoD_v2);
    return call(to, from, length);
}

/// The memory is cleared here, since a round of fewer copies leaves the rest as it is.
void set(CUdeviceptr at, unsigned char value, std::size_t length, CUstream stream) {
    static const auto call = ASK("cuMemsetD8Async", cuMemsetD8Async);
    must(call(at, value, length, stream), "set");
}

struct Structs {
    std::string_view what;
    Memory memory{};
    CUstream blocking = nullptr;
    std::uint64_t written = 0; ///< by the host function
    static constexpr std::size_t stride = 96;

    bool is(std::string_view name) const { return what == name; }

    CUresult one(std::size_t i, int round) {
        Item item(i + static_cast<std::size_t>(round));
        const std::size_t at = is("structs_close")   ? i * sizeof item
                               : is("structs_again") ? i % 7 * stride
                                                     : i * stride;
        if (is("structs_written") && i == 0)
            return put(memory.device, &written, sizeof written);
        if (is("structs_mixed") && i / 10 % 2 == 1)
            return upload(memory.device + at - 5 * stride, memory.host + at, stride, nullptr);
        if (is("structs_wrong") && i % 40 == 20)
            return put(16, &item, sizeof item);
        if (is("structs_wrong") && i % 40 == 30)
            return put(memory.device + bytes - 8, &item, sizeof item);
        const CUresult answer = put(memory.device + at, &item, sizeof item);
        item = Item(i + 99); // the driver has read it
        __asm__ volatile("" : : "r"(&item) : "memory");
        return answer;
    }

    void between(std::size_t i) {
        if (is("structs_launched"))
            set(memory.device + i * stride, 9, 8, blocking);
        if (is("structs_other") && i % 10 == 9)
            std::thread([&] {
                must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
                set(memory.device + i * stride, 9, 8, blocking);        // over the last
                set(memory.device + (i + 1) * stride, 8, 48, blocking); // under the next
            }).join();
    }

    static void write(void* number) { ++*static_cast<std::uint64_t*>(number); }

    void begin(int round) {
        if (is("structs_behind"))
            set(memory.device, static_cast<unsigned char>(round), bytes, blocking);
        if (is("structs_written"))
            must(ASK("cuLaunchHostFunc", cuLaunchHostFunc)(blocking, &write, &written), "host function");
        if (is("structs_mixed"))
            memory.fill(round);
    }

    void renew() {
        must(ASK("cuMemFree", cuMemFree_v2)(memory.device), "free");
        must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory.device, bytes), "device");
        set(memory.device, 5, bytes, nullptr);
    }

    /// Into memory of its own each.
    void make_all(int round) {
        static const auto allocate = ASK("cuMemAlloc", cuMemAlloc_v2);
        static const auto release = ASK("cuMemFree", cuMemFree_v2);
        CUdeviceptr all[count] = {};
        unsigned long sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            Item item(i + static_cast<std::size_t>(round));
            must(allocate(&all[i], sizeof item), "device");
            must(put(all[i], &item, sizeof item), "copy");
        }
        for (const CUdeviceptr each : all) {
            Item item(0);
            must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(&item, each, sizeof item), "download");
            sum = sum * 31 + item.number + item.bytes[30];
            must(release(each), "free");
        }
        std::printf("%lu\n", sum);
    }

    void run() {
        for (int round = 0; is("structs_made") && round < rounds; ++round)
            make_all(round);
        if (is("structs_made"))
            return memory.release();
        must(ASK("cuStreamCreate", cuStreamCreate)(&blocking, CU_STREAM_DEFAULT), "stream");
        for (int round = 0; round < (is("structs_again") ? 5 * rounds : rounds); ++round) {
            begin(round);
            int good = 0, sum = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const CUresult answer = one(i, round);
                good += answer == CUDA_SUCCESS;
                sum += answer;
                between(i);
            }
            if (is("structs_freed"))
                renew();
            std::printf("%d %d %lu\n", good, sum, memory.sum());
        }
        memory.release();
    }
};

/// The program only looks: a stream that is ordered with nothing has waited for the last copy all the time.
void run_seen() {
    Structs structs{"structs"};
    const CUstream other = make_stream();
    const Item last(count - 1);
    unsigned expected = 0;
    std::memcpy(&expected, &last, sizeof expected);
    must(ASK("cuStreamWaitValue32", cuStreamWaitValue32_v2)(other, structs.memory.device + (count - 1) * 96,
                                                            expected, CU_STREAM_WAIT_VALUE_EQ),
         "wait for value");
    for (std::size_t i = 0; i < count; ++i)
        must(structs.one(i, 0), "copy");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CUresult answer = CUDA_ERROR_NOT_READY;
    for (int i = 0; i < 1000 && answer == CUDA_ERROR_NOT_READY; ++i)
        answer = ASK("cuStreamQuery", cuStreamQuery)(other);
    std::printf("%d\n", static_cast<int>(answer));
}

/// No call of the program makes what is deferred: the other stream's copy comes all the same.
void run_written() {
    Uploads uploads{"scattered"};
    uploads.memory.fill(1);
    const auto query = ASK("cuStreamQuery", cuStreamQuery);
    must(ASK("cuStreamWaitValue32", cuStreamWaitValue32_v2)(
             uploads.other, uploads.memory.device + (count - 1) * piece * 3,
             *reinterpret_cast<unsigned*>(uploads.memory.host + (count - 1) * piece), CU_STREAM_WAIT_VALUE_EQ),
         "wait for value");
    for (std::size_t i = 0; i < count; ++i)
        must(uploads.one(i), "copy");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CUresult answer = query(uploads.other);
    for (int i = 0; i < 1000 && answer == CUDA_ERROR_NOT_READY; ++i)
        answer = query(uploads.other);
    std::printf("%d\n", static_cast<int>(answer));
}

} // namespace

int main(int, char** arguments) {
    const std::string_view what = arguments[1];
    must(ASK("cuInit", cuInit)(0), "init");
    must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&context, 0), "retain");
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
    if (what == "captured")
        run_captured();
    else if (what == "contexts")
        run_contexts();
    else if (what == "threads")
        run_threads();
    else if (what == "written")
        run_written();
    else if (what == "structs_seen")
        run_seen();
    else if (what.starts_with("structs"))
        Structs{what}.run();
    else
        Uploads{what}.run();
    return 0;
}
