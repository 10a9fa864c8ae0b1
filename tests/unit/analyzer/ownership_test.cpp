/// Which frame of a stack is shown first.
#include "analyzer/symbols/ownership.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "rendered.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_ownership)

using namespace umadvisor;
using namespace umadvisor::test;
using symbols::CodePlace;
using symbols::Owner;
using symbols::Ownership;

namespace {

CodePlace native(std::string function, std::string module, std::string file = "") {
    return {.function = std::move(function), .file = std::move(file), .module = std::move(module)};
}

CodePlace python(std::string function, std::string file) {
    CodePlace place = native(std::move(function), "", std::move(file));
    place.language = symbols::Language::python;
    return place;
}

const std::string program = "/home/user/program";
const std::string packages = "/usr/lib/python3.11/site-packages";

} // namespace

BOOST_AUTO_TEST_CASE(the_runtime_inside_the_program_is_not_its_code) {
    const Ownership ownership;
    for (const CodePlace& library :
         {native("cudaMemcpy", program), native("__cudart847", program),
          native("libcudart_static_1f2e3d", program), native("cudaMallocManaged<float>", program),
          native("x", "/usr/lib/libcuda.so.1"), native("x", "/opt/libcudart.so.13"),
          native("x", "/usr/lib/libcudart-d3a1.so.12"), native("x", "/opt/lib/libumadvisor.so"),
          native("__libc_start_main", "/lib/libc.so.6"), native("_start", program),
          native("std::vector<int>::push_back", program, "/usr/include/c++/12/vector"),
          native("core::ops::function::FnOnce::call_once", program, "/rustc/90c5418/library/core/src/ops.rs")})
        BOOST_TEST((ownership.of(library) == Owner::entry || ownership.of(library) == Owner::runtime),
                   library.text());
    for (const CodePlace& own : {native("main", program), native("upload", program, "/home/user/upload.cu"),
                                 native("cuda_upload", program), native("f", "/home/user/libcudaish.so"),
                                 native("f", "/opt/libcustom.so"), native("cuda::upload", program),
                                 python("step", "/home/user/train.py"), python("<module>", "<string>")})
        BOOST_TEST((ownership.of(own) == Owner::program), own.text());
}

BOOST_AUTO_TEST_CASE(frameworks_are_not_the_program) {
    const Ownership ownership;
    for (const CodePlace& library :
         {native("f", "/usr/lib/libcublas.so.13"), native("f", packages + "/torch/lib/libtorch_cuda.so"),
          native("at::native::copy_", program), native("f", packages + "/cupy/cuda/memory.so"),
          native("f", program, "cupy/cuda/memory.pyx"), native("thrust::copy", program),
          python("to", packages + "/torch/nn/modules/module.py"),
          python("get", "/opt/venv/lib/python3.12/site-packages/cupy/_core/core.py"),
          python("run", "/usr/lib/python3.11/threading.py"), python("_call", "<frozen importlib._bootstrap>")})
        BOOST_TEST((ownership.of(library) == Owner::framework), library.text());
    BOOST_TEST((ownership.of(native("PyEval_EvalFrame", "/usr/bin/python3.11")) == Owner::interpreter));
    BOOST_TEST((ownership.of(native("f", "/usr/lib/libpython3.11.so.1.0")) == Owner::interpreter));
}

BOOST_AUTO_TEST_CASE(packages_that_programs_are_written_on_are_no_lines_of_theirs) {
    const Ownership ownership;
    for (const char* const package : {"lightning", "pytorch_lightning", "accelerate", "transformers", "timm",
                                      "torch_geometric", "ignite", "deepspeed", "megatron", "vllm", "sglang",
                                      "rmm", "cudf", "numba", "numba_cuda", "torchmetrics", "wandb", "optax"})
        BOOST_TEST((ownership.of(python("f", packages + "/" + package + "/core.py")) == Owner::framework),
                   package);
    BOOST_TEST((ownership.of(python("f", packages + "/my_model/core.py")) == Owner::package));
    BOOST_TEST((ownership.of(native("f", packages + "/jax_plugins/xla_cuda13/xla_cuda_plugin.so")) ==
                Owner::framework));
}

BOOST_AUTO_TEST_CASE(an_installed_package_is_a_library_where_the_program_calls_it) {
    const Ownership ownership;
    const CodePlace copy = native("at::native::copy_kernel_cuda", packages + "/torch/lib/libtorch_cuda.so"),
                    library = python("batch_to_device", packages + "/some_library/tensor.py"),
                    extension = native("gather", packages + "/some_library/_C.so"),
                    own = python("<module>", "/home/user/train.py"),
                    tool = python("<module>", "/usr/local/bin/some-tool"),
                    start = native("_start", "/usr/bin/python3");
    BOOST_TEST(choose_line(std::vector{copy, extension, library, own, start}, ownership).file == own.file);
    // The package is the program.
    BOOST_TEST(choose_line(std::vector{copy, library, start}, ownership).file == library.file);
    BOOST_TEST(choose_line(std::vector{copy, library, tool, start}, ownership).file == library.file);
    // No package, but a script of the user's own that lies in a folder bin.
    BOOST_TEST(choose_line(std::vector{copy, tool, start}, ownership).file == tool.file);
}

BOOST_AUTO_TEST_CASE(the_line_of_a_python_program_under_a_framework) {
    const Ownership ownership;
    const std::vector<CodePlace> stack{
        native("cudaMemcpyAsync", "/opt/libcudart.so.13"),
        native("at::native::copy_kernel_cuda", packages + "/torch/lib/libtorch_cuda.so"),
        python("to", packages + "/torch/nn/modules/module.py"),
        python("step", "/home/user/train.py"),
        python("<module>", "/home/user/main.py"),
        native("_start", "/usr/bin/python3.11")};
    BOOST_TEST(choose_line(stack, ownership).text() == "train.py:0 in step()");
    // Without its Python frames the framework says more than the runtime or the interpreter.
    const std::vector<CodePlace> bare{stack[0], stack[1], stack[5]};
    BOOST_TEST(choose_line(bare, ownership).function == "at::native::copy_kernel_cuda");
    const std::vector<CodePlace> none{stack[0], stack[5]};
    BOOST_TEST(choose_line(none, ownership).function == "cudaMemcpyAsync");
    BOOST_TEST(choose_line({}, ownership).text() == "unknown place");
}

BOOST_AUTO_TEST_CASE(an_entry_point_a_few_frames_out_takes_back_what_looked_like_the_program) {
    const Ownership ownership;
    std::vector<CodePlace> stack{native("f1", program), native("f2", program), native("cudaFree", program),
                                 native("release", program)};
    BOOST_TEST(choose_line(stack, ownership).function == "release");
    // Not from afar: there it is a callback.
    stack.insert(stack.begin() + 1, 4, native("deeper", program));
    BOOST_TEST(choose_line(stack, ownership).function == "f1");
}

BOOST_AUTO_TEST_CASE(users_hide_and_show_by_module_file_or_function) {
    const std::vector<CodePlace> stack{native("wrap", "/opt/libwrap.so", "/src/wrap/copy.cpp"),
                                       native("upload", program, "/src/app/upload.cpp"),
                                       native("main", program, "/src/app/main.cpp")};
    const auto line = [&](std::vector<std::string> hide, std::vector<std::string> show) {
        return choose_line(stack, Ownership(std::move(hide), std::move(show))).function;
    };
    BOOST_TEST(line({}, {}) == "wrap");
    BOOST_TEST(line({"libwrap.so"}, {}) == "upload");
    BOOST_TEST(line({"/opt/*"}, {}) == "upload");
    BOOST_TEST(line({"wrap"}, {}) == "upload");
    BOOST_TEST(line({"*/wrap/*"}, {}) == "upload");
    BOOST_TEST(line({"libwrap*", "upload.cpp"}, {}) == "main");
    BOOST_TEST(line({"*"}, {"main"}) == "main");
    const CodePlace torch = native("f", packages + "/torch/lib/libtorch_cuda.so");
    BOOST_TEST((Ownership({}, {"libtorch*"}).of(torch) == Owner::program));
    BOOST_TEST((Ownership({"libtorch*"}, {"libtorch*"}).of(torch) == Owner::program));
}

namespace {

/// Two places of a library, both called from one place of the program: no file of either exists.
std::string two_copies_of_one_caller() {
    Scenario s;
    s.builder.module(1, "/nowhere/libwrap.so").module(2, "/nowhere/app");
    s.builder.frame(101, 103, 0x1001, 1).frame(102, 103, 0x2001, 1).frame(103, 0, 0x3001, 2);
    s.copy_often(256 * mib, 26 * ms, {.stack = 101});
    s.copy_often(256 * mib, 26 * ms, {.stack = 102});
    return s.path();
}

} // namespace

BOOST_AUTO_TEST_CASE(advice_groups_by_the_line_that_is_shown) {
    const std::string path = two_copies_of_one_caller();
    BOOST_TEST(advice::Report(path).findings.size() == 2u);
    const advice::Report hidden(path, {.hide = {"libwrap.so"}});
    BOOST_REQUIRE(hidden.findings.size() == 1u);
    const std::string text = text_of(path, {.hide = {"libwrap.so"}});
    BOOST_TEST(contains(text, "    app+0x3000   "));
    BOOST_TEST(lacks(text, "libwrap.so+"));
}

BOOST_FIXTURE_TEST_CASE(a_known_library_is_not_looked_into_for_the_line, Scenario) {
    builder.module(1, "/nowhere/libtorch_cuda.so").module(2, "/nowhere/app");
    builder.frame(101, 102, 0x1001, 1).frame(102, 0, 0x2001, 2);
    reader::Trace trace(path());
    std::vector<std::string> looked_into;
    symbols::Options options;
    options.progress = [&](std::string_view file, std::size_t) { looked_into.emplace_back(file); };
    symbols::Symbolizer symbolizer(trace.dictionary, options);
    BOOST_TEST(symbolizer.line(ids::StackId(101)).text() == "app+0x2000");
    BOOST_TEST(looked_into == std::vector<std::string>{"/nowhere/app"}, boost::test_tools::per_element());
    options.show = {"libtorch*"};
    symbols::Symbolizer showing(trace.dictionary, options);
    BOOST_TEST(showing.line(ids::StackId(101)).text() == "libtorch_cuda.so+0x1000");
}

BOOST_AUTO_TEST_CASE(whole_stacks_are_one_flag_away) {
    const std::string path = two_copies_of_one_caller();
    const std::string text = text_of(path, {.hide = {"libwrap.so"}, .full_stacks = true});
    BOOST_TEST(contains(text, "        #0 libwrap.so+0x1000\n        #1 app+0x3000\n"));
}

BOOST_AUTO_TEST_SUITE_END()
