/// Edits that change where memory is.
#include "analyzer/patch/draft.hpp"
#include "patched.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch_memory)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace patch_sources;

namespace {

// Prefetches, UMA-203, 205 and 214.

const std::string to_device = "cudaMemPrefetchAsync(ptr, bytes, {cudaMemLocationTypeDevice, 0}, 0, 0)";

Result prefetched(const rules::Rule& rule, const std::string& text, Seen seen = {.memory = "memory"}) {
    const Program program{text};
    return made(&insert_calls, rule, program, {},
                {{rules::EditKind::insert_before, to_device, program.place("here")}}, "0", seen);
}

const std::string used_by_callee = R"(void step(float* q, int m) {
    relax<<<1, 256>>>(q, m); // here
}
void run(int n, bool gpu) {
    float* t;
    CHECK(cudaMallocManaged(&t, n * sizeof(float))); // memory
    fill(t, n);
    for (int i = 0; i < 30; ++i)
        step(t, n); // call
}
)";

Result from_caller(const std::string& text) {
    return prefetched(rules::uma_203, text, {.memory = "memory", .stack = {"call"}});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_prefetch_has_the_words_of_the_allocation_before_the_call_that_leads_to_the_launch) {
    BOOST_TEST(from_caller(used_by_callee).text == R"(void step(float* q, int m) {
    relax<<<1, 256>>>(q, m); // here
}
void run(int n, bool gpu) {
    float* t;
    CHECK(cudaMallocManaged(&t, n * sizeof(float))); // memory
    fill(t, n);
    CHECK(cudaMemPrefetchAsync(t, n * sizeof(float), {cudaMemLocationTypeDevice, 0}, 0, 0));
    for (int i = 0; i < 30; ++i)
        step(t, n); // call
}
)");
}

BOOST_AUTO_TEST_CASE(a_prefetch_is_not_written_where_the_words_of_the_allocation_mean_something_else) {
    constexpr std::string_view unknown = "does not show which memory";
    check_refused(used_by_callee, &from_caller,
                  {{"fill(t, n);", "n /= 2;", unknown},
                   {"fill(t, n);", "std::swap(t, other);", unknown},
                   {"fill(t, n);", "other.swap(t);", unknown},
                   {"fill(t, n);", "use(std::exchange(t, other));", unknown},
                   {"    for (int i = 0; i < 30; ++i)\n", "    for (const int n : sizes)\n", unknown},
                   {"    for (int i = 0; i < 30; ++i)\n        step(t, n); // call\n",
                    "    auto go = [](int k) {\n        step(t, 8); // call\n    };\n", unknown},
                   {"fill(t, n);", "t = nullptr;", unknown},
                   {"    for (int i = 0; i < 30; ++i)\n", "    if (gpu)\n", unknown},
                   {"    for (int i = 0; i < 30; ++i)\n        step(t, n); // call\n",
                    "    switch (n) {\n    case 1:\n        step(t, n); // call\n    }\n", unknown},
                   {"    CHECK(cudaMalloc", "    if (gpu) CHECK(cudaMalloc", unknown},
                   {"&t, n * sizeof(float)", "out, n * sizeof(float)", unknown},
                   {"&t, n * sizeof(float)", "(void**)out, n * sizeof(float)", unknown},
                   {"n * sizeof(float)", "sizes.next()", unknown},
                   {"    for (int i = 0; i < 30; ++i)\n        step(t, n); // call\n",
                    "#ifdef GPU\n    step(t, n); // call\n#endif\n", unknown}});
}

BOOST_AUTO_TEST_CASE(comments_between_arguments_are_none) {
    BOOST_TEST(contains(from_caller(with(used_by_callee, "&t, n *", "&t, /* bytes */ n *")).text,
                        "cudaMemPrefetchAsync(t, n * sizeof(float), {"));
}

BOOST_AUTO_TEST_CASE(what_only_kernels_touch_is_prefetched_behind_its_allocation) {
    const std::string text = "void run(Stack& s, int n) {\n"
                             "    CHECK(cudaMallocManaged(&s.base, n)); // memory\n"
                             "    use(s);\n}\nvoid f(float* q) {\n    relax<<<1, 1>>>(q); // here\n}\n";
    BOOST_TEST(prefetched(rules::uma_214, text).text ==
               with(text, "    use(s);\n",
                    R"(    CHECK(cudaMemPrefetchAsync(s.base, n, {cudaMemLocationTypeDevice, 0}, 0, 0));
    use(s);
)"));
    BOOST_TEST(contains(prefetched(rules::uma_203, text).refused, "does not show which memory"));
    const auto patch = [](const std::string& source) { return prefetched(rules::uma_214, source); };
    check_refused(text, patch, {{"    CHECK(", "    if (n > 0) CHECK(", "does not show which memory"}});
}

BOOST_AUTO_TEST_CASE(results_are_prefetched_to_the_host_behind_the_loop_where_the_host_reads_them_later) {
    const std::string text = R"(void f(float* t, int n) {
    for (int i = 0; i < 9; ++i) {
        relax<<<1, 1>>>(t, n); // here
    }
    wait();
    use(t[0]); // read
}
)";
    const std::string call = "cudaMemPrefetchAsync(t, n, {cudaMemLocationTypeHost, 0}, 0, 0)";
    const auto patch = [&call](const std::string& source) {
        const Program program{source};
        return made(&insert_calls, rules::uma_205, program, {{"read", "the host reads it here"}},
                    {{rules::EditKind::insert_after, call, program.place("here")}});
    };
    BOOST_TEST(patch(text).text == with(text, "    wait();", "    " + call + ";\n    wait();"));
    check_refused(
        text, patch,
        {{"(t, n); // here", "(t, n); // here\n        std::swap(t, other);", "may change its memory"},
         {"void f(float* t, int n) {", "void f(float* t, int n) {\n    use(t[1]); // read", "behind a loop"}});
}

namespace {

// Allocations in stream order, UMA-401.

Result pooled(const std::string& text, const std::string& device = "0") {
    return made(&allocate_in_stream_order, rules::uma_401, {text}, {}, {}, device);
}

const std::string scratch = R"(void run(int n, bool odd) {
    float *a, *b;
    CHECK(cudaMalloc((void**)&a, n)); // here
    CHECK(cudaMalloc((void**)&b, n));
    work(a, b);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(memory_that_its_function_frees_comes_from_a_pool) {
    BOOST_TEST(pooled(scratch).text == R"(void run(int n, bool odd) {
    float *a, *b;
    {
        unsigned long long keep = ~0ull; // bytes of freed memory that stay in the pool
        cudaMemPool_t pool;
        CHECK(cudaDeviceGetMemPool(&pool, 0));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    }
    CHECK(cudaMallocAsync((void**)&a, n, 0)); // here
    CHECK(cudaMalloc((void**)&b, n));
    work(a, b);
    CHECK(cudaFreeAsync(a, 0));
    CHECK(cudaFree(b));
}
)");
    BOOST_TEST(contains(pooled(with(scratch, "n)); // here", "n /* bytes */)); // here")).text, "&a, n, 0 /*"));
}

BOOST_AUTO_TEST_CASE(memory_of_another_allocation_is_not_freed_to_the_pool) {
    constexpr std::string_view other = "another allocation";
    check_refused(
        scratch, [](const std::string& text) { return pooled(text); },
        {{"work(a, b);", "std::swap(a, b);", other},
         {"work(a, b);", "float* c = a; a = b; b = c;", other},
         {"work(a, b);", "if (odd) cudaMallocManaged(&a, n);", other},
         {"work(a, b);", "flip(&a, &b);", other},
         {"work(a, b);", "cudaFree(a); cudaMalloc(&a, n);", "several lines"},
         {"    CHECK(cudaFree(a));\n", "", "different functions"},
         {"    CHECK(cudaMalloc((void**)&a, n)); // here\n",
          "    a = nullptr;\n    if (odd) {\n        CHECK(cudaMalloc((void**)&a, n)); // here\n    }\n",
          "a null pointer may be freed"},
         {"work(a, b);", "cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);", "NonBlocking"},
         {"work(a, b);", "MPI_Bcast(a, n, MPI_FLOAT, 0, MPI_COMM_WORLD);", "MPI_COMM_WORLD"}});
    BOOST_TEST(contains(pooled(scratch, "").refused, "several devices"));
    BOOST_TEST(
        contains(pooled("struct Buffer {\n    float* p;\n    cudaError_t made;\n    Buffer(int n)\n        : "
                        "made(cudaMalloc(&p, n)) { // here\n        cudaFree(p);\n    }\n};\n")
                     .refused,
                 "in no block"));
    // An element of an array.
    std::string elements = with(scratch, "float *a, *b", "float* a[2]; float* b");
    for (int i = 0; i < 2; ++i)
        elements = with(elements, i == 0 ? "&a, n" : "cudaFree(a)", i == 0 ? "&a[0], n" : "cudaFree(a[0])");
    BOOST_TEST(!pooled(elements).text.empty());
    BOOST_TEST(contains(pooled(with(elements, "work(a, b)", "a[odd] = b")).refused, other));
}

BOOST_AUTO_TEST_CASE(a_free_in_another_function_is_changed_where_all_memory_of_the_file_is_of_one_allocation) {
    const std::string text = R"(static float* take(int n) {
    float* p;
    cudaMalloc(&p, n); // here
    return p;
}
static void give(float* p, int n) {
    cudaFree(p);
}
)";
    const Result result = pooled(text);
    BOOST_TEST(contains(result.text, "cudaMallocAsync(&p, n, 0);"));
    BOOST_TEST(contains(result.text, "cudaFreeAsync(p, 0);"));
    check_refused(text, [](const std::string& source) { return pooled(source); },
                  {{"static void give", "void give", "different functions"},
                   {"    cudaFree(p);", "    cudaFree(p); p = nullptr;", "different functions"},
                   {"    return p;", "    cudaMallocManaged(&q, n);\n    return p;", "different functions"}});
    BOOST_TEST(!pooled(with(text, "    cudaFree(p);", "    if (p) cudaFree(p); p = nullptr;")).text.empty());
}

namespace {

// Page-locked buffers, UMA-101, 102 and 109.

Result locked(const std::string& text, const Seen& seen = {}) {
    return made(&page_lock_buffer, rules::uma_102, {text}, {}, {}, "0", seen);
}

const std::string pageable = R"(void show(const float* p, int n) {
    for (int i = 0; i < n; ++i) total += p[i];
}
void run(float* d, int n, cudaStream_t s) {
    float* h = (float*)malloc(n * 4);
    for (int i = 0; i < 9; ++i) {
        CHECK(cudaMemcpyAsync(h, d, n * 4, cudaMemcpyDeviceToHost, s)); // here
        show(h, n);
    }
    free(h);
}
)";

const std::string vector_copied = R"(void run(float* d, int n) {
    std::vector<float> h(n);
    for (int i = 0; i < 9; ++i) {
        cudaMemcpy(h.data(), d, n * 4, cudaMemcpyDeviceToHost); // here
        use(h[0]);
    }
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_buffer_is_page_locked_where_it_is_allocated_and_its_copies_are_waited_for) {
    BOOST_TEST(locked(pageable).text == R"(void show(const float* p, int n) {
    for (int i = 0; i < n; ++i) total += p[i];
}
void run(float* d, int n, cudaStream_t s) {
    float* h = nullptr;
    CHECK(cudaMallocHost((void**)&h, n * 4));
    for (int i = 0; i < 9; ++i) {
        CHECK(cudaMemcpyAsync(h, d, n * 4, cudaMemcpyDeviceToHost, s)); // here
        CHECK(cudaStreamSynchronize(s));
        show(h, n);
    }
    cudaFreeHost(h);
}
)");
    const std::string numbers =
        with(with(pageable, "(float*)malloc(n * 4)", "new float[n]"), "free(h)", "delete [] h");
    BOOST_TEST(contains(locked(numbers).text, "cudaMallocHost((void**)&h, (n) * sizeof(float))"));
    BOOST_TEST(contains(locked(numbers).text, "    cudaFreeHost(h);\n"));
    // The wait that is there is enough, but not one that is made at times.
    const std::string waits =
        with(pageable, "        show(h, n);\n", "        cudaStreamSynchronize(s);\n        show(h, n);\n");
    BOOST_TEST(!contains(locked(waits).text, "CHECK(cudaStreamSynchronize"));
    BOOST_TEST(contains(locked(with(waits, "cudaStreamS", "if (n > 7) cudaStreamS")).text,
                        "CHECK(cudaStreamSynchronize"));
}

BOOST_AUTO_TEST_CASE(a_buffer_that_other_code_may_keep_free_or_copy_later_stays_pageable) {
    constexpr std::string_view passed = "passed to code", other = "another function";
    check_refused(pageable, [](const std::string& text) { return locked(text); },
                  {{"total += p[i]", "free((void*)p)", passed},
                   {"total += p[i]", "cudaMemcpyAsync(x, p, n, cudaMemcpyHostToDevice)", passed},
                   {"total += p[i]", "kept = p", passed},
                   {"show(h, n);", "unknown(h);", passed},
                   {"show(h, n);", "unknown(&h[0]);", passed},
                   {"show(h, n);", "keep.push_back(h);", passed},
                   {"show(h, n);", "float* row = h + 8;", passed},
                   {"show(h, n);", "float& first = h[0];", passed},
                   {"show(h, n);", "auto later = [&] { h[0] += 1; };", passed},
                   {"show(h, n);", "std::unique_ptr<float[]> owner(h);", passed},
                   {"show(h, n);", "Owner owner{h};", passed},
                   {"show(h, n);", "step<<<1, 1>>>(h);", passed},
                   {"show(h, n);", "kept = h;", other},
                   {"show(h, n);", "float*& alias = h;", other},
                   {"float* h =", "auto h =", "auto, const or static"},
                   {"float* h =", "auto* h =", "auto, const or static"},
                   {"float* h =", "static float* h =", "auto, const or static"},
                   {"float* h =", "float* const h =", "auto, const or static"},
                   {"float* h =", "float *g, *h =", "beside others"},
                   {"    free(h);\n", "", other},
                   {"    free(h);\n", "    return free(h);\n", "larger expression"},
                   {"cudaMemcpyDeviceToHost, s", "kind, s", "no copy as a statement"},
                   {", s)); // here", ", s[n++])); // here", "is not clear"}});
}

BOOST_AUTO_TEST_CASE(a_buffer_is_not_page_locked_for_each_of_its_copies) {
    const std::string each = R"(void run(float* d, int n) {
    for (int i = 0; i < n; ++i) {
        float* h = (float*)malloc(n);
        cudaMemcpy(h, d, n, cudaMemcpyDeviceToHost); // here
        free(h);
    }
}
)";
    BOOST_TEST(contains(locked(each).refused, "for each of its copies"));
    const std::string called =
        with(each, "    for (int i = 0; i < n; ++i) {\n", "    {\n") +
        "void all(float* d) {\n    for (int i = 0; i < 9; ++i)\n        run(d, 8); // call\n}\n";
    BOOST_TEST(contains(locked(called, {.stack = {"call"}}).refused, "for each of its copies"));
    BOOST_TEST(locked(called).refused.empty());
    // A vector, before and behind the loop.
    const std::string vectors =
        vector_copied + "void all() {\n    while (more())\n        run(d, 8); // call\n}\n";
    BOOST_TEST(contains(locked(vectors, {.stack = {"call"}}).refused, "at each call"));
}

BOOST_AUTO_TEST_CASE(a_vector_is_page_locked_around_the_loop_that_copies_it) {
    BOOST_TEST(locked(vector_copied).text == R"(void run(float* d, int n) {
    std::vector<float> h(n);
    cudaHostRegister(h.data(), h.size() * sizeof h[0], cudaHostRegisterDefault);
    for (int i = 0; i < 9; ++i) {
        cudaMemcpy(h.data(), d, n * 4, cudaMemcpyDeviceToHost); // here
        use(h[0]);
    }
    cudaHostUnregister(h.data());
}
)");
    check_refused(
        vector_copied, [](const std::string& text) { return locked(text); },
        {{"use(h[0])", "h.resize(2 * n)", "other memory"},
         {"use(h[0])", "grow(h)", "other memory"},
         {"use(h[0])", "auto& g = h", "other memory"},
         {"use(h[0])", "if (h[0] > 1) return", "left by return"},
         {"use(h[0])", "if (h[0] > 1) throw n", "left by return"},
         {"use(h[0])", "upload(h.data())", "copy it later"},
         {"use(h[0])", "float* p = h.data()", "copy it later"},
         {"    std::vector<float> h(n);\n", "    std::vector<float> const h(n);\n", "no vector"},
         {"    std::vector<float> h(n);\n", "    const std::vector<float> h(n);\n", "no vector"},
         {"    std::vector<float> h(n);\n    for (int i = 0; i < 9; ++i) {\n        cudaMemcpy(h.data(),",
          "    float* h = get();\n    for (int i = 0; i < 9; ++i) {\n        cudaMemcpy(&h[0],", "no vector"},
         {"    for (int i = 0; i < 9; ++i) {", "    if (n) {", "in no loop"}});
}

namespace {

const std::string pipeline = R"(int main() {
    float *in, *out;
    in = (float*)malloc(size);
    out = (float*)malloc(size);
    for (int c = 0; c < 9; ++c) {
        cudaMemcpyAsync(d[c % 3], in + c * n, bytes, cudaMemcpyHostToDevice, s[c % 3]); // here
        grind<<<1, 1, 0, s[c % 3]>>>(d[c % 3]);
        cudaMemcpyAsync(out + c * n, d[c % 3], bytes, cudaMemcpyDeviceToHost, s[c % 3]); // back
    }
    cudaDeviceSynchronize();
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(the_buffers_of_a_pipeline_are_page_locked) {
    const auto patch = [](const std::string& text) {
        return made(&page_lock_buffer, rules::uma_109, {text}, {{"back", "copied here"}});
    };
    BOOST_TEST(patch(pipeline).text ==
               with(with(pipeline, "in = (float*)malloc(size);", "cudaMallocHost((void**)&in, size);"),
                    "out = (float*)malloc(size);", "cudaMallocHost((void**)&out, size);"));
    check_refused(
        pipeline, patch,
        {{"cudaMemcpyAsync(d[c % 3]", "cudaMemcpyAsync(d[0]", "same memory of the device"},
         {"cudaMemcpyHostToDevice, s[c % 3]", "cudaMemcpyHostToDevice, s[0]", "the same stream"},
         {"    cudaDeviceSynchronize();\n", "    if (debug) cudaDeviceSynchronize();\n",
          "no wait for the device"},
         {"    cudaDeviceSynchronize();\n", "", "no wait for the device"},
         {"    cudaDeviceSynchronize();\n",
          "    cudaDeviceSynchronize();\n    cudaMemcpyAsync(d[0], in, 4, cudaMemcpyHostToDevice, s[0]);\n",
          "outside of the loop"},
         {"// back\n", "// back\n        in[c] = 0;\n", "more than its copies"},
         {"    cudaDeviceSynchronize();\n", "    cudaDeviceSynchronize();\n    release(in);\n",
          "passed to code"}});
}

namespace {

const std::string leaked = R"(float* kept;
float last(const float* in, int n) {
    float* tmp = nullptr;
    float value = 0;
    CHECK(cudaMalloc(&tmp, n * sizeof(float))); // here
    twice<<<n / 256, 256>>>(in, tmp, n);
    CHECK(cudaMemcpy(&value, tmp, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}
)";

Result freed(const std::string& text) {
    return made(&free_leaked, rules::uma_404, {text});
}

} // namespace

BOOST_AUTO_TEST_CASE(memory_that_a_function_allocates_for_itself_is_freed_at_the_end_of_its_block) {
    BOOST_TEST(freed(leaked).text ==
               with(leaked, "    return value;", "    CHECK(cudaFree(tmp));\n    return value;"));
    const std::string host = with(leaked, "cudaMalloc(", "cudaMallocHost((void**)");
    BOOST_TEST(contains(freed(host).text, "    CHECK(cudaFreeHost(tmp));\n    return value;"));
    const std::string round = with(with(leaked, "    float* tmp", "    for (;;) {\n    float* tmp"),
                                   "cudaMemcpyDeviceToHost));\n", "cudaMemcpyDeviceToHost));\n    }\n");
    BOOST_TEST(contains(freed(round).text, "cudaMemcpyDeviceToHost));\n    CHECK(cudaFree(tmp));\n    }\n"));
}

BOOST_AUTO_TEST_CASE(memory_that_other_code_may_keep_or_free_stays) {
    check_refused(
        leaked, freed,
        {{"    return value;", "    kept = tmp;\n    return value;", "kept, or freed, by other code"},
         {"    return value;", "    give(tmp);\n    return value;", "kept, or freed, by other code"},
         {"    return value;", "    cudaFree(tmp);\n    return value;", "kept, or freed, by other code"},
         {"    return value;", "    upload(&tmp);\n    return value;", "kept, or freed, by other code"},
         {"    return value;", "    if (n == 1) return 0;\n    return value;", "left before its end"},
         {"    return value;", "    return tmp[0];", "left before its end"},
         {"    float* tmp", "    static float* tmp", "not declared in the block"},
         {"    float* tmp = nullptr;\n", "", "not declared in the block"},
         {"cudaMalloc(&tmp", "cudaMalloc(&all.tmp", "not declared in the block"}});
}

BOOST_AUTO_TEST_SUITE_END()
