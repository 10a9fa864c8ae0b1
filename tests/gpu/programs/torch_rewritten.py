"""Times PyTorch training steps in alternating blocks of one process, to be run under `umadvisor run --act rewrite=all -c
cudaProfilerApi`: of a model in memory that is left to the driver, in a pause; of another like it, for how much two such
differ; and of one whose memory is made managed, recorded. The argument is the library that allocates for the first two."""

import sys

import torch

import torch_training
import turns

ROUNDS, STEPS, WARM_UP = 100, 8, 2


def main():
    torch_training.prepare()
    torch.autograd.set_multithreading_enabled(False)  # pools are a thread's: gradients shall be of them, too
    allocator = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "limited_allocate", "limited_free")
    plain, managed = torch.cuda.MemPool(allocator.allocator()), torch.cuda.MemPool()

    def make(pool):
        with torch.cuda.use_mem_pool(pool):
            return torch_training.Training()

    def plain_block(training):
        with torch.cuda.use_mem_pool(plain):
            return training.block(STEPS, WARM_UP)

    def managed_block(training):
        torch.cuda.cudart().cudaProfilerStart()
        try:
            with torch.cuda.use_mem_pool(managed):
                return training.block(STEPS, WARM_UP)
        finally:
            torch.cuda.cudart().cudaProfilerStop()

    first, second, third = make(plain), make(plain), make(managed)
    turns.print_against_first([lambda: plain_block(first), lambda: plain_block(second), lambda: managed_block(third)], ROUNDS)


main()
