/// Memory that libraries keep for themselves.
#include "analyzer/rules/library_memory.hpp"
#include "found.hpp"

#include <boost/test/unit_test.hpp>
#include <initializer_list>
#include <string>

BOOST_AUTO_TEST_SUITE(analyzer_library_memory, *umadvisor::test::on_rules("UMA-402"))

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

/// A stack through these objects, the innermost first.
std::uint64_t stack_through(Scenario& s, std::initializer_list<const char*> objects) {
    static std::uint64_t next = 500'000;
    std::uint64_t parent = 0;
    const std::vector<const char*> inwards(objects);
    for (std::size_t i = inwards.size(); i-- > 0;) {
        const std::uint64_t module = ++next, frame = ++next;
        s.builder.module(module, inwards[i]).frame(frame, parent, 0x1000 * frame, module);
        parent = frame;
    }
    return parent;
}

std::string library_of(std::initializer_list<const char*> objects) {
    Scenario s;
    const ids::StackId stack(stack_through(s, objects));
    const reader::Trace trace(s.path());
    const rules::LibraryMemory* const library = rules::library_memory_at(trace.dictionary, stack);
    return library == nullptr ? "" : std::string(library->library);
}

constexpr const char *cudart = "/venv/lib/libcudart.so.13", *cublas = "/venv/lib/libcublas.so.13",
                     *allocator = "/venv/torch/lib/libc10_cuda.so",
                     *torch_cuda = "/venv/torch/lib/libtorch_cuda.so",
                     *torch_cpu = "/venv/torch/lib/libtorch_cpu.so", *program = "/home/user/solver";

/// Half a gibibyte that nothing uses, beside memory that is used for long.
Found unused_from(std::initializer_list<const char*> objects) {
    Scenario s;
    const auto kernel = s.function("step");
    const auto used = s.allocate(512 * mib, Memory::device, s.stack());
    s.allocate(512 * mib, Memory::device, stack_through(s, objects));
    for (int i = 0; i < 10; ++i) {
        s.launch(kernel, {used});
        s.synchronize({.duration = 10 * ms});
    }
    return findings_of(s);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_library_that_asks_the_driver_itself_has_the_memory) {
    BOOST_TEST(library_of({cudart, cublas, torch_cuda, program}) == "cuBLAS");
    BOOST_TEST(library_of({"/usr/lib/libcuda.so.1", "/usr/lib/libcudnn_ops.so.9", program}) == "cuDNN");
    BOOST_TEST(library_of({allocator, allocator, torch_cuda}) == "PyTorch's workspaces");
}

BOOST_AUTO_TEST_CASE(tensors_and_memory_of_the_program_are_its_own) {
    BOOST_TEST(library_of({cudart, allocator, torch_cpu, torch_cuda}) == "");
    BOOST_TEST(library_of({cudart, program, cublas}) == "");
    BOOST_TEST(library_of({cudart}) == "");
    BOOST_TEST(library_of({}) == "");
}

BOOST_AUTO_TEST_CASE(a_workspace_is_no_memory_that_a_line_could_leave_out) {
    BOOST_TEST(unused_from({cudart, program}).size() == 1u);
    nothing_in(unused_from({cudart, cublas, program}));
}

BOOST_FIXTURE_TEST_CASE(what_libraries_took_is_one_line, Scenario) {
    allocate(64 * mib, Memory::device, stack_through(*this, {cudart, cublas}));
    allocate(1 * mib, Memory::device, stack_through(*this, {cudart, "/venv/lib/libcusolver.so.12"}));
    reader::Trace trace(path());
    const std::string text = rules::library_memory_text(rules::Profile(trace));
    BOOST_TEST(text == "64 MiB by cuBLAS (CUBLAS_WORKSPACE_CONFIG or cublasSetWorkspace sets it)");
}

BOOST_AUTO_TEST_SUITE(analyzer_library_handles, *umadvisor::test::on_rules("UMA-401 UMA-413 UMA-418"))

/// Rounds in which a library allocates its workspace in one call and frees it in another, around a kernel.
struct Handles : Scenario {
    std::uint64_t kernel = function("gemm");
    std::uint64_t create = stack_through(*this, {cudart, cublas, program});
    std::uint64_t destroy = stack_through(*this, {cudart, cublas, program});

    std::uint64_t make() { return allocate(64 * mib, Memory::device, {.stack = create, .duration = 50 * us}); }
    void use(std::uint64_t handle) { launch(kernel, {handle}); }
    void give_up(std::uint64_t handle, std::uint64_t at) {
        synchronize({.stack = at, .duration = 10 * us});
        now += 5 * us;
        free(handle, 45 * us, at);
    }
};

BOOST_FIXTURE_TEST_CASE(a_handle_for_each_product, Handles) {
    for (int i = 0; i < 300; ++i) {
        const auto handle = make();
        use(handle);
        give_up(handle, destroy);
    }
    const Finding finding = lone(findings_of(*this), "UMA-418");
    BOOST_TEST(finding.stack == create);
    BOOST_TEST(place(finding) == destroy);
    BOOST_TEST(contains(finding.summary, "cuBLAS is created and destroyed 300 times"), finding.summary);
    BOOST_TEST(finding.saving_ns > 299 * 95e3);
    BOOST_TEST(finding.saving_ns < 300 * 112e3);
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front().rule->id == "UMA-401");
}

BOOST_AUTO_TEST_CASE(handles_that_are_kept_and_memory_that_is_none) {
    Handles kept, workspace, own;
    std::vector<std::uint64_t> handles;
    for (int i = 0; i < 8; ++i)
        handles.push_back(kept.make());
    const std::uint64_t line = own.stack();
    for (int i = 0; i < 300; ++i) {
        kept.use(handles[static_cast<std::size_t>(i) % 8]);
        kept.synchronize({.duration = 10 * us});
        const auto needed = workspace.make();
        workspace.use(needed);
        workspace.give_up(needed, workspace.create); // by the same call of the program
        const auto buffer = own.allocate(64 * mib, Memory::device, {.stack = line, .duration = 50 * us});
        own.use(buffer);
        own.give_up(buffer, line);
    }
    for (const auto handle : handles)
        kept.give_up(handle, kept.destroy);
    nothing_in(findings_of(kept));
    BOOST_TEST(rules_of(findings_of(workspace)) == "UMA-401");
    BOOST_TEST(rules_of(findings_of(own)) == "UMA-401");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
