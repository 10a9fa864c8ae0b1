/// Edits that move or replace copies.
#include "analyzer/patch/draft.hpp"
#include "patched.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_patch_copies)

using namespace umadvisor;
using namespace umadvisor::patch;
using namespace patch_sources;

namespace {

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
         {"        cudaMemcpy(coef",
          "        state.stale = !state.stale;\n        if (state.stale) cudaMemcpy(coef",
          "from round to round"},
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
