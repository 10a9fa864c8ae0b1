/// Patches around loops and of buffers: what they become, and where they are left as they are.
#include "patch_case.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_patch_loops)

using namespace patch_case;

namespace {

const Case peers{&enable_peer_access, rules::uma_120};
const std::string staged_by_host = R"(void f(float** a, size_t n, cudaStream_t s) {
    for (int k = 0; k < 9; ++k)
        CHECK(cudaMemcpyPeerAsync(a[1], 1, a[0], 0, n, s)); // here
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(access_between_devices_is_enabled_before_the_loop) {
    BOOST_TEST(patched(peers, staged_by_host) == R"(void f(float** a, size_t n, cudaStream_t s) {
    {
        int current = 0;
        CHECK(cudaGetDevice(&current));
        CHECK(cudaSetDevice(1));
        if (cudaDeviceEnablePeerAccess(0, 0) != cudaSuccess) cudaGetLastError();
        CHECK(cudaSetDevice(0));
        if (cudaDeviceEnablePeerAccess(1, 0) != cudaSuccess) cudaGetLastError();
        CHECK(cudaSetDevice(current));
    }
    for (int k = 0; k < 9; ++k)
        CHECK(cudaMemcpyPeerAsync(a[1], 1, a[0], 0, n, s)); // here
}
)");
}

BOOST_AUTO_TEST_CASE(access_between_devices_that_are_not_fixed_is_not_enabled) {
    check_refused(peers, staged_by_host, "change from round to round", {{"1, a[0], 0", "1, a[0], k"}});
    check_refused(peers, staged_by_host, "no plain variables",
                  {{"1, a[0], 0", "1, a[0], device()"}, {"1, a[0], 0", "1, a[0], current"}});
    check_refused(peers, staged_by_host, "in no loop", {{"for (int k = 0; k < 9; ++k)", "if (n)"}});
    check_refused(peers, staged_by_host, "names both devices",
                  {{"PeerAsync(a[1], 1, a[0], 0, n, s)", "Async(a[1], a[0], n, kind, s)"}});
    check_refused(peers, staged_by_host, "pragma", {{"    for", "#pragma unroll\n    for"}});
    check_refused(peers, staged_by_host, "makes a graph",
                  {{"    for", "    cudaStreamBeginCapture(s, m);\n    for"}});
    check_refused(peers, staged_by_host, "which would fail",
                  {{"// here\n", "// here\n    CHECK(cudaDeviceEnablePeerAccess(1, 0));\n"},
                   {"void f", "void g() { CHECK(cudaDeviceEnablePeerAccess(1, 0)); }\nvoid f"}});
}

namespace {

const Case exchanged{&swap_pointers, rules::uma_111};
const std::string by_host = R"(#include <vector>
void f(size_t n) {
    float *now = nullptr, *next;
    cudaMalloc(&now, n);
    cudaMalloc((void**)&next, n);
    std::vector<char> a(n), b(n, 1);
    for (int r = 0; r < 9; ++r) {
        step<<<1, 256>>>(now, next + 1);
        cudaMemcpy(a.data(), now, n, cudaMemcpyDeviceToHost); // here
        cudaMemcpy(b.data(), next, n, cudaMemcpyDeviceToHost);
        cudaMemcpy(next, a.data(), n, cudaMemcpyHostToDevice);
        cudaMemcpy(now, b.data(), n, cudaMemcpyHostToDevice);
    }
    cudaFree(now);
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(buffers_that_are_exchanged_through_the_host_exchange_their_pointers) {
    const std::string start = by_host.substr(0, by_host.find("        cudaMemcpy("));
    const std::string end = "    }\n    cudaFree(now);\n}\n";
    BOOST_TEST(patched(exchanged, by_host) == start + "        std::swap(now, next);\n" + end);
    // Without a header that surely has std::swap.
    const auto by_arrays = [](std::string text) {
        text = with(std::move(text), "#include <vector>\n", "");
        return with(std::move(text), "std::vector<char> a(n), b(n, 1);",
                    "static_assert(true); char a[8], b[8];");
    };
    std::string arrays = by_arrays(by_host);
    for (const char* const data : {"a.data()", "b.data()", "a.data()", "b.data()"})
        arrays = with(arrays, data, std::string(1, data[0]));
    BOOST_TEST(patched(exchanged, arrays) == by_arrays(start) + R"(        {
            auto* const kept = now;
            now = next;
            next = kept;
        }
)" + end);
}

BOOST_AUTO_TEST_CASE(pointers_that_something_else_has_are_not_exchanged) {
    const std::string loop = "    for (int r";
    const auto before = [&](const std::string& line) { return std::pair(loop, "    " + line + "\n" + loop); };
    check_refused(exchanged, by_host, "whose pointers only the function has",
                  {before("float* alias = now;"),
                   before("params.from = next;"),
                   before("float* both[] = {now, next};"),
                   before("solver.set(now);"),
                   before("Solver solver(now);"),
                   before("auto run = [=] { step<<<1, 1>>>(now, next); };"),
                   before("cudaMemcpyToSymbol(symbol, &now, sizeof now);"),
                   before("n = n / 2;"),
                   before("int kept;"),
                   {"float *now = nullptr, *next;", "float *now = first, *next;"},
                   {"float *now = nullptr, *next;", "static float *now = nullptr, *next;"},
                   {"float *now = nullptr, *next;", "float *now; double *next;"},
                   {"float *now = nullptr, *next;", "float *&now = first, *next;"},
                   {"float *now = nullptr, *next;", "float **now = nullptr, *next;"},
                   {"float *now = nullptr, *next;", "float *next;"},
                   {"(&now, n)", "(&now, n + 64)"},
                   {"cudaMalloc(&now, n)", "make(&now)"},
                   {"cudaMemcpy(next, a", "cudaMemcpy(now, a"}});
    check_refused(exchanged,
                  with(by_host, "(size_t n) {\n    float *now = nullptr, *next;",
                       "(size_t n, float* now, float* next) {\n    a();"),
                  "whose pointers only the function has", {{"a();", "b();"}});
    check_refused(exchanged, by_host, "in several streams", {before("step<<<1, 256, 0, s>>>(next, now);")});
    check_refused(exchanged, by_host, "keeps the pointers", {before("cudaStreamBeginCapture(s, mode);")});
    check_refused(
        exchanged, by_host, "the host uses",
        {before("a[0] = 5;"),
         {"    cudaFree(now)", "    print(b)"},
         {"std::vector<char> a(n), b(n, 1);", "std::vector<char>& a = first; std::vector<char> b(n);"},
         {"std::vector<char> a(n), b(n, 1);", "std::span<char> a(first), b(second);"},
         {"std::vector<char> a(n), b(n, 1);", "std::vector<char> a(n);"}});
    check_refused(exchanged, by_host, "three other copies",
                  {{"cudaMemcpy(now, b", "if (r) cudaMemcpy(now, b"},
                   {"        cudaMemcpy(next, a", "        change();\n        cudaMemcpy(next, a"},
                   {"n, cudaMemcpyHostToDevice", "n, cudaMemcpyDefault"}});
    check_refused(exchanged, by_host, "differ in size",
                  {{"a.data(), n, cudaMemcpyHost", "a.data(), 8, cudaMemcpyHost"}});
}

namespace {

const Case rebuilt{&hoist_graph, rules::uma_411, {{"end", "destroyed here"}}};
const std::string graph = R"(void f(float* x, float scale, Params p, cudaStream_t s) {
    cudaGraphExec_t exec = nullptr;
    for (int i = 0; i < 9; ++i) {
        cudaGraph_t g;
        CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        for (int k = 0; k < 48; ++k)
            node<<<64, 256, 0, s>>>(x, p, scale);
        CHECK(cudaStreamEndCapture(s, &g));
        CHECK(cudaGraphInstantiate(&exec, g, 0)); // here
        CHECK(cudaGraphDestroy(g));
        CHECK(cudaGraphLaunch(exec, s));
        x[0] = i;
        CHECK(cudaGraphExecDestroy(exec)); // end
    }
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_graph_that_each_round_makes_alike_is_made_before_the_loop) {
    BOOST_TEST(patched(rebuilt, graph) == R"(void f(float* x, float scale, Params p, cudaStream_t s) {
    cudaGraphExec_t exec = nullptr;
    cudaGraph_t g;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < 48; ++k)
        node<<<64, 256, 0, s>>>(x, p, scale);
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&exec, g, 0)); // here
    CHECK(cudaGraphDestroy(g));
    for (int i = 0; i < 9; ++i) {
        CHECK(cudaGraphLaunch(exec, s));
        x[0] = i;
    }
    CHECK(cudaGraphExecDestroy(exec)); // end
}
)");
}

BOOST_AUTO_TEST_CASE(a_graph_whose_work_may_differ_is_made_in_each_round) {
    check_refused(rebuilt, graph, "may change from round to round",
                  {{"x[0] = i;", "scale *= 2;"},
                   {"x[0] = i;", "p.step = i;"},
                   {"x[0] = i;", "advance(p);"},
                   {"x[0] = i;", "p.advance();"},
                   {"x[0] = i;", "std::swap(x, y);"},
                   {"(x, p, scale)", "(x, p, x[0])"},
                   {"(x, p, scale)", "(x, p, i)"},
                   {"CHECK(cudaGraphExecDestroy", "if (i == 8) CHECK(cudaGraphExecDestroy"},
                   {"x[0] = i;", "cudaGraphDebugDotPrint(g, name, 0);"}});
    const std::string members = with(graph, "x[0] = i;", "advance();");
    check_refused(rebuilt, members, "may change from round to round", {{"(x, p, scale)", "(x, p, scale_)"}});
    check_refused(rebuilt, "float rate;\n" + members, "may change from round to round",
                  {{"(x, p, scale)", "(x, p, rate)"}});
    BOOST_TEST(
        patched(rebuilt, "const float rate = 5;\n" + with(members, "scale)", "rate)")).starts_with("const"));
    check_refused(rebuilt, graph, "more is done while its graph is made",
                  {{"(x, p, scale)", "(x, p, i_of[count++])"},
                   {"(x, p, scale)", "(x, p, next())"},
                   {"        CHECK(cudaStreamEnd", "        if (bad) break;\n        CHECK(cudaStreamEnd"},
                   {"        CHECK(cudaStreamEnd", "        if (bad) continue;\n        CHECK(cudaStreamEnd"}});
    check_refused(
        rebuilt, graph, "used for more than launches",
        {{"x[0] = i;", "cudaGraphExecKernelNodeSetParams(exec, n, &q);"}, {"x[0] = i;", "keep(exec);"}});
    check_refused(rebuilt, graph, "several variables", {{"exec = nullptr;", "exec = nullptr; cudaGraph_t g;"}});
    check_refused(rebuilt, graph, "block of one loop",
                  {{"x[0] = i;", "if (bad) return;"},
                   {"cudaGraphExec_t exec = nullptr;\n    for (int i = 0; i < 9; ++i) {",
                    "for (int i = 0; i < 9; ++i) {\n        cudaGraphExec_t exec;"},
                   {"    for (int i", "#pragma omp parallel for\n    for (int i"}});
    check_refused(rebuilt, graph, "or in no loop", {{"for (int i = 0; i < 9; ++i) {", "if (x) {"}});
}

namespace {

const Case resident{&hoist_prefetch, rules::uma_212};
const std::string prefetched = R"(void f(float* a, size_t n, cudaMemLocation gpu) {
    for (int i = 0; i < 9; ++i) {
        CHECK(cudaMemPrefetchAsync(a, n * 4, gpu, 0)); // here
        add<<<1, 256>>>(n, a + 1);
    }
}
)";
const std::string located = with(with(prefetched, ", cudaMemLocation gpu", ""), "        CHECK",
                                 "        cudaMemLocation gpu;\n        gpu.id = 0;\n        CHECK");

} // namespace

BOOST_AUTO_TEST_CASE(a_prefetch_of_resident_memory_is_made_once) {
    BOOST_TEST(patched(resident, prefetched) == R"(void f(float* a, size_t n, cudaMemLocation gpu) {
    CHECK(cudaMemPrefetchAsync(a, n * 4, gpu, 0)); // here
    for (int i = 0; i < 9; ++i) {
        add<<<1, 256>>>(n, a + 1);
    }
}
)");
    BOOST_TEST(patched(resident, located) ==
               with(with(located, "CHECK(", "if (i == 0) { CHECK("), "gpu, 0));", "gpu, 0)); }"));
}

BOOST_AUTO_TEST_CASE(a_prefetch_whose_memory_moves_or_changes_stays) {
    check_refused(resident, prefetched, "in other ways than by kernels",
                  {{"add<<<", "a[0] = i; add<<<"},
                   {"(n, a + 1)", "(n, a[1])"},
                   {"add<<<", "fill(a); add<<<"},
                   {"add<<<", "cudaMemPrefetchAsync(a, n * 4, cpu, 0); add<<<"},
                   {"add<<<", "cudaMemcpy(h, a, n, kind); add<<<"}});
    check_refused(resident, prefetched, "may change from round to round",
                  {{"(a, n", "(a + i * n, n"},
                   {"n * 4", "sizes[i]"},
                   {"n * 4", "sizes[k++]"},
                   {"add<<<", "n += 4; add<<<"},
                   {"add<<<", "gpu.id = i; add<<<"}});
    check_refused(resident, located, "may change from round to round",
                  {{"gpu.id = 0", "gpu.id = i % 2"},
                   {"i = 0; i", "i = 1; i"},
                   {"++i", "i += 2"},
                   {"CHECK", "if (i == 3) CHECK"},
                   {"add<<<", "++i; add<<<"}});
    check_refused(resident, prefetched, "does not stand in the block",
                  {{"    for", "#pragma omp parallel for\n    for"},
                   {"for (int i = 0; i < 9; ++i)", "if (n)"},
                   {"        CHECK", "        b(); CHECK"},
                   {"CHECK(cuda", "ok &= (cuda"}});
}

BOOST_AUTO_TEST_SUITE_END()
