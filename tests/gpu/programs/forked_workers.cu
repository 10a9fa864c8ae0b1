// A server's shape: the parent forks its workers before anyone has touched CUDA, each worker uses the GPU, the
// parent collects what they found and then uses the GPU itself.
#include "tools/examples/options.hpp"

#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(unsigned* out, unsigned n, unsigned seed) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = i * 2654435761u + seed;
}

namespace {

constexpr unsigned elements = 1u << 18;
constexpr int workers = 3;

std::uint64_t work(unsigned seed) {
    std::vector<unsigned> host(elements);
    unsigned* data;
    CHECK(cudaMalloc(&data, elements * sizeof(unsigned)));
    fill<<<64, 256>>>(data, elements, seed);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), data, elements * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(data));
    return example::checksum(host.data(), elements * sizeof(unsigned));
}

std::uint64_t expected(unsigned seed) {
    std::vector<unsigned> host(elements);
    for (unsigned i = 0; i < elements; ++i)
        host[i] = i * 2654435761u + seed;
    return example::checksum(host.data(), elements * sizeof(unsigned));
}

} // namespace

int main() {
    bool right = true;
    int pipes[workers][2];
    for (int i = 0; i < workers; ++i) {
        if (pipe(pipes[i]) != 0)
            example::refuse("no pipe");
        const pid_t child = fork();
        if (child < 0)
            example::refuse("no child");
        if (child == 0) {
            const std::uint64_t sum = work(static_cast<unsigned>(i));
            std::exit(write(pipes[i][1], &sum, sizeof sum) == sizeof sum ? 0 : example::status_wrong);
        }
    }
    for (int i = 0; i < workers; ++i) {
        close(pipes[i][1]); // a worker that dies must not leave its parent waiting
        std::uint64_t sum = 0;
        int status = 0;
        right = read(pipes[i][0], &sum, sizeof sum) == sizeof sum &&
                sum == expected(static_cast<unsigned>(i)) && right;
        right = wait(&status) > 0 && status == 0 && right;
        std::printf("worker %d checksum %016llx\n", i, static_cast<unsigned long long>(sum));
    }
    const std::uint64_t own = work(workers);
    return example::conclude(elements, own, right && own == expected(workers));
}
