/// Edits that change where memory is, and when it is copied.
#include "analyzer/patch/draft.hpp"
#include "patched.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch_memory)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace patched;

namespace {

/// A text of a source, what stands there instead, and the reason why that is not patched.
struct Near {
    std::string_view part, instead, reason;
};

std::string with(std::string text, std::string_view part, std::string_view instead) {
    BOOST_REQUIRE(contains(text, part));
    return text.replace(text.find(part), part.size(), instead);
}

template <typename Patch>
void check_refused(const std::string& text, const Patch& patch, std::initializer_list<Near> all) {
    for (const Near& near : all) {
        const Result result = patch(with(text, near.part, near.instead));
        BOOST_TEST(contains(result.refused, near.reason),
                   near.instead << ": " << result.refused << result.text);
    }
}

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

// Copies out of loops, UMA-106 and 107.

Result moved(const std::string& text, const Seen& seen = {}) {
    return made(&move_copies, rules::uma_106, {text}, {}, {}, "0", seen);
}

const std::string uploads = R"(__global__ void apply(const float* c, float* x) { x[0] += c[0]; }
void run(float* x, float* coef, int n) {
    float host[64];
    fill(host);
    for (int i = 0; i < n; ++i) {
        cudaMemcpy(coef, host, 256, cudaMemcpyHostToDevice); // here
        apply<<<1, 1>>>(coef, x);
        sum += host[0];
    }
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(an_upload_of_what_kernels_only_read_is_made_before_the_loop) {
    BOOST_TEST(moved(uploads).text == R"(__global__ void apply(const float* c, float* x) { x[0] += c[0]; }
void run(float* x, float* coef, int n) {
    float host[64];
    fill(host);
    cudaMemcpy(coef, host, 256, cudaMemcpyHostToDevice); // here
    for (int i = 0; i < n; ++i) {
        apply<<<1, 1>>>(coef, x);
        sum += host[0];
    }
}
)");
}

BOOST_AUTO_TEST_CASE(an_upload_that_later_rounds_may_need_stays_in_the_loop) {
    constexpr std::string_view needed = "may be needed", written = "may write", hidden = "by another name";
    check_refused(
        uploads,
        [](const std::string& text) {
            return moved(text, {.needed = {{"here", 1}}});
        },
        {{"const float* c", "float* c", needed},
         {"(coef, x);", "(coef + 1, x);", needed},
         {"(coef, x);", "(coef, x); cudaMemset(coef, 0, 4);", needed},
         {"sum += host[0]", "host[0] += 1", written},
         {"sum += host[0]", "next(host)", written},
         {"sum += host[0]", "*host = 1", written},
         {"sum += host[0]", "in >> host[1]", written},
         {"sum += host[0]", "for (float& h : host) h *= 2", written},
         {"sum += host[0]", "std::swap(coef, x)", needed},
         {"sum += host[0]", "produce<<<1, 1>>>(host)", written},
         {"fill(host);", "float* view = host;", hidden},
         {"fill(host);", "float& first = host[0];", hidden},
         {"fill(host);", "view.data = host;", hidden},
         {"fill(host);", "auto next = [&] { host[0] += 1; };", hidden},
         {"fill(host);", "float* same = coef;", hidden},
         {"float host[64];", "float* host = parameters.data();", hidden},
         {"    float host[64];\n    fill(host);\n    for (int i = 0; i < n; ++i) {\n",
          "    for (int i = 0; i < n; ++i) {\n        next();\n", hidden},
         {"fill(host);", "std::unique_ptr<float[]> owner(host);", hidden},
         {"        cudaMemcpy(coef", "        apply<<<1, 1>>>(coef, x);\n        cudaMemcpy(coef",
          "before its upload"},
         {"        cudaMemcpy(coef", "        if (done()) break;\n        cudaMemcpy(coef",
          "before its upload"},
         {"        cudaMemcpy(coef", "        if (i % 8 == 0) cudaMemcpy(coef", "from round to round"},
         {"        cudaMemcpy(coef", "        if (n) a(); else cudaMemcpy(coef", "in the block of a loop"},
         {"host, 256", "host, i", "from round to round"},
         {"        apply<<<1, 1>>>(coef, x);\n        sum += host[0];\n", "", "nothing but copy"}});
    const std::string vector = with(with(uploads, "float host[64];", "std::vector<float> host(64);"),
                                    "coef, host", "coef, host.data()");
    check_refused(with(vector, "fill(host);", "read(host);"),
                  [](const std::string& text) { return moved(text); },
                  {{"sum += host[0]", "std::fill(host.begin(), host.end(), 1)", written},
                   {"sum += host[0]", "host.front() = 1", written},
                   {"sum += host[0]", "host.at(0) = 1", written},
                   {"sum += host[0]", "host.swap(other)", written},
                   {"sum += host[0]", "other.swap(host)", written}});
}

namespace {

const std::string there_and_back = R"(void run(float* x, float* h, int n) {
    for (int i = 0; i < n; ++i) {
        cudaMemcpy(x, h, 256, cudaMemcpyHostToDevice); // here
        apply<<<1, 1>>>(x);
        cudaMemcpy(h, x, 256, cudaMemcpyDeviceToHost);
    }
    use(h[0]);
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(what_comes_back_unchanged_goes_up_once_and_comes_back_behind_the_loop) {
    const Seen first{.needed = {{"here", 1}}};
    BOOST_TEST(moved(there_and_back, first).text == R"(void run(float* x, float* h, int n) {
    cudaMemcpy(x, h, 256, cudaMemcpyHostToDevice); // here
    for (int i = 0; i < n; ++i) {
        apply<<<1, 1>>>(x);
    }
    cudaMemcpy(h, x, 256, cudaMemcpyDeviceToHost);
    use(h[0]);
}
)");
    const auto stays = [&first](std::string_view instead) {
        const std::string text = moved(with(there_and_back, "        cudaMemcpy(h", instead), first).text;
        return contains(text, "        cudaMemcpy(h, x") && !contains(text, "        cudaMemcpy(x, h");
    };
    BOOST_TEST(stays("        if (found(i)) break;\n        cudaMemcpy(h"));
    BOOST_TEST(stays("        if (found(i)) continue;\n        cudaMemcpy(h"));
    BOOST_TEST(stays("        sum += h[0];\n        cudaMemcpy(h"));
    BOOST_TEST(contains(moved(there_and_back).refused, "may be needed"));
    BOOST_TEST(contains(moved(there_and_back, {.needed = {{"here", 2}}}).refused, "may be needed"));
}

BOOST_AUTO_TEST_CASE(a_method_that_only_uploads_is_called_before_the_loop) {
    const std::string text = R"(__global__ void apply(const float* c, float* x) { x[0] += c[0]; }
struct Matrix {
    void upload() {
        cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice); // here
    }
};
void run(float* x, int n) {
    Matrix a;
    for (int i = 0; i < n; ++i) {
        a.upload(); // call
        apply<<<1, 1>>>(a.device, x);
    }
}
)";
    const auto patch = [](const std::string& source) { return moved(source, {.stack = {"call"}}); };
    BOOST_TEST(patch(text).text == with(with(text, "        a.upload(); // call\n", ""), "    for (int",
                                        "    a.upload(); // call\n    for (int"));
    check_refused(text, patch,
                  {{"x);\n    }\n}", "x);\n        a.scale(2);\n    }\n}", "may write"},
                   {"x);\n    }\n}", "x);\n        a.host[0] = 2;\n    }\n}", "may write"},
                   {"const float* c", "float* c", "may be needed"},
                   {"Matrix a;", "Matrix& a = all[0];", "by another name"},
                   {"a.upload();", "a.upload(x);", "does more"},
                   {"a.upload();", "a->upload();", "does more"},
                   {"// here\n", "// here\n        ++uploads;\n", "does more"}});
}

namespace {

// Memory of the host that kernels read, UMA-121.

Result copied(const std::string& text, const Seen& seen = {.memory = "memory"}) {
    return made(&copy_to_device, rules::uma_121, {text}, {}, {}, "0", seen);
}

const std::string mapped = R"(__global__ void total(const float* t, float* out) { *out += t[0]; }
void run(float* out, int n) {
    float *table, *view;
    CHECK(cudaHostAlloc((void**)&table, n * 4, cudaHostAllocMapped)); // memory
    CHECK(cudaHostGetDevicePointer((void**)&view, table, 0));
    fill(table, n);
    for (int i = 0; i < 9; ++i) {
        total<<<1, 1>>>(view, out); // here
        sum += table[i];
    }
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(mapped_memory_that_kernels_only_read_is_copied_to_the_device_once) {
    BOOST_TEST(copied(mapped).text == R"(__global__ void total(const float* t, float* out) { *out += t[0]; }
void run(float* out, int n) {
    float *table, *view;
    CHECK(cudaHostAlloc((void**)&table, n * 4, cudaHostAllocMapped)); // memory
    CHECK(cudaHostGetDevicePointer((void**)&view, table, 0));
    fill(table, n);
    decltype(view) view_on_device = nullptr;
    CHECK(cudaMalloc(&view_on_device, n * 4));
    CHECK(cudaMemcpy(view_on_device, table, n * 4, cudaMemcpyHostToDevice));
    for (int i = 0; i < 9; ++i) {
        total<<<1, 1>>>(view_on_device, out); // here
        sum += table[i];
    }
    CHECK(cudaFree(view_on_device));
}
)");
}

BOOST_AUTO_TEST_CASE(mapped_memory_that_may_change_or_be_other_memory_is_not_copied) {
    constexpr std::string_view written = "the loop may write", kernel = "its kernel may write",
                               later = "may still write", other = "other memory", pointer = "not declared";
    check_refused(mapped, [](const std::string& text) { return copied(text); },
                  {{"const float* t", "float* t", kernel},
                   {"const float* t", "const float** t", kernel},
                   {"const float* t", "const Table t", kernel},
                   {"const float* t, float* out", "/* in */ float* t, const float* out", kernel},
                   {"(view, out)", "(view, view + 4)", kernel},
                   {"(view, out)", "(view, table)", kernel},
                   {"sum += table[i];", "table[i] = 1;", written},
                   {"sum += table[i];", "view = other;", written},
                   {"sum += table[i];", "renew(table);", "to another function"},
                   {"sum += table[i];", "if (table[i]) return;", "left by return"},
                   {"fill(table, n);", "float* row = table + 8;", written},
                   {"fill(table, n);", "auto next = [&] { table[0] += 1; };", written},
                   {"fill(table, n);", "produce<<<1, 1, 0, s>>>(table);", later},
                   {"fill(table, n);", "cudaMemcpyAsync(table, d, n, cudaMemcpyDeviceToHost, s);", later},
                   {"fill(table, n);", "view = out;", other},
                   {"fill(table, n);", "view += 4;", other},
                   {"fill(table, n);", "table += 4;", other},
                   {"fill(table, n);", "n /= 2;", "size may have changed"},
                   {"fill(table, n);", "if (n > 7) goto done;", "goto"},
                   {"float *table, *view;", "float* table; const float* view;", pointer},
                   {"float *table, *view;", "float* table; auto& view = views[0];", pointer},
                   {"n * 4, cudaHostAllocMapped", "sizes(), cudaHostAllocMapped", "by a call"},
                   {"    fill(table, n);\n", "    float* view_on_device;\n", "already"}});
    const std::string called =
        mapped + "void all(float* out) {\n    for (;;)\n        run(out, 8); // call\n}\n";
    BOOST_TEST(contains(copied(called, {.memory = "memory", .stack = {"call"}}).refused, "called in a loop"));
    // Memory that it was copied to holds the same.
    BOOST_TEST(
        copied(with(mapped, "fill(table, n);", "cudaMemcpy(c, table, n, cudaMemcpyHostToDevice); view = c;"))
            .refused.empty());
}

namespace {

// A stream of its own, UMA-110.

Result given_stream(const std::string& text, const std::string& device = "0", const Seen& seen = {}) {
    return made(&own_stream, rules::uma_110, {text}, {}, {}, device, seen);
}

const std::string counted = R"(__device__ int errors;
__global__ void count(int* c, int n) { *c += n; }
void run(int* c, float* x, int n, cudaStream_t book) {
    for (int r = 0; r < 9; ++r) {
        lane<<<1, 1, 0, s[r]>>>(x, n);
        count<<<1, 1>>>(c, n); // here
    }
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_launch_that_uses_other_memory_than_its_loop_gets_a_stream) {
    BOOST_TEST(given_stream(counted).text == R"(__device__ int errors;
__global__ void count(int* c, int n) { *c += n; }
void run(int* c, float* x, int n, cudaStream_t book) {
    cudaStream_t own_stream;
    cudaStreamCreateWithFlags(&own_stream, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    for (int r = 0; r < 9; ++r) {
        lane<<<1, 1, 0, s[r]>>>(x, n);
        count<<<1, 1, 0, own_stream>>>(c, n); // here
    }
    cudaStreamSynchronize(own_stream);
    cudaStreamDestroy(own_stream);
}
)");
    for (const char* const launch : {"<<<1, 1, 0>>>(c", "<<<1, /* threads */ 1>>>(c", "<<<1, 1, 0, book>>>(c"})
        BOOST_TEST(contains(given_stream(with(counted, "<<<1, 1>>>(c", launch)).text, "1, 0, own_stream>>>(c"));
}

BOOST_AUTO_TEST_CASE(a_launch_keeps_its_stream_where_its_loop_may_need_the_order) {
    constexpr std::string_view used = "may use the memory";
    check_refused(
        counted, [](const std::string& text) { return given_stream(text); },
        {{"(x, n);", "(x, n); cudaMemcpy(&v, c, 4, cudaMemcpyDeviceToHost);", used},
         {"(x, n);", "(x, n); sum += c[0];", used},
         {"(x, n);", "(c, n);", used},
         {"(x, n);", "(x, n); cudaStreamSynchronize(0);", used},
         {"(x, n);", "(x, n); cudaEventRecord(e, 0);", used},
         {"(x, n);", "(x, n); cudaEventRecord(e);", used},
         {"*c += n;", "errors += *c + n;", used},
         {"__global__ void count", "__global__ void other", used},
         {"count<<<1, 1>>>(c, n);", "count<<<1, 1>>>(c, n); count<<<1, 1>>>(c, n);", "no launch"},
         {"count<<<1, 1>>>", "count<<<1, 1, 0, s[r]>>>", "same in each round"},
         {"(x, n);", "(x, n); if (n) return;", "left by return"},
         {"(x, n);", "(x, n); if (n) throw n;", "left by return"},
         {"    for (int r = 0", "    int own_stream = 0;\n    for (int r = 0", "own_stream already"}});
    BOOST_TEST(contains(given_stream(counted, "").refused, "several devices"));
    const std::string called = counted + "void all() {\n    for (;;)\n        run(c, x, 8, 0); // call\n}\n";
    BOOST_TEST(contains(given_stream(called, "0", {.stack = {"call"}}).refused, "called in a loop"));
}

BOOST_AUTO_TEST_SUITE_END()
