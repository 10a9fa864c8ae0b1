/// Remedies as edits of sources, and the diff of them.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "patched.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace patch_sources;

namespace {

Result hoisted(const std::string& text) {
    return made(&hoist_out_of_loop, rules::uma_407, {text}, {{"end", "unlocked here"}});
}

constexpr std::string_view staged = R"(int main() {
    float* stage = nullptr;
    for (int i = 0; i < rounds; ++i) {
        CHECK(cudaMallocHost((void**)&stage, bytes)); // here
        stage[5] = i;
        fill(stage);
        CHECK(cudaFreeHost(stage)); // end
    }
}
)";

/// The same with another text in the place of its first.
std::string with(std::string_view part, std::string_view instead) {
    std::string text(staged);
    text.replace(text.find(part), part.size(), instead);
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_each_round_makes_and_frees_is_made_once) {
    BOOST_TEST(hoisted(std::string(staged)).text == R"(int main() {
    float* stage = nullptr;
    CHECK(cudaMallocHost((void**)&stage, bytes)); // here
    for (int i = 0; i < rounds; ++i) {
        stage[5] = i;
        fill(stage);
    }
    CHECK(cudaFreeHost(stage)); // end
}
)");
}

BOOST_AUTO_TEST_CASE(a_variable_of_the_loop_moves_with_what_it_holds) {
    const std::string text = with("    float* stage = nullptr;\n    for (int i = 0; i < rounds; ++i) {\n",
                                  "    for (int i = 0; i < rounds; ++i) {\n        float* stage;\n");
    BOOST_TEST(contains(hoisted(text).text, "    float* stage;\n    CHECK(cudaMallocHost("));
}

BOOST_AUTO_TEST_CASE(what_may_differ_from_round_to_round_stays_in_the_loop) {
    BOOST_TEST(contains(hoisted(with("bytes)", "i * bytes)")).refused, "may change from round to round"));
    BOOST_TEST(
        contains(hoisted(with("fill(stage);", "bytes += 4;")).refused, "may change from round to round"));
    BOOST_TEST(contains(hoisted(with("fill(stage);", "stage = other;")).refused, "is changed in the loop"));
    for (const char* const change : {"sizes.bytes *= 2;", "in >> sizes.bytes;", "std::swap(sizes, other);"}) {
        std::string text = with("bytes)", "sizes.bytes)");
        text.replace(text.find("fill(stage);"), 12, change);
        BOOST_TEST(contains(hoisted(text).refused, "may change from round to round"));
    }
    BOOST_TEST(
        contains(hoisted(with("fill(stage);", "this->bytes *= 2;")).refused, "may change from round to round"));
    std::string bound = with("for (int i = 0; i < rounds; ++i)", "for (auto [bytes, name] : all)");
    BOOST_TEST(contains(hoisted(bound).refused, "may change from round to round"));
    BOOST_TEST(contains(hoisted(with("fill(stage);", "if (bad) { cudaFreeHost(stage); continue; }")).refused,
                        "at several places"));
    BOOST_TEST(contains(hoisted(with("    for (int", "    int n = f(); for (int")).refused, "frees it before"));
    BOOST_TEST(
        contains(hoisted(with("        fill(stage);\n", "        std::vector<float> stage(n);\n")).refused,
                 "with a value"));
    BOOST_TEST(contains(hoisted(with("fill(stage);", "if (done()) return 1;")).refused, "return"));
    BOOST_TEST(contains(hoisted(with("for (int i = 0; i < rounds; ++i)", "if (rounds)")).refused, "one loop"));
    BOOST_TEST(contains(hoisted(with("cudaFreeHost(stage)", "cudaFreeHost(other)")).refused, "one loop"));
}

BOOST_AUTO_TEST_CASE(a_wait_is_removed_where_it_is_a_statement_of_its_own) {
    const auto removed = [](const std::string& line) {
        return made(&remove_statements, rules::uma_501, {"void f() {\n    a();\n" + line + " // here\n}\n"});
    };
    const std::string without = "void f() {\n    a();\n}\n";
    BOOST_TEST(removed("    cudaDeviceSynchronize();").text == without);
    BOOST_TEST(removed("    if (!quick) CHECK(cudaDeviceSynchronize());").text == without);
    BOOST_TEST(removed("    b(); cudaDeviceSynchronize();").text ==
               "void f() {\n    a();\n    b();  // here\n}\n");
    for (const char* const part_of_more :
         {"    cudaEventSynchronize(stop);", "    if (++rounds % 8 == 0) cudaDeviceSynchronize();",
          "    if (read(x)) cudaDeviceSynchronize();", "    { cudaDeviceSynchronize(); }",
          "    if (cudaDeviceSynchronize() != cudaSuccess) fail();",
          "    while (more()) cudaDeviceSynchronize();", "    cudaError_t error = cudaDeviceSynchronize();",
          "    if (a()) cudaDeviceSynchronize(); else b();"})
        BOOST_TEST(contains(removed(part_of_more).refused, "larger statement"));
}

BOOST_AUTO_TEST_CASE(all_waits_of_a_finding_go_or_none) {
    const Program both{"void f() {\n    cudaStreamSynchronize(s); // here\n    a();\n    "
                       "cudaStreamSynchronize(s); // too\n}\n"};
    BOOST_TEST(made(&remove_statements, rules::uma_506, both, {{"too", "3 waits"}}).text ==
               "void f() {\n    a();\n}\n");
    const Program one{
        "void f() {\n    cudaStreamSynchronize(s); // here\n    return cudaStreamSynchronize(s); // too\n}\n"};
    BOOST_TEST(!made(&remove_statements, rules::uma_506, one, {{"too", "3 waits"}}).refused.empty());
}

BOOST_AUTO_TEST_CASE(a_memory_set_that_is_overwritten_is_removed_and_not_the_copy) {
    const Program program{"void f() {\n    cudaMemset(d, 0, n); // here\n    cudaMemcpy(d, h, n, kind);\n}\n"};
    BOOST_TEST(made(&remove_statements, rules::uma_303, program).text ==
               "void f() {\n    cudaMemcpy(d, h, n, kind);\n}\n");
}

namespace {

Result inserted(const rules::Rule& rule, const Program& program, const std::string& call, rules::EditKind kind,
                const std::map<std::string, std::string>& others = {}) {
    return made(&insert_calls, rule, program, others, {{kind, call, program.place("here")}});
}

constexpr std::string_view launched = R"(void f(float* t, size_t n) {
    CHECK(cudaMallocManaged(&t, n)); // fill
    for (int i = 0; i < 30; ++i)
        relax<<<1, 256>>>(t, n); // here
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_prefetch_stands_before_the_loop_of_launches_and_is_checked_as_other_calls) {
    const std::string call = "cudaMemPrefetchAsync(t, n, {cudaMemLocationTypeDevice, 0}, 0, 0)";
    const Program program{std::string(launched)};
    BOOST_TEST(contains(inserted(rules::uma_203, program, call, rules::EditKind::insert_before).text,
                        "// fill\n    CHECK(" + call + ");\n    for (int i"));
}

BOOST_AUTO_TEST_CASE(a_prefetch_stays_in_the_loop_where_the_host_fills_and_is_not_made_where_the_size_changes) {
    const std::string call = "cudaMemPrefetchAsync(t, n, {cudaMemLocationTypeDevice, 0}, 0, 0)";
    const std::string loop = "void f(float* t, size_t n) {\n    while (more()) {\n        t[0] = 1; // fill\n"
                             "        relax<<<1, 1>>>(t, n); // here\n    }\n}\n";
    const std::string inside = "// fill\n        " + call + ";\n        relax";
    BOOST_TEST(contains(inserted(rules::uma_203, {loop}, call, rules::EditKind::insert_before,
                                 {{"fill", "the host fills it here"}})
                            .text,
                        inside));
    std::string grows = loop;
    grows.replace(grows.find("t[0] = 1;"), 9, "n += 8;  ");
    BOOST_TEST(contains(inserted(rules::uma_203, {grows}, call, rules::EditKind::insert_before).refused,
                        "may change its memory or size"));
}

BOOST_AUTO_TEST_CASE(a_prefetch_to_the_host_is_not_inserted_in_a_loop_of_launches) {
    const std::string call = "cudaMemPrefetchAsync(t, n, {cudaMemLocationTypeHost, 0}, 0, 0)";
    const std::string launch = "        relax<<<1, 1>>>(t, n); // here\n";
    const auto refused = [&](const std::string& text) {
        return inserted(rules::uma_205, {text}, call, rules::EditKind::insert_after).refused;
    };
    BOOST_TEST(contains(refused("void f(float* t, size_t n) {\n    while (more()) {\n" + launch + "    }\n}\n"),
                        "behind a loop"));
    BOOST_TEST(refused("void f(float* t, size_t n) {\n" + launch + "}\n").empty());
}

BOOST_AUTO_TEST_CASE(a_call_with_a_name_that_the_source_does_not_have_is_not_inserted) {
    const Program program{std::string(launched)};
    for (const char* const call : {"cudaMemPrefetchAsync(ptr, n, {cudaMemLocationTypeDevice, 0}, 0, 0)",
                                   "cudaMemPrefetchAsync(t, bytes, {cudaMemLocationTypeDevice, 0}, 0, 0)",
                                   "cudaMemPrefetchAsync(t, n, {cudaMemLocationTypeDevice, device}, 0, 0)",
                                   "cudaMemPrefetchAsync(t, n, {cudaMemLocationTypeDevice, 0}, 0, stream)"})
        BOOST_TEST(contains(inserted(rules::uma_203, program, call, rules::EditKind::insert_before).refused,
                            "does not show"));
}

BOOST_AUTO_TEST_CASE(a_wait_stands_before_the_first_read_in_the_round_of_the_launch) {
    const Program program{
        "void f(int* a, int n) {\n    for (int r = 0; r < 9; ++r) {\n        fill<<<1, 1>>>(a); // launch\n"
        "        int low = a[0]; // first\n        for (int i = 0; i < n; ++i)\n            if (a[i] < low) "
        "low = a[i]; // here\n"
        "    }\n}\n"};
    BOOST_TEST(
        contains(inserted(rules::uma_601, program, "cudaStreamSynchronize(0)", rules::EditKind::insert_before,
                          {{"launch", "launched here"}, {"first", "the host reads it here, too"}})
                     .text,
                 "// launch\n        cudaStreamSynchronize(0);\n        int low"));
}

BOOST_AUTO_TEST_CASE(a_pool_keeps_its_memory_from_before_the_loop) {
    const auto kept = [](const std::string& call, const std::string& device = "0") {
        return made(&keep_pool_memory, rules::uma_414,
                    {"void f() {\n    for (int i = 0; i < 9; ++i)\n        CHECK(" + call + "); // here\n}\n"},
                    {}, {}, device);
    };
    BOOST_TEST(kept("cudaMallocAsync(&p, n, s)").text == R"(void f() {
    {
        unsigned long long keep = ~0ull; // bytes of freed memory that stay in the pool
        cudaMemPool_t pool;
        CHECK(cudaDeviceGetMemPool(&pool, 0));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    }
    for (int i = 0; i < 9; ++i)
        CHECK(cudaMallocAsync(&p, n, s)); // here
}
)");
    BOOST_TEST(
        contains(kept("cudaMallocFromPoolAsync(&p, n, mine, s)").text, "cudaMemPoolSetAttribute(mine, "));
    BOOST_TEST(contains(kept("cudaMallocAsync(&p, n, s)", "").refused, "several devices"));
    BOOST_TEST(
        !made(&keep_pool_memory, rules::uma_414, {"void f() {\n    cudaMallocAsync(&p, n, s); // here\n}\n"})
             .refused.empty());
}

BOOST_AUTO_TEST_CASE(a_statement_of_which_some_calls_are_needed_stays) {
    const auto removed = [](const rules::Rule& rule, double share) {
        rules::Finding finding;
        finding.rule = &rule;
        finding.edit.changes.push_back({.site = {}, .share = share});
        const Program program{"void f() {\n    cudaMemset(d, 0, n), cudaDeviceSynchronize(); // here\n}\n"};
        const advice::ResolvedFinding resolved{.finding = finding,
                                               .line = program.place("here"),
                                               .memory = {},
                                               .others = {},
                                               .remedy = {},
                                               .verify = {}};
        const Syntax source(program.text, Grammar::cuda);
        return remove_statements({resolved, source, "0"}).refused;
    };
    BOOST_TEST(removed(rules::uma_303, 0.999) == "some of its calls are needed");
    BOOST_TEST(removed(rules::uma_303, 1) != "some of its calls are needed");
    BOOST_TEST(removed(rules::uma_506, 0.9) == "some of its calls are needed");
    BOOST_TEST(removed(rules::uma_506, 0.999) != "some of its calls are needed");
}

BOOST_AUTO_TEST_CASE(diffs_are_those_of_diff_u) {
    BOOST_TEST(unified_diff("a.cu", "same\n", {}).empty());
    BOOST_TEST(unified_diff("a.cu", "same\n", {{0, 4, "same"}}).empty());
    BOOST_TEST(unified_diff("src/a.cu", "1\n2\n3\n4\n5\n6\n7\n8\n", {{8, 9, "new"}}) ==
               "--- a/src/a.cu\n+++ b/src/a.cu\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+new\n 6\n 7\n 8\n");
    BOOST_TEST(unified_diff("a", "1\n2", {{3, 3, "\n"}}) ==
               "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n");
    BOOST_TEST(unified_diff("a", "", {{0, 0, "1\n"}}) == "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+1\n");
    BOOST_TEST(changed_lines("1\n2\n3\n", {{2, 3, "x"}, {6, 6, "4\n"}}) == 2u);
}

BOOST_AUTO_TEST_CASE(a_path_with_a_space_ends_in_a_tab) {
    BOOST_TEST(
        unified_diff("my app.cu", "1\n", {{0, 1, "2"}}).starts_with("--- a/my app.cu\t\n+++ b/my app.cu\t\n"));
}

BOOST_AUTO_TEST_CASE(a_source_may_be_deeper_than_a_stack) {
    std::string text = "int x = 0";
    for (int i = 0; i < 200'000; ++i)
        text += " + 1";
    const Syntax source(text + ";\n", Grammar::cuda);
    std::size_t numbers = 0;
    source.root().walk([&numbers](const Node& node) {
        numbers += node.kind() == "number_literal" ? 1 : 0;
        return true;
    });
    BOOST_TEST(numbers == 200'001u);
}

BOOST_AUTO_TEST_CASE(edits_of_the_same_place_overlap) {
    BOOST_TEST(overlap({1, 1, "a"}, {1, 4, ""}));
    BOOST_TEST(!overlap({1, 1, "a"}, {1, 1, "b"}));
    BOOST_TEST(applied("xy", {{1, 1, "a"}, {1, 1, "b"}}) == "xaby");
    BOOST_TEST(overlap({1, 5, ""}, {4, 6, ""}));
    BOOST_TEST(!overlap({1, 4, ""}, {4, 6, ""}));
    BOOST_TEST(applied("0123456789", {{8, 10, ""}, {2, 4, "x"}, {0, 0, "<"}}) == "<01x4567");
}

BOOST_AUTO_TEST_SUITE_END()
