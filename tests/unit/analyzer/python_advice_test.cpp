/// Advice for lines of Python speaks of what their framework offers.
#include "analyzer/advice/report.hpp"
#include "analyzer/rules/python/python_advice.hpp"
#include "scenario.hpp"
#include "text.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <regex>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(analyzer_python_advice)

using namespace umadvisor;
using namespace umadvisor::test;
using rules::PythonAdvice;
using symbols::PythonFramework;

namespace {

const std::string packages = "/opt/venv/lib/python3.12/site-packages";
const std::string torch_library = packages + "/torch/lib/libtorch_cuda.so";
const std::string script = "/home/user/train.py";

struct Frames {
    std::vector<std::string> native; ///< modules inside of the interpreter, the innermost first
    std::vector<std::string> python; ///< files, the innermost first
    bool interpreter = true;
};

/// The one finding of a program that copies pageable memory from such a stack.
rules::Finding pageable_copy_from(const Frames& frames, const trace::Device& device = {}) {
    Scenario s(0, device);
    constexpr std::uint64_t interpreter = 99;
    std::uint64_t parent = 0, id = 100;
    const auto add_frame = [&](std::uint64_t module, const std::string& path) {
        s.builder.module(module, path).frame(id + 1, parent, 0x1000 * (id + 1), module);
        parent = ++id;
    };
    if (frames.interpreter) {
        add_frame(interpreter, "/nowhere/python3.12");
        s.builder.add(trace::Interpreter{.module = interpreter});
    }
    for (std::size_t i = frames.native.size(); i-- > 0;)
        add_frame(i + 1, frames.native[i]);
    std::uint64_t python = 0;
    for (std::size_t i = frames.python.size(); i-- > 0; ++python)
        s.builder.python_code(i + 1, frames.python[i], "f").python_frame(python + 1, python, i + 1);
    if (python != 0) {
        s.builder.frame(id + 1, parent, 0, 0, python);
        parent = ++id;
    }
    s.copy_often(256 * mib, 25 * ms, {.stack = parent});
    const advice::Report report(s.path());
    const std::vector<rules::Finding>& found = report.findings.empty() ? report.unpriced : report.findings;
    BOOST_TEST_REQUIRE(found.size() == 1u);
    return found[0];
}

bool speaks(const rules::Finding& finding, PythonFramework framework) {
    const PythonAdvice* const words = rules::python_advice(*finding.rule, framework);
    return words != nullptr && finding.advice.starts_with(words->advice);
}

bool speaks_of_cuda(const rules::Finding& finding) {
    return finding.advice.find("cudaMallocHost instead of malloc") != std::string::npos;
}

/// What is advised and what it is warned of.
std::string words_of(std::string_view rule, PythonFramework framework) {
    const PythonAdvice* const words = rules::python_advice(*rules::find_rule(rule), framework);
    return words == nullptr ? "" : std::string(words->advice) + " " + std::string(words->trap);
}

} // namespace

BOOST_AUTO_TEST_CASE(findings_without_a_price_are_advised_in_python_too) {
    trace::Device device;
    device.pageable_memory_access = 1; // nobody has measured its link
    const rules::Finding finding =
        pageable_copy_from({{torch_library}, {packages + "/torch/_tensor.py", script}}, device);
    BOOST_TEST(finding.unpriced);
    BOOST_TEST(speaks(finding, PythonFramework::torch));
}

BOOST_AUTO_TEST_CASE(the_framework_that_the_line_called_is_spoken_to) {
    using enum PythonFramework;
    BOOST_TEST(speaks(pageable_copy_from({{torch_library}, {packages + "/torch/_tensor.py", script}}), torch));
    BOOST_TEST(speaks(pageable_copy_from({{packages + "/cupy/_core/core.so"}, {script}}), cupy));
    BOOST_TEST(speaks(pageable_copy_from({{"/nowhere/libcudart.so.12", packages + "/jaxlib/xla_extension.so"},
                                          {packages + "/jax/_src/api.py", script}}),
                      jax));
}

BOOST_AUTO_TEST_CASE(of_two_frameworks_the_one_that_the_line_called) {
    BOOST_TEST(speaks(pageable_copy_from({{packages + "/cupy/_core/core.so"},
                                          {packages + "/cupy/_creation/from_data.py",
                                           packages + "/torch/utils/dlpack.py", script}}),
                      PythonFramework::torch));
}

BOOST_AUTO_TEST_CASE(python_without_a_framework_keeps_the_names_of_cuda) {
    for (const Frames& frames : {Frames{{"/nowhere/libffi.so.8"}, {script}},
                                 // What the framework called back reached the driver by itself.
                                 Frames{{"/nowhere/libffi.so.8"}, {script, packages + "/torch/autograd/f.py"}},
                                 // A folder of that name, but nobody's package.
                                 Frames{{"/nowhere/libffi.so.8"}, {"/home/user/torch/train.py"}},
                                 Frames{{"/nowhere/libffi.so.8"}, {"/home/user/libtorch/train.py"}},
                                 Frames{{"/nowhere/libffi.so.8"}, {packages + "/torchless/train.py"}}}) {
        const rules::Finding finding = pageable_copy_from(frames);
        BOOST_TEST(speaks(finding, PythonFramework::none), frames.python[0]);
        BOOST_TEST(contains(finding.advice, "cudaMallocHost"));
    }
}

BOOST_AUTO_TEST_CASE(lines_of_cpp_keep_their_advice) {
    const std::vector<std::string> callers{packages + "/torch/autograd/f.py", script};
    BOOST_TEST(speaks_of_cuda(pageable_copy_from({{"/home/user/extension.so"}, callers})));
    BOOST_TEST(speaks_of_cuda(pageable_copy_from({{torch_library, "/home/user/extension.so"}, callers})));
    BOOST_TEST(speaks_of_cuda(pageable_copy_from({{torch_library, "/home/user/program"}, {}, false})));
    BOOST_TEST(speaks_of_cuda(pageable_copy_from({{torch_library}, {}, false})));
}

BOOST_AUTO_TEST_CASE(a_thread_of_the_framework_has_no_python_line_but_a_python_program) {
    rules::Finding finding = pageable_copy_from({{torch_library}, {}});
    BOOST_TEST(speaks(finding, PythonFramework::torch));
    finding = pageable_copy_from({{"/nowhere/libcublas.so.12"}, {}});
    BOOST_TEST(speaks_of_cuda(finding));
}

BOOST_AUTO_TEST_CASE(numba_has_words_of_its_own_and_the_names_of_cuda_for_the_rest) {
    const rules::Finding finding = pageable_copy_from(
        {{"/nowhere/libffi.so.8"}, {packages + "/numba_cuda/numba/cuda/dispatcher.py", script}});
    BOOST_TEST(speaks(finding, PythonFramework::numba));
    BOOST_TEST(contains(finding.advice, "cuda.to_device(a) once"));
    const rules::Rule& churn = rules::uma_109;
    BOOST_TEST(rules::python_advice(churn, PythonFramework::numba) ==
               rules::python_advice(churn, PythonFramework::none));
}

BOOST_AUTO_TEST_CASE(the_trap_follows_the_advice) {
    const std::string advice = pageable_copy_from({{torch_library}, {script}}).advice;
    BOOST_TEST(contains(advice, "non_blocking=True). Note: .pin_memory() is a copy itself"));
}

BOOST_AUTO_TEST_CASE(a_rule_without_words_for_a_framework_keeps_its_own) {
    std::vector all{rules::Finding{.rule = &rules::uma_206, .advice = "as it was"}};
    rules::advise_in_python(all, [](ids::StackId) { return PythonFramework::torch; });
    BOOST_TEST(all[0].advice == "as it was");
}

BOOST_AUTO_TEST_CASE(what_was_folded_in_speaks_of_the_framework_too) {
    const auto find = [](const rules::Rule& rule, const char* advice) {
        return rules::Finding{.rule = &rule, .advice = advice};
    };
    std::vector all{find(rules::uma_102, "cudaMallocHost")};
    rules::fold(all[0], find(rules::uma_101, "cudaHostAlloc"));
    rules::fold(all[0], find(rules::uma_206, "as it was"));
    rules::advise_in_python(all, [](ids::StackId) { return PythonFramework::torch; });
    const std::vector<std::string>& details = all[0].details;
    BOOST_REQUIRE(details.size() == 2u);
    BOOST_TEST(details[0].starts_with("instead, UMA-101"), details[0]);
    BOOST_TEST(lacks(details[0], "cudaHostAlloc"));
    BOOST_TEST(details[0].find(rules::python_advice(rules::uma_101, PythonFramework::torch)->advice) !=
                   std::string::npos,
               details[0]);
    BOOST_TEST(details[1].ends_with("as it was"), details[1]);
}

BOOST_AUTO_TEST_CASE(frameworks_are_advised_in_their_own_words) {
    using enum PythonFramework;
    const struct {
        std::string_view rule;
        PythonFramework framework;
        std::initializer_list<const char*> words;
    } expected[] = {
        {"UMA-101", torch, {"pin_memory=True", ".pin_memory()", "non_blocking=True", "torch.empty(..., pin"}},
        {"UMA-101", cupy, {"cupyx.empty_pinned", "cupyx.zeros_pinned", "array.set(", "blocking=False", "out="}},
        {"UMA-101", jax, {"jax.device_put", "pinned_host"}},
        {"UMA-102", torch, {"non_blocking=True", "gains time only if", "synchronize"}},
        {"UMA-108", torch, {"torch.zeros(shape, device=device)"}},
        {"UMA-108", cupy, {"cupy.zeros"}},
        {"UMA-108", jax, {"jnp.zeros"}},
        {"UMA-109", torch, {"torch.cuda.Stream", "wait_stream"}},
        {"UMA-109", jax, {"jax.device_put the next"}},
        {"UMA-112", torch, {".item()", ".cpu()", "print(loss)"}},
        {"UMA-112", jax, {"block_until_ready"}},
        {"UMA-203", cupy, {"memPrefetchAsync"}},
        {"UMA-207", cupy, {"memAdvise"}},
        {"UMA-209", cupy, {"malloc_managed"}},
        {"UMA-302", jax, {"donate_argnums"}},
        {"UMA-401", torch, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "garbage_collection"}},
        {"UMA-401", cupy, {"cupy.cuda.MemoryPool", "MemoryAsyncPool"}},
        {"UMA-401", jax, {"XLA_PYTHON_CLIENT_ALLOCATOR"}},
        {"UMA-402", jax, {"XLA_PYTHON_CLIENT_PREALLOCATE=false"}},
        {"UMA-417", torch, {"loss.detach()"}},
        {"UMA-505", torch, {"CUDA graph"}},
    };
    for (const auto& [rule, framework, words] : expected)
        for (const char* const word : words)
            BOOST_TEST(words_of(rule, framework).find(word) != std::string::npos, rule << ": " << word);
    // No call of the C API, nor a launch as C++ writes it; CuPy has enumerators of CUDA's names.
    const std::regex calls("<<<|\\bcu(da)?[A-Z]\\w*\\(|\\bcudaMallocHost\\b|\\bnullptr\\b");
    for (const rules::Rule* const rule : rules::rules)
        for (const PythonFramework framework : {torch, cupy, jax})
            BOOST_TEST(!std::regex_search(words_of(rule->id, framework), calls), rule->id);
}

BOOST_AUTO_TEST_CASE(most_rules_have_words_for_most_frameworks) {
    std::size_t known = 0;
    for (const rules::Rule* const rule : rules::rules)
        for (const PythonFramework framework :
             {PythonFramework::torch, PythonFramework::cupy, PythonFramework::jax})
            if (const PythonAdvice* const words = rules::python_advice(*rule, framework)) {
                ++known;
                BOOST_TEST(!words->advice.empty());
                BOOST_TEST(!words->advice.ends_with('.'), words->advice);
                BOOST_TEST(!words->trap.ends_with('.'), words->trap);
            }
    BOOST_TEST(known > 75u);
}

BOOST_AUTO_TEST_SUITE_END()
