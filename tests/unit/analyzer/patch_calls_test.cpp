/// Patches of single calls: what they become, and where they are left as they are.
#include "patch_case.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_patch_calls)

using namespace patch_case;

namespace {

const Case slices{&join_prefetches, rules::uma_218};
const std::string sliced = R"(void f(float* p, size_t bytes, size_t slice, cudaStream_t s) {
    for (size_t at = 0; at < bytes; at += slice)
        CHECK(cudaMemPrefetchAsync((char*)p + at, slice, on_gpu(), 0, s)); // here
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(slices_one_behind_the_other_are_prefetched_by_one_call) {
    BOOST_TEST(patched(slices, sliced) == R"(void f(float* p, size_t bytes, size_t slice, cudaStream_t s) {
    CHECK(cudaMemPrefetchAsync(p, bytes, on_gpu(), 0, s)); // here
}
)");
    // What is no pointer variable keeps its cast: it may be a number, or the address of something.
    for (const char* const pointer : {"(char*)&p[8]", "(char*)(p + 8)", "(char*)bytes"})
        BOOST_TEST(patched(slices, with(sliced, "(char*)p", pointer))
                       .find(std::string("cudaMemPrefetchAsync(") + pointer + ", bytes, ") !=
                   std::string::npos);
}

BOOST_AUTO_TEST_CASE(slices_that_are_not_all_of_the_range_stay) {
    check_refused(slices, sliced, "no statement of a loop",
                  {{"CHECK(cuda", "if (mine[at]) CHECK(cuda"},
                   {"CHECK(cudaMemPrefetchAsync(", "CHECK(cudaMemPrefetchAsync_v2("},
                   {"CHECK(cuda", "failed |= (cuda"}});
    check_refused(
        slices, sliced, "does more than prefetch slices",
        {{"at = 0", "at = 1"}, {"at < bytes", "at <= bytes"}, {"CHECK(cuda", "while (x) CHECK(cuda"}});
    check_refused(slices, sliced, "do not lie one behind the other",
                  {{"(char*)p", "p"},
                   {"at, slice", "at, bytes"},
                   {"at < bytes", "at < left()"},
                   {"(char*)p", "(char*)next()"}});
    check_refused(slices, sliced, "go to different places",
                  {{"0, s)", "0, s[at])"}, {"0, s)", "0, next(s))"}, {"on_gpu()", "devices[i++]"}});
    check_refused(slices, sliced, "pragma",
                  {{"    for", "#pragma omp parallel for\n    for"},
                   {"    for", "#pragma omp parallel for \\\n    num_threads(4)\n    for"},
                   {"    for", "    if (x) for"}});
}

namespace {

const Case query{&ask_once, rules::uma_507};
const std::string asked = R"(size_t budget() {
    size_t left = 0, total = 0;
    CHECK(cudaMemGetInfo(&left, &total)); // here
    return left / 2;
}
)";
const std::string attribute = R"(int blocks() {
    int count;
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0)); // here
    return count;
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(a_function_keeps_what_the_driver_answered) {
    BOOST_TEST(patched(query, asked) == R"(size_t budget() {
    static size_t left = 0, total = 0;
    static bool asked = false;
    if (!asked) {
        CHECK(cudaMemGetInfo(&left, &total)); // here
        asked = true;
    }
    return left / 2;
}
)");
    BOOST_TEST(patched(query, attribute).find("if (!asked) {\n        CHECK(cudaDeviceGetAttribute(") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_answer_that_may_be_another_in_the_next_call_is_not_kept) {
    check_refused(query, attribute, "something else in each call",
                  {{"Count, 0)", "Count, device)"}, {"Count, 0)", "Count, current())"}});
    check_refused(query, asked, "may be changed by more than the query",
                  {{"    return", "    left -= 5;\n    return"},
                   {"    CHECK", "    left = 0;\n    CHECK"},
                   {"    return", "    round_up(left);\n    return"},
                   {"    return", "    size_t& other = left;\n    other = 1;\n    return"}});
    check_refused(query, asked, "or asks several times",
                  {{"    CHECK", "    cudaSetDevice(device);\n    CHECK"},
                   {"    return", "    cudaMalloc(&p, left);\n    return"},
                   {"    return", "    size_t a, b;\n    cudaMemGetInfo(&a, &b);\n    return"}});
    check_refused(query, asked, "is not declared beside it",
                  {{"total = 0;", "total = 0, used = count;"},
                   {"left = 0", "left = first()"},
                   {"    CHECK", "    if (x) CHECK"},
                   {"    CHECK", "    for (;;) CHECK"},
                   {"size_t left = 0, total = 0;", "a();"},
                   {"CHECK(cuda", "return (cuda"}});
    check_refused(query, asked, "is static already",
                  {{"size_t left", "static size_t left"}, {"size_t left", "thread_local size_t left"}});
    check_refused(query, asked, "name that the patch needs", {{"left / 2", "asked ? left : 0"}});
    check_refused(query, asked, "not one whose answer can be kept", {{"MemGetInfo", "GetDevice"}});
    BOOST_TEST(patched({&ask_once, rules::uma_507, {}, ""}, asked).find("several devices") !=
               std::string::npos);
    BOOST_TEST(patched({&ask_once, rules::uma_507, {}, ""}, attribute).find("if (!asked)") !=
               std::string::npos);
}

namespace {

const Case unordered{&wait_for_work, rules::uma_604, {{"first", "also used here"}}};
const std::string two_streams = R"(void f(int* a, cudaStream_t one, cudaStream_t two) {
    for (int i = 0; i < 9; ++i) {
        CHECK(cudaMemsetAsync(a, i, 4, one)); // first
        other();
        use<<<1, 32, 0, two>>>(a); // here
    }
}
)";
const std::string two_functions = R"(void f(int* a, cudaStream_t one) {
    fill<<<1, 32, 0, one>>>(a); // first
}
void g(int* a, int* b) {
    cudaMemcpy(b, a, 4, cudaMemcpyDeviceToHost); // here
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(the_later_stream_waits_for_the_first) {
    BOOST_TEST(patched(unordered, two_streams) == R"(void f(int* a, cudaStream_t one, cudaStream_t two) {
    for (int i = 0; i < 9; ++i) {
        CHECK(cudaMemsetAsync(a, i, 4, one)); // first
        other();
        {
            cudaEvent_t done;
            CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
            CHECK(cudaEventRecord(done, one));
            CHECK(cudaStreamWaitEvent(two, done, 0));
            CHECK(cudaEventDestroy(done));
        }
        use<<<1, 32, 0, two>>>(a); // here
    }
}
)");
    const std::string copied = with(two_streams, "use<<<1, 32, 0, two>>>(a)", "cudaMemcpy(b, a, 4, kind)");
    BOOST_TEST(patched(unordered, copied).find("other();\n        CHECK(cudaStreamSynchronize(one));\n") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_host_waits_behind_work_that_another_function_needs) {
    BOOST_TEST(patched(unordered, two_functions) == R"(void f(int* a, cudaStream_t one) {
    fill<<<1, 32, 0, one>>>(a); // first
    cudaStreamSynchronize(one);
}
void g(int* a, int* b) {
    cudaMemcpy(b, a, 4, cudaMemcpyDeviceToHost); // here
}
)");
    check_refused(
        unordered, two_functions, "not known behind it",
        {{"    fill<<<1, 32, 0, one", "    for (auto& s : all)\n        fill<<<1, 32, 0, s"},
         {"    fill<<<1, 32, 0, one", "    for (int i = 0; i < 2; ++i)\n        fill<<<1, 32, 0, all[i]"},
         {"    fill<<<1", "    for (cudaStream_t one : all)\n        fill<<<1"},
         {"    fill<<<1", "    for (; k < 2; one = all[++k])\n        fill<<<1"},
         {"0, one>", "0, pool.next()>"},
         {"fill<<<1, 32, 0, one>>>(a)", "return cudaMemsetAsync(a, 0, 4, one)"}});
    check_refused(
        unordered, two_functions, "several calls, or none",
        {{"fill<<<1, 32, 0, one>>>(a)", "fill(a, one)"}, {"fill<<<", "fill<<<1, 1, 0, one>>>(b), fill<<<"}});
    check_refused(unordered, two_functions, "makes a graph",
                  {{"    fill", "    cudaStreamBeginCapture(one, mode);\n    fill"}});
}

BOOST_AUTO_TEST_CASE(a_stream_that_may_be_another_one_is_not_waited_for) {
    check_refused(
        unordered, two_streams, "is not known at its line",
        {{"4, one)", "4, streams[i])"},
         {"        CHECK(cuda", "        cudaStream_t one = streams[i % 2];\n        CHECK(cuda"},
         {"other();", "one = two;"},
         {"other();", "cudaStreamDestroy(one);"},
         {"other();", "cudaStream_t one = two;"},
         {"        use<<<1, 32, 0, two", "        for (cudaStream_t s : all)\n            use<<<1, 32, 0, s"},
         {"4, one)", "4, next())"}});
    const std::string once = with(two_streams, "for (int i = 0; i < 9; ++i) ", "");
    check_refused(unordered, once, "is not known at its line",
                  {{"CHECK(cudaMemsetAsync(a, i, 4, one)); // first\n",
                    "{\n            cudaStream_t s = all[0];\n            fill<<<1, 1, 0, s>>>(a); // first\n  "
                    "      }\n"},
                   {"CHECK(cudaMemsetAsync(a, i, 4, one)); // first\n",
                    "{\n            cudaStream_t one = all[0];\n            fill<<<1, 1, 0, one>>>(a); // "
                    "first\n        }\n"},
                   {"other();", "one = two;"}});
    const std::string backwards =
        "void f(int* a) {\n    cudaStream_t one, two = make();\n    use<<<1, 1, 0, two>>>(a); // here\n"
        "    one = make();\n    fill<<<1, 1, 0, one>>>(a); // first\n}\n";
    check_refused(unordered, once, "is not known at its line",
                  {{"4, one)", "4, done)"}, {"0, two>", "0, done>"}});
    check_refused(unordered, backwards, "is not known at its line", {{"make()", "create()"}});
    check_refused(unordered, two_streams, "into the same stream", {{"0, two>", "0, one>"}});
    check_refused(unordered, two_streams, "shares a line", {{"        use", "        if (x) b(); use"}});
    check_refused(unordered, two_streams, "makes a graph",
                  {{"other();", "cudaStreamBeginCapture(two, mode);"}});
}

namespace {

const Case reused{&wait_for_work, rules::uma_602};
const std::string staged = R"(void f(float* d, float* stage, cudaStream_t s, cudaEvent_t sent) {
    for (int b = 0; b < 9; ++b) {
        for (size_t i = 0; i < n; ++i) stage[i] = b;
        busy<<<1, 256, 0, s>>>(d);
        CHECK(cudaMemcpyAsync(d, stage, bytes, cudaMemcpyHostToDevice, s)); // here
        CHECK(cudaEventRecord(sent, s));
    }
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(the_host_waits_for_the_copy_before_it_writes_the_source_again) {
    BOOST_TEST(patched(reused, staged) == R"(void f(float* d, float* stage, cudaStream_t s, cudaEvent_t sent) {
    for (int b = 0; b < 9; ++b) {
        CHECK(cudaEventSynchronize(sent));
        for (size_t i = 0; i < n; ++i) stage[i] = b;
        busy<<<1, 256, 0, s>>>(d);
        CHECK(cudaMemcpyAsync(d, stage, bytes, cudaMemcpyHostToDevice, s)); // here
        CHECK(cudaEventRecord(sent, s));
    }
}
)");
    const auto waits = [](std::string_view part, std::string_view instead, std::string_view wait) {
        return patched(reused, with(staged, part, instead)).find(wait) != std::string::npos;
    };
    const std::string_view by_stream = "{\n        CHECK(cudaStreamSynchronize(s));\n        ";
    // Events that another call records too, or that differ from round to round, say nothing on the copy.
    BOOST_TEST(waits("busy<<<1, 256, 0, s>>>(d);", "cudaEventRecord(sent, two);", by_stream));
    BOOST_TEST(waits("Record(sent,", "Record(events[b],", by_stream));
    BOOST_TEST(waits("Record(sent, s)", "Record(sent, two)", by_stream));
    BOOST_TEST(waits("for (size_t i = 0; i < n; ++i) stage[i] = b;", "memcpy(stage, all + b, bytes);",
                     "(sent));\n        memcpy"));
    BOOST_TEST(waits("        CHECK(cudaEventRecord(sent, s));\n", "        stage[0] = 5;\n",
                     "// here\n        CHECK(cudaStreamSynchronize(s));\n        stage[0] = 5;"));
}

BOOST_AUTO_TEST_CASE(the_host_does_not_wait_where_its_write_or_the_stream_is_not_known) {
    check_refused(reused, staged, "not in its loop", {{"stage[i] = b", "alias[i] = b"}});
    check_refused(reused, staged, "differs from round to round",
                  {{"HostToDevice, s)", "HostToDevice, streams[b])"},
                   {"HostToDevice, s)", "HostToDevice, next())"},
                   {"        for (size_t", "        a(); for (size_t"}});
    check_refused(reused, staged, "no statement of a loop",
                  {{"cudaMemcpyAsync(d, stage", "cudaMemcpy2DAsync(d, pitch, stage"},
                   {"cudaMemcpyAsync(d, stage, bytes, cudaMemcpyHostToDevice, s)",
                    "cudaMemcpyToSymbolAsync(d, stage, bytes, 0, kind, s)"},
                   {"for (int b = 0; b < 9; ++b)", "if (b)"}});
    check_refused(reused, staged, "makes a graph",
                  {{"    for (int", "    cudaStreamBeginCapture(s, m);\n    for (int"}});
}

namespace {

const Case freed{&correct_failing_call, rules::uma_701};
const std::string from_malloc = R"(void f(size_t n) {
    float* p = (float*)malloc(n);
    memset(p, 0, n);
    CHECK(cudaMemcpy(d, p, n, cudaMemcpyHostToDevice));
    CHECK(cudaFree(p)); // here
}
)";
const Case captured{&correct_failing_call,
                    rules::uma_701,
                    {{"capture", "the capture begins here"}},
                    "0",
                    "use cudaStreamCaptureModeThreadLocal"};
const std::string capture = R"(void f(cudaStream_t s) {
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // capture
}
void g() {
    cudaMalloc(&p, 4); // here
}
)";

} // namespace

BOOST_AUTO_TEST_CASE(memory_from_malloc_is_freed_by_free) {
    const std::string right = with(from_malloc, "CHECK(cudaFree(p))", "free(p)");
    BOOST_TEST(patched(freed, from_malloc) == right);
    BOOST_TEST(patched(freed, with(from_malloc, "(float*)malloc(n)", "static_cast<float*>(malloc(n))")) ==
               with(right, "(float*)malloc(n)", "static_cast<float*>(malloc(n))"));
}

BOOST_AUTO_TEST_CASE(memory_of_other_kinds_or_other_owners_is_not_freed) {
    check_refused(freed, from_malloc, "does not show which call",
                  {{"(float*)malloc(n)", "new float[n]"},
                   {"(float*)malloc(n)", "(float*)aligned_alloc(64, n)"},
                   {"float* p =", "p ="},
                   {"float* p =", "static float* p ="},
                   {"float* p = (float*)malloc(n)", "float*& p = q; p = (float*)malloc(n)"},
                   {"memset(p, 0, n)", "cudaMallocManaged(&p, n)"},
                   {"memset(p, 0, n)", "make(&p)"},
                   {"memset(p, 0, n)", "p = p + 4"},
                   {"memset(p, 0, n)", "{ float* p; }"}});
    check_refused(freed, from_malloc, "freed in each round",
                  {{"    CHECK(cudaFree(p))", "    for (int i = 0; i < 2; ++i) CHECK(cudaFree(p))"}});
    check_refused(freed, from_malloc, "at another line, too",
                  {{"memset(p, 0, n)", "free(p)"}, {"memset(p, 0, n)", "if (x) cudaFree(p)"}});
    check_refused(freed, from_malloc, "by kernels, or page-locked",
                  {{"memset(p, 0, n)", "k<<<1, 1>>>(p)"}, {"memset(p, 0, n)", "cudaHostRegister(p, n, 0)"}});
    check_refused(freed, from_malloc, "which may free it",
                  {{"memset(p, 0, n)", "q = p"},
                   {"memset(p, 0, n)", "release(p)"},
                   {"memset(p, 0, n)", "Buffer owner(p)"},
                   {"memset(p, 0, n)", "Buffer owner{p}"},
                   {"memset(p, 0, n)", "delete[] p"}});
    check_refused(freed, from_malloc, "no statement of its own",
                  {{"CHECK(cudaFree(p))", "cudaError_t error = cudaFree(p)"},
                   {"CHECK(cudaFree(p))", "if (failed(cudaFree(p))) a()"},
                   {"CHECK(cudaFree(p))", "CHECK(cudaFree(all[0]))"},
                   {"CHECK(cudaFree(p))", "CHECK(cudaFreeAsync(p, s))"}});
}

BOOST_AUTO_TEST_CASE(a_capture_lets_other_threads_make_their_calls) {
    BOOST_TEST(patched(captured, capture) == with(capture, "ModeGlobal", "ModeThreadLocal"));
    check_refused(captured, capture, "does not forbid other threads",
                  {{"ModeGlobal", "ModeRelaxed"}, {"ModeGlobal", "ModeThreadLocal"}});
    check_refused(captured, capture, "line where its capture begins",
                  {{"cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)", "begin(s)"}});
}

BOOST_AUTO_TEST_SUITE_END()
