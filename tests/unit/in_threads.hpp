/// Runs the same work in several threads at once.
#pragma once

#include <thread>
#include <vector>

namespace umadvisor::test {

/// Calls `work(number)` in `count` threads, whose numbers begin at 0, and waits for them.
template <class Work>
void in_threads(std::size_t count, const Work& work) {
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < count; ++number)
        threads.emplace_back([&work, number] { work(number); });
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace umadvisor::test
