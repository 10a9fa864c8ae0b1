/// The cache is exact: each captured stack of random call trees is compared with what unw_step finds.
///   UMADVISOR_STACK_CAPTURES   how many (100000)
///   UMADVISOR_STACK_SEED       of the trees (1)
#include "record_image.hpp"
#include "stack_reference.hpp"
#include "stack_ways.hpp"

#include "interposer/record/stacks.hpp"
#include "interposer/record/thread_writer.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

constexpr std::uint64_t trees = 4000, trees_a_round = 160, captures_a_round = 5000;

struct Seen {
    std::vector<std::uint64_t> walk; ///< from the caller of capture() on
    std::uint64_t plugin = 0;        ///< which load of the plug-in is on it; 0: none
    std::uint64_t captures = 0;
};

/// What was captured, by the number that the recorder gave.
std::unordered_map<std::uint64_t, Seen> stacks_seen;
std::unique_ptr<ReferenceWalk> reference;
std::uint64_t mismatches = 0, tree_at_hand = 0;

void tell_difference(std::uint64_t id, const char* what, const std::vector<std::uint64_t>& got,
                     const std::vector<std::uint64_t>& expected) {
    if (++mismatches > 5)
        return;
    std::fprintf(stderr, "tree %lu, stack %lu: %s\n", tree_at_hand, id, what);
    for (std::size_t i = 0; i < std::max(got.size(), expected.size()); ++i)
        std::fprintf(stderr, "  %12lx %12lx\n", i < got.size() ? got[i] : 0,
                     i < expected.size() ? expected[i] : 0);
}

[[gnu::noinline]] void capture() {
    const std::uint64_t id = record::stack();
    const auto& walk = reference->from(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
    const PluginPlace& plugin = plugin_place();
    const bool through_plugin = std::any_of(walk.begin(), walk.end(), [&](std::uint64_t address) {
        return plugin.first < address && address < plugin.last;
    });
    Seen& seen = stacks_seen[id];
    if (++seen.captures == 1) {
        seen.walk = walk;
        seen.plugin = through_plugin ? plugin.loads : 0;
    } else if (seen.walk != walk) {
        tell_difference(id, "found by another's number", seen.walk, walk);
    } else if (seen.plugin != 0 && seen.plugin != plugin.loads) {
        tell_difference(id, "found by the number of one through another plug-in", seen.walk, walk);
    }
}

/// In the place of the code that was called so far.
void other_code() {
    if (!replace_code(plugin_place().loads % 2 == 0 ? STACK_PLUGIN_1 : STACK_PLUGIN_2))
        throw std::runtime_error("no plug-in");
    reference->forget_code();
    follow_modules(); // as the wrapper of dlsym does
}

struct Shares {
    std::uint64_t captures = 0, unwound = 0;
};

/// One thread's part: some of the trees, again and again.
void take_round(std::uint64_t seed, Shares& shares) {
    prepare_signals();
    std::mt19937_64 random(seed);
    const std::uint64_t first = random() % (trees - trees_a_round) / trees_alike * trees_alike;
    const std::uint32_t before = thread_writer()->stacks.learned;
    for (std::uint64_t i = 0; i < captures_a_round; ++i) {
        if (i % (captures_a_round / 2) == 0)
            other_code();
        // Those that are alike one after the other, so that one's words still lie there at the next.
        if (i % (2 * trees_alike) == 0)
            tree_at_hand = first + random() % trees_a_round;
        tree_at_hand = tree_at_hand / trees_alike * trees_alike + random() % trees_alike;
        call_through_tree(tree_at_hand, capture);
    }
    shares.captures += captures_a_round;
    shares.unwound += thread_writer()->stacks.learned - before;
}

/// Each number's first walk against what the trace says it stands for.
void compare_with_trace(const std::string& path) {
    const TraceImage image(path);
    std::unordered_map<std::uint64_t, trace::Frame> frames;
    for (const trace::Frame& frame : image.all<trace::Frame>())
        frames[frame.id] = frame;
    std::map<std::uint64_t, std::uint64_t> plugins; // module -> which load
    for (const trace::Module& module : image.all<trace::Module>())
        if (module.path == STACK_PLUGIN_1 || module.path == STACK_PLUGIN_2)
            plugins.emplace(module.id, plugins.size() + 1);
    for (const auto& [id, seen] : stacks_seen) {
        std::vector<std::uint64_t> recorded;
        std::uint64_t plugin = 0;
        for (std::uint64_t at = id; at != 0; at = frames.at(at).parent) {
            recorded.push_back(frames.at(at).address);
            if (plugins.contains(frames.at(at).module))
                plugin = plugins.at(frames.at(at).module);
        }
        if (!recorded.empty())
            recorded.erase(recorded.begin()); // capture() itself
        if (recorded != seen.walk || plugin != seen.plugin) {
            tell_difference(id, "recorded as something else", recorded, seen.walk);
            mismatches += seen.captures - 1;
        }
    }
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace

BOOST_AUTO_TEST_CASE(captured_stacks_are_those_that_unw_step_finds) {
    const std::uint64_t wanted = number_from("UMADVISOR_STACK_CAPTURES", 100'000);
    const std::uint64_t seed = number_from("UMADVISOR_STACK_SEED", 1);
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    BOOST_TEST(succeeds_in_child([&] {
        if (open_trace(path, {.stack_frames = 128}) != nullptr)
            return false;
        reference = std::make_unique<ReferenceWalk>(scratch / "");
        Shares shares;
        for (std::uint64_t round = 0; shares.captures < wanted; ++round)
            std::thread([&] { take_round(seed * 1'000'003 + round, shares); }).join();
        record::close();
        compare_with_trace(path);
        const double hits = 1 - static_cast<double>(shares.unwound) / static_cast<double>(shares.captures);
        std::printf("{\"run\": {\"suite\": \"stacks\", \"seed\": %lu, \"stacks\": %zu, \"reloads\": %lu}}\n"
                    "{\"metric\": \"stack.cache.mismatches\", \"value\": %lu, \"unit\": \"1\", \"n\": %lu}\n"
                    "{\"metric\": \"stack.cache.hits\", \"value\": %.4f, \"unit\": \"1\", \"n\": %lu}\n",
                    seed, stacks_seen.size(), plugin_place().same_place, mismatches, shares.captures, hits,
                    shares.captures);
        std::fflush(stdout);
        // Without hits, and without other code where code was, there would be nothing that it shows.
        return mismatches == 0 && hits > 0.5 && plugin_place().same_place > 0;
    }));
}
