/// Plans: names that hold from run to run, and reading what an earlier run has learned.
#include "interposer/base/pages.hpp"
#include "policy/host_returns.hpp"
#include "policy/plan_text.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(act_plan)

using namespace umadvisor::policy;
using umadvisor::trace::ActMode;

namespace {

const std::string whole = R"plan({
  "schema": "umadvisor-plan-1",
  "programs": ["x \"\\ }"], "newer": {"a": [1, -2.5e3, true, null, {"b": []}]},
  "modes": ["prefetch", "stage", "unheard-of"],
  "host_returns": [
    {"key": "00000000000000ff", "first": 0, "last": 4096, "wait": "a.cu:1 in main()"},
    {"key": "fedcba9876543210", "first": 4096, "last": 18446744073709551615},
    {"key": "nonsense", "first": 0, "last": 4096},
    {"key": "0000000000000001", "first": 4096, "last": 4096}
  ],
  "never_prefetch": [{"line": "b.cu:2", "key": "0000000000000002"}],
  "never_rewrite": [{"key": "0000000000000004", "line": "c.cu:3", "why": "x"}, {"key": "3"},
                    {"key": "0000000000000003"}],
  "never_stage": [{"key": "0000000000000005"}],
  "stage": [{"key": "0000000000000006", "line": "d.cu:4", "copies": 3, "bytes": 700}, {"bytes": 65}, {}]
})plan";

std::unique_ptr<Plan> read(const std::string& text, const char*& trouble) {
    auto plan = std::make_unique<Plan>();
    trouble = read_plan(text, *plan);
    return plan;
}

bool is_refused(const std::string& text) {
    const char* trouble = nullptr;
    read(text, trouble);
    return trouble != nullptr;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_is_read) {
    const char* trouble = nullptr;
    const auto plan = read(whole, trouble);
    BOOST_TEST_REQUIRE(trouble == nullptr);
    BOOST_TEST(std::string_view(plan->modes[0]) == "prefetch");
    BOOST_TEST(std::string_view(plan->modes[1]) == "stage");
    BOOST_TEST(plan->mode_count == 3u);
    BOOST_TEST_REQUIRE(plan->return_count == 2u);
    BOOST_TEST(plan->returns[0].key == 255u);
    BOOST_TEST(plan->returns[0].last == 4096u);
    BOOST_TEST(plan->returns[1].key == 0xfedcba9876543210u);
    BOOST_TEST(plan->returns[1].last == UINT64_MAX);
    BOOST_TEST_REQUIRE(plan->never(ActMode::prefetch).count == 1u);
    BOOST_TEST(plan->never(ActMode::prefetch).keys[0] == 2u);
    BOOST_TEST_REQUIRE(plan->never(ActMode::rewrite).count == 2u);
    BOOST_TEST(plan->never(ActMode::rewrite).keys[0] == 4u);
    BOOST_TEST(plan->never(ActMode::rewrite).keys[1] == 3u);
    BOOST_TEST_REQUIRE(plan->never(ActMode::stage).count == 1u);
    BOOST_TEST(plan->never(ActMode::stage).keys[0] == 5u);
    BOOST_TEST(plan->stage_bytes == 765u);
}

BOOST_AUTO_TEST_CASE(what_is_no_plan_is_refused) {
    for (const char* text :
         {"", "{", "[]", "{}", "null", "{\"schema\": \"umadvisor-plan-2\"}",
          "{\"schema\": \"umadvisor-plan-1\"} x", "{\"schema\": \"umadvisor-plan-1\", \"modes\": 3}",
          "{\"schema\": \"umadvisor-plan-1\", \"host_returns\": [{\"first\": 18446744073709551616}]}"})
        BOOST_TEST(is_refused(text), text);
    BOOST_TEST(is_refused("{\"schema\": \"umadvisor-plan-1\", \"x\": " + std::string(100'000, '[')));
    BOOST_TEST(!is_refused("{\"schema\": \"umadvisor-plan-1\"}\n"));
}

BOOST_AUTO_TEST_CASE(a_wrong_type_is_not_called_no_json) {
    const auto why = [](const std::string& text) {
        const char* trouble = nullptr;
        read(text, trouble);
        return std::string(trouble == nullptr ? "" : trouble);
    };
    const std::string begin = "{\"schema\": \"umadvisor-plan-1\", ";
    for (const char* const rest :
         {"\"modes\": 3}", "\"modes\": [1]}", "\"host_returns\": {}}",
          "\"host_returns\": [{\"first\": \"x\"}]}", "\"host_returns\": [{\"first\": -1}]}",
          "\"stage\": [null]}", "\"never_stage\": true}"})
        BOOST_TEST(why(begin + rest) == "is JSON, but a value in it is not what a plan has there", rest);
    BOOST_TEST(why("[]") == "is JSON, but a value in it is not what a plan has there");
    BOOST_TEST(why("{\"schema\": 1}") == "is JSON, but a value in it is not what a plan has there");
    for (const char* const text : {"", "{", "\"schema\": 1", "{\"modes\": [}", "{\"modes\": []} x", "plan"})
        BOOST_TEST(why(text) == "is no JSON", text);
    BOOST_TEST(why("{}") == "is no plan of schema umadvisor-plan-1");
}

BOOST_AUTO_TEST_CASE(every_part_of_a_plan_alone_is_refused) {
    const std::size_t end = whole.size();
    for (std::size_t length = 0; length < end; ++length)
        BOOST_TEST(is_refused(whole.substr(0, length)), length);
}

BOOST_AUTO_TEST_CASE(damaged_plans_are_read_within_bounds) {
    std::mt19937 random(20);
    // What lies behind the text cannot be read.
    constexpr std::size_t room = 64 * 1024;
    char* const fence = static_cast<char*>(umadvisor::base::map_pages(room)) + room;
    for (int i = 0; i < 20'000; ++i) {
        std::string text = whole.substr(0, random() % 2 == 0 ? whole.size() : 1 + random() % whole.size());
        for (int change = 0; change < 4; ++change)
            text[random() % text.size()] = static_cast<char>(random());
        char* const at = fence - text.size();
        std::memcpy(at, text.data(), text.size());
        const auto plan = std::make_unique<Plan>();
        read_plan({at, text.size()}, *plan);
        BOOST_TEST_REQUIRE(plan->return_count <= 4u);
        BOOST_TEST_REQUIRE(plan->never(ActMode::prefetch).count <= 1u);
        BOOST_TEST_REQUIRE(plan->never(ActMode::rewrite).count <= 3u);
        BOOST_TEST_REQUIRE(plan->never(ActMode::stage).count <= 1u);
    }
}

BOOST_AUTO_TEST_CASE(more_than_there_is_room_for_is_left_out) {
    std::string text = R"({"schema": "umadvisor-plan-1", "host_returns": [)";
    for (int i = 0; i < 5000; ++i)
        text += std::string(i == 0 ? "" : ",") + R"({"key": "00000000000000ff", "first": 0, "last": 1})";
    text += R"(], "never_rewrite": [)";
    for (int i = 0; i < 300; ++i)
        text += std::string(i == 0 ? "" : ",") + R"({"key": "00000000000000ff"})";
    text += R"(], "stage": [{"bytes": 18446744073709551615}, {"bytes": 1})";
    const char* trouble = nullptr;
    const auto plan = read(text + "]}", trouble);
    BOOST_TEST(trouble == nullptr);
    BOOST_TEST(plan->return_count == std::size_t{Plan::most_returns});
    BOOST_TEST(plan->never(ActMode::rewrite).count == std::size_t{Plan::most_sites});
    BOOST_TEST(plan->never(ActMode::prefetch).count == 0u);
    BOOST_TEST(plan->stage_bytes == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(allocations_are_named_by_site_size_and_number) {
    const auto first = std::make_unique<AllocationNames>(), second = std::make_unique<AllocationNames>();
    first->add(1, 4096, 10, 77);
    first->add(2, 4096, 10, 77);
    first->add(3, 8192, 10, 77);
    first->add(4, 4096, 11, 78);
    first->add(5, 4096, 12, 0);     // a stack without a key
    second->add(103, 8192, 20, 77); // another order of sizes
    second->add(101, 4096, 20, 77);
    second->add(102, 4096, 20, 77);
    BOOST_TEST(first->find(1).name != 0u);
    BOOST_TEST(first->find(1).stack == 10u);
    BOOST_TEST(first->find(1).bytes == 4096u);
    BOOST_TEST(first->find(1).name == second->find(101).name);
    BOOST_TEST(first->find(2).name == second->find(102).name);
    BOOST_TEST(first->find(1).name != first->find(2).name);
    BOOST_TEST(first->find(1).name != first->find(3).name);
    BOOST_TEST(first->find(1).name != first->find(4).name);
    BOOST_TEST(first->find(5).name == 0u);
    BOOST_TEST(first->find(6).name == 0u);
    // What is allocated anew in each round has its name again.
    const std::uint64_t name = first->find(1).name;
    first->remove(1);
    BOOST_TEST(first->find(1).name == 0u);
    first->add(7, 4096, 10, 77);
    BOOST_TEST(first->find(7).name == name);
    // What there is no room for has none, and takes none away.
    first->add(2 + 4096, 4096, 13, 79);
    BOOST_TEST(first->find(2 + 4096).name == 0u);
    BOOST_TEST(first->find(2).name == second->find(102).name);
}

BOOST_AUTO_TEST_SUITE_END()
