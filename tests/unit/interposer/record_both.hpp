/// Stacks as the recorder numbers them, beside what glibc's own unwinder says of them.
#pragma once

#include "record_image.hpp"
#include "record_process.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <execinfo.h>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace umadvisor::record {

using Addresses = std::vector<std::uint64_t>;

/// The stacks of a trace by their numbers. Throws std::runtime_error where a frame was defined twice.
class StackTree {
public:
    explicit StackTree(const TraceImage& image) {
        for (const trace::Frame& frame : image.all<trace::Frame>())
            if (!frames_.emplace(frame.id, frame).second)
                throw std::runtime_error("a frame was defined twice");
    }

    /// Return addresses, innermost first.
    Addresses addresses(std::uint64_t stack) const {
        Addresses addresses;
        for (; stack != 0; stack = frames_.at(stack).parent)
            addresses.push_back(frames_.at(stack).address);
        return addresses;
    }

private:
    std::map<std::uint64_t, trace::Frame> frames_;
};

/// Writes what a stack is by glibc's own unwinder beside the number the recorder gives it: Stream.flags counts
/// the addresses that follow as Sync.object.
[[gnu::noinline]] inline std::uint64_t record_both() {
    const std::uint64_t id = record::stack();
    void* found[100];
    void** const end = found + backtrace(found, 100);
    // From our caller on: a sanitizer puts a frame of its own before ours.
    void** const first = std::find(found, end, __builtin_return_address(0));
    trace::Stream stream{.flags = static_cast<std::uint64_t>(end - first)};
    stream.stack = id;
    record::write(stream);
    for (void** at = first; at != end; ++at)
        record::write(trace::Sync{.object = reinterpret_cast<std::uint64_t>(*at)});
    return id;
}

struct Pair {
    std::uint64_t id;
    Addresses expected;
};

inline std::vector<Pair> both(const TraceImage& image) {
    std::vector<Pair> pairs;
    const auto syncs = image.all<trace::Sync>();
    std::size_t at = 0;
    for (const trace::Stream& stream : image.all<trace::Stream>()) {
        Pair pair{stream.stack, {}};
        for (std::uint64_t i = 0; i < stream.flags; ++i)
            pair.expected.push_back(syncs.at(at++).object);
        pairs.push_back(pair);
    }
    return pairs;
}

/// Without the innermost frame, which is record_both() itself.
inline bool same_callers(const Addresses& got, const Addresses& expected) {
    return !got.empty() && std::equal(got.begin() + 1, got.end(), expected.begin(), expected.end());
}

/// A program that calls record_both() has `count` stacks, and each is what called.
inline void check_both(const TraceImage& image, std::size_t count) {
    const StackTree tree(image);
    const auto pairs = both(image);
    BOOST_TEST_REQUIRE(pairs.size() == count);
    std::size_t right = 0;
    for (const Pair& pair : pairs)
        right += same_callers(tree.addresses(pair.id), pair.expected);
    BOOST_TEST(right == count);
}

constexpr Varied with_stacks{.stack_frames = 64};

} // namespace umadvisor::record
