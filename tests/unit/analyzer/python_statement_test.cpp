/// Findings on statements of Python that cost more than their CUDA calls.
#include "python_program.hpp"

#include "analyzer/advice/own_lines.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_python_statement,
                      *umadvisor::test::on_rules("UMA-103 UMA-114 UMA-116 UMA-119 UMA-407 UMA-506"))

using namespace umadvisor;
using namespace umadvisor::test;

/// x - torch.tensor([...], device=device), step after step: line 22 uploads a few bytes and waits, line 23
/// launches two kernels.
struct Steps : PythonProgram {
    std::uint64_t upload = call_at(22), wait_for_it = call_at(22), first = call_at(23), second = call_at(23);
    std::uint64_t kernel = function("add");
    std::uint64_t before = 30 * us;

    using Bytes = std::uint64_t (*)(int step); ///< their hash; 0: nobody looked at them
    static std::uint64_t the_same(int) { return 7; }
    static std::uint64_t others(int step) { return static_cast<std::uint64_t>(step) + 1; }

    void run(int steps, Bytes of_step = the_same, std::uint64_t kernel_ns = 2 * us, std::uint64_t bytes = 12) {
        for (int step = 0; step < steps; ++step) {
            if (step % 200 == 0)
                builder.next_chunk();
            pass(before);
            copy(bytes, 1400, {.stack = upload, .asynchronous = true, .part = of_step(step)});
            wait(wait_for_it, step == 0 ? 4 * us : std::max(12 * us, 2 * kernel_ns) - 8 * us);
            pass(7 * us);
            launch(kernel, {}, step < 8 ? 2u * static_cast<unsigned>(step) + 1 : 0, first);
            now += 7 * us - 600; // as launch() leaves 600
            launch(kernel, {}, step < 8 ? 2u * static_cast<unsigned>(step) + 2 : 0, second);
            if (step < 8) {
                device_time(2u * static_cast<unsigned>(step) + 1, kernel_ns);
                device_time(2u * static_cast<unsigned>(step) + 2, kernel_ns);
            }
        }
    }
};

BOOST_FIXTURE_TEST_CASE(a_constant_that_is_uploaded_in_every_step_costs_its_statement, Steps) {
    run(1000);
    const Found all = found();
    const Finding finding = among(all, "UMA-116");
    BOOST_TEST(finding.stack == upload);
    BOOST_TEST(evidence(finding, "rounds") == 1000);
    // Of the 30 us before its first call so much counts as lies between two calls of line 23.
    BOOST_TEST(finding.statement_ns == 1000 * (7e3 + 1.4e3 + 1e3 + 4e3), boost::test_tools::tolerance(0.03));
    BOOST_TEST(finding.saving_ns <= finding.statement_ns);
    BOOST_TEST(finding.saving_ns > 0.9 * finding.statement_ns);
    BOOST_TEST((finding.confidence == Confidence::medium));
    // The wait is the statement's, and no line of its own to leave out.
    nothing_in(of_rule(all, "UMA-506"));
}

BOOST_AUTO_TEST_CASE(what_is_no_constant_of_every_round) {
    const auto constants = [](int steps, Steps::Bytes of_step, std::uint64_t bytes = 12) {
        Steps s;
        s.run(steps, of_step, 2 * us, bytes);
        return of_rule(s.found(), "UMA-116");
    };
    nothing_in(constants(1000, Steps::others));             // values that change
    nothing_in(constants(50, Steps::the_same));             // of the start
    nothing_in(constants(1000, Steps::the_same, 64 * kib)); // batches
    nothing_in(constants(1000, [](int step) { return step < 400 ? Steps::the_same(step) : 0; }));
    nothing_in(constants(1000, [](int step) { // as few as are looked at later on change
        return step < 400 ? Steps::the_same(step) : step % 50 == 0 ? Steps::others(step) : 0;
    }));
}

BOOST_FIXTURE_TEST_CASE(a_constant_need_not_be_looked_at_each_time, Steps) {
    run(1000, [](int step) { return step < 200 || step % 50 == 0 ? Steps::the_same(step) : 0; });
    BOOST_TEST(evidence(among(found(), "UMA-116"), "rounds") == 1000);
}

BOOST_AUTO_TEST_CASE(constants_of_two_lines_are_not_to_be_packed) {
    for (const bool constant : {true, false}) {
        Steps s;
        const std::uint64_t other = s.call_at(24), wait_for_other = s.call_at(24);
        for (int step = 0; step < 1000; ++step) {
            if (step % 200 == 0)
                s.builder.next_chunk();
            const std::uint64_t hash = constant ? Steps::the_same(step) : Steps::others(step);
            for (const auto& [upload, wait] : {std::pair(s.upload, s.wait_for_it), {other, wait_for_other}}) {
                s.pass(s.before);
                s.copy(12, 1400, {.stack = upload, .asynchronous = true, .part = hash});
                s.wait(wait, 4 * us);
            }
            s.launch(s.kernel, {}, 0, s.first);
        }
        BOOST_TEST(tells(s.found(), "UMA-119") != constant);
        BOOST_TEST(tells(s.found(), "UMA-116") == constant);
    }
}

BOOST_AUTO_TEST_CASE(the_time_before_a_statement_shrinks_as_far_as_there_is_some) {
    Steps s{.before = 3 * us};
    s.run(1000);
    BOOST_TEST(among(s.found(), "UMA-116").statement_ns == 1000 * (2.6e3 + 1.4e3 + 1e3 + 4e3),
               boost::test_tools::tolerance(0.03));
}

BOOST_FIXTURE_TEST_CASE(a_device_that_is_the_slower_one_hides_the_statement, Steps) {
    run(1000, Steps::the_same, 100 * us);
    for (const Finding& finding : of_rule(found(), "UMA-116"))
        BOOST_TEST(finding.saving_ns < 0.2 * finding.statement_ns);
}

namespace {

constexpr const char* connector =
    "/venv/lib/python3.12/site-packages/lightning/pytorch/trainer/connectors/logger_connector/result.py";
constexpr const char* metric = "/venv/lib/python3.12/site-packages/torchmetrics/metric.py";

/// self.log(...) at line 27, by way of code in `file`, beside a kernel of line 22.
void log_each_step(PythonProgram& s, const char* file, int steps) {
    const auto first = s.call_at(27, {file}), second = s.call_at(27, {file}), forward = s.call_at(22);
    const auto kernel = s.function("gemm");
    for (int step = 0; step < steps; ++step) {
        s.pass(100 * us);
        s.launch(kernel, {}, 0, forward);
        s.now += 40 * us;
        for (const std::uint64_t call : {first, second}) {
            s.copy(4, 5 * us, {.source = Memory::device, .stack = call, .asynchronous = true});
            s.pass(call == first ? 300 * us : 20 * us);
        }
    }
}

} // namespace

BOOST_FIXTURE_TEST_CASE(what_is_logged_in_every_step_costs_what_the_logging_code_takes, PythonProgram) {
    log_each_step(*this, connector, 500);
    const Finding finding = among(found(), "UMA-116");
    BOOST_TEST(finding.statement_ns > 500 * 310e3);
    BOOST_TEST(finding.statement_ns < 500 * 360e3);
    BOOST_TEST(finding.saving_ns > 0.9 * finding.statement_ns);
    BOOST_TEST(contains(finding.summary, "500 rounds"));
    BOOST_TEST(contains(finding.advice, "enable_progress_bar"));
    PythonProgram plain; // another logger's
    log_each_step(plain, "/venv/lib/python3.12/site-packages/wandb/sdk/wandb_run.py", 500);
    BOOST_TEST(among(plain.found(), "UMA-116").advice == "log only every k-th round (if step % 100 == 0: ...)");
}

BOOST_FIXTURE_TEST_CASE(metrics_are_work_and_a_log_now_and_then_is_none, PythonProgram) {
    log_each_step(*this, metric, 500);
    nothing_in(of_rule(found(), "UMA-116"));
    PythonProgram rare;
    log_each_step(rare, connector, 50);
    nothing_in(of_rule(rare.found(), "UMA-116"));
}

namespace {

/// x.pin_memory().to("cuda", non_blocking=True): the allocator of page-locked memory asks for an event, the
/// host copies for `fill`, and the upload follows. Then a kernel that takes `kernel_ns`.
void upload_batches(PythonProgram& s, std::uint64_t fill, std::uint64_t kernel_ns, int batches,
                    bool one_line = true) {
    const auto query = s.call_at(one_line ? 22 : 20), upload = s.call_at(22), use = s.call_at(23);
    const auto kernel = s.function("mean");
    for (int batch = 0; batch < batches; ++batch) {
        s.pass(20 * us);
        s.synchronize({.kind = trace::SyncKind::event_query, .stack = query, .duration = us});
        s.pass(fill);
        s.copy(64 * mib, 6 * us, {.source = Memory::pinned, .stack = upload, .asynchronous = true});
        s.launch(kernel, {}, static_cast<unsigned>(batch) + 1, use);
        s.device_time(static_cast<unsigned>(batch) + 1, kernel_ns);
    }
    s.wait(s.call_at(24), 4 * ms);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(page_locked_memory_that_the_line_fills_itself_is_a_copy_of_the_host, PythonProgram) {
    upload_batches(*this, 5 * ms, 10 * us, 40);
    const Finding finding = among(found(), "UMA-116");
    BOOST_TEST(finding.statement_ns == 40 * 5e6, nearly);
    BOOST_TEST(contains(finding.summary, "copy on the host"));
    // The uploads take 1.2 ms each, and are then what the run waits for.
    BOOST_TEST(finding.saving_ns > 0.6 * finding.statement_ns);
    BOOST_TEST(finding.saving_ns < 0.85 * finding.statement_ns);
}

namespace {

/// The same, of one batch again and again. `whole`: the hash of all of its bytes.
Found upload_one_batch(std::uint64_t whole) {
    PythonProgram s;
    const auto query = s.call_at(22), upload = s.call_at(22), use = s.call_at(23);
    const auto kernel = s.function("mean"), batch = s.allocate(64 * mib, Memory::device);
    for (int round = 0; round < 40; ++round) {
        s.pass(20 * us);
        s.synchronize({.kind = trace::SyncKind::event_query, .stack = query, .duration = us});
        s.pass(5 * ms);
        s.copy(64 * mib, 6 * us,
               {.source = Memory::pinned,
                .stack = upload,
                .asynchronous = true,
                .to = batch,
                .part = 9,
                .whole = whole,
                .places = 4});
        s.launch(kernel, {batch}, 0, use);
    }
    s.wait(s.call_at(24), 4 * ms);
    return s.found();
}

} // namespace

BOOST_AUTO_TEST_CASE(where_the_bytes_are_surely_the_same_the_copy_on_the_host_goes_with_the_upload) {
    const Found sure = upload_one_batch(7);
    BOOST_TEST(evidence(among(sure, "UMA-114"), "fill_ns") == 39 * 5e6, nearly);
    nothing_in(of_rule(sure, "UMA-116"));
    const Found in_part = upload_one_batch(0);
    BOOST_TEST(among(in_part, "UMA-116").statement_ns == 40 * 5e6, nearly);
    for (const Finding& finding : of_rule(in_part, "UMA-114"))
        BOOST_TEST(finding.saving_ns < 40 * 2e6);
}

BOOST_FIXTURE_TEST_CASE(what_lies_between_two_lines_may_be_anything, PythonProgram) {
    upload_batches(*this, 5 * ms, 10 * us, 40, false);
    nothing_in(of_rule(found(), "UMA-116"));
}

BOOST_FIXTURE_TEST_CASE(time_that_no_copy_takes_is_other_code, PythonProgram) {
    upload_batches(*this, 200 * ms, 10 * us, 40);
    nothing_in(of_rule(found(), "UMA-116"));
    PythonProgram quick;
    upload_batches(quick, 200 * us, 10 * us, 40);
    nothing_in(of_rule(quick.found(), "UMA-116"));
}

namespace {

/// A function of jax.jit with arguments in the host's memory: another thread uploads them, and line 26 makes
/// its stream wait for them and launches. `python_ns`: between the rounds, before the upload.
void call_with_host_arguments(PythonProgram& s, std::uint64_t python_ns, int rounds, bool awaited = true,
                              std::uint64_t later_ns = 50 * us) {
    const auto wait_for = s.call_at(26), launch = s.call_at(26), upload = s.call_elsewhere(),
               record = s.call_elsewhere();
    const auto kernel = s.function("fusion");
    for (int round = 0; round < rounds; ++round) {
        s.pass(python_ns);
        s.now += 3 * ms; // of which it prepared 16 MiB for 3 ms
        trace::Copy copy{.bytes = 16 * mib,
                         .source_memory = Memory::pinned,
                         .destination_memory = Memory::device,
                         .asynchronous = 1,
                         .stream = trace::StreamId{8}};
        copy.stack = upload;
        copy.content.part_hash = 9;
        s.call(copy, "cuMemcpyHtoDAsync_v2", 10 * us, 2);
        s.now += 9 * us;
        trace::Event event{.action = trace::EventAction::record, .event = 0x77, .stream = trace::StreamId{8}};
        event.stack = record;
        s.call(event, "cuEventRecord", us, 2);
        s.now += later_ns;
        if (awaited) {
            trace::Stream wait{
                .action = trace::StreamAction::wait_event, .stream = trace::StreamId{9}, .event = 0x77};
            wait.stack = wait_for;
            s.call(wait, "cuStreamWaitEvent");
        }
        s.launch(kernel, {}, 0, launch);
    }
}

} // namespace

BOOST_FIXTURE_TEST_CASE(arguments_that_another_thread_uploads_are_told_at_the_line_that_waits, PythonProgram) {
    call_with_host_arguments(*this, 1 * ms, 40);
    const Finding finding = among(found(), "UMA-116");
    BOOST_TEST(finding.stack == line_of()(finding.stack)); // line 26
    // The first round has no call before it.
    BOOST_TEST(evidence(finding, "rounds") == 39);
    BOOST_TEST(finding.saving_ns > 38 * 3e6);
    BOOST_TEST(finding.saving_ns < 40 * 4.2e6);
    BOOST_TEST((finding.confidence == Confidence::medium)); // the same bytes
}

BOOST_FIXTURE_TEST_CASE(what_python_does_long_before_the_upload_is_not_counted, PythonProgram) {
    call_with_host_arguments(*this, 100 * ms, 40);
    BOOST_TEST(among(found(), "UMA-116").saving_ns < 40 * 4.2e6);
}

BOOST_FIXTURE_TEST_CASE(uploads_that_no_line_waits_for_are_ahead_of_their_use, PythonProgram) {
    call_with_host_arguments(*this, 1 * ms, 40, false);
    nothing_in(of_rule(found(), "UMA-116"));
    PythonProgram later;
    call_with_host_arguments(later, 1 * ms, 40, true, 5 * ms);
    nothing_in(of_rule(later.found(), "UMA-116"));
}

/// torch.tensor(list of values of the device): the host reads one after the other at one line.
BOOST_AUTO_TEST_CASE(reads_side_by_side_count_what_python_does_around_them) {
    PythonProgram s;
    const auto download = s.call_at(27), wait = s.call_at(27), forward = s.call_at(20);
    s.launch(s.function("softmax"), {}, 0, forward);
    for (int i = 0; i < 6000; ++i) {
        if (i % 500 == 0)
            s.builder.next_chunk();
        s.download(8, 1300, {.destination = Memory::pageable, .stack = download, .asynchronous = true});
        s.wait(wait, 5 * us);
        s.pass(3 * us);
    }
    const Finding finding = among(s.found(), "UMA-103");
    BOOST_TEST(finding.statement_ns == 6000 * (1.3e3 + 1e3 + 5e3 + 3e3), boost::test_tools::tolerance(0.03));
    BOOST_TEST(finding.saving_ns > 0.9 * finding.statement_ns);
    BOOST_TEST(finding.saving_ns <= finding.statement_ns);
}

namespace {

/// What a thread without Python does `where` the calls before and behind are made.
Found moved(PythonProgram& s, std::uint64_t before, std::uint64_t behind, std::uint64_t elsewhere,
            std::optional<symbols::PythonFramework> framework) {
    for (int i = 0; i < 20; ++i) {
        s.wait(before, us);
        s.now += 10 * us;
        trace::Set set;
        set.stack = elsewhere;
        s.call(set, "cuMemsetD8Async", us, 2);
        s.now += 8 * us;
        s.wait(behind, us);
    }
    reader::Trace trace(s.path());
    const rules::Profile profile(trace);
    Found all{
        Finding{.rule = &rules::uma_407, .stack = ids::StackId(elsewhere), .confidence = Confidence::high}};
    advice::prefer_python_lines(
        all, profile, s.line_of(), [elsewhere](ids::StackId stack) { return stack != elsewhere; },
        [framework](ids::StackId) { return framework; });
    return all;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(what_a_thread_of_the_framework_does_is_told_at_the_line_that_runs, PythonProgram) {
    const auto first = call_at(26), second = call_at(26), elsewhere = call_elsewhere();
    const Finding finding = moved(*this, first, second, elsewhere, symbols::PythonFramework::jax).front();
    BOOST_TEST(finding.stack == first);
    BOOST_TEST((finding.confidence == Confidence::medium));
    BOOST_TEST(place(finding) == elsewhere);
}

BOOST_AUTO_TEST_CASE(between_two_lines_the_one_that_waits_is_told_or_the_one_that_starts_a_backward_pass) {
    for (const bool torch : {false, true}) {
        PythonProgram s;
        const auto first = s.call_at(30), second = s.call_at(31), elsewhere = s.call_elsewhere();
        const Finding finding = moved(s, first, second, elsewhere,
                                      torch ? symbols::PythonFramework::torch : symbols::PythonFramework::jax)
                                    .front();
        BOOST_TEST(finding.stack == (torch ? first : second));
        BOOST_TEST((finding.confidence == Confidence::low));
    }
}

/// for length in lengths: int(length) at line 31 waits for four bytes, line 32 uploads a row and waits, and
/// line 33 launches two kernels.
struct Elements : PythonProgram {
    explicit Elements(std::string through = {}) : PythonProgram(std::move(through)) {}

    std::uint64_t read = call_at(31), awaited = call_at(31), upload = call_at(32), sent = call_at(32);
    std::uint64_t first = call_at(33), second = call_at(33), kernel = function("cat");
    std::uint64_t array = allocate(64 * kib, Memory::device);

    void run(int arrays, int elements, std::uint64_t stride, bool rows = true) {
        for (int at = 0; at < arrays; ++at) {
            builder.next_chunk();
            for (int i = 0; i < elements; ++i) {
                pass(30 * us);
                download(4, 1400,
                         {.stack = read,
                          .asynchronous = true,
                          .from = array,
                          .offset = static_cast<std::uint64_t>(i) * stride});
                wait(awaited, 4 * us);
                pass(40 * us);
                if (rows) {
                    copy(512, 1400, {.stack = upload, .asynchronous = true});
                    wait(sent, 4 * us);
                }
                pass(7 * us);
                launch(kernel, {}, 0, first);
                now += 7 * us - 600;
                launch(kernel, {}, 0, second);
            }
        }
    }
};

BOOST_FIXTURE_TEST_CASE(elements_that_are_read_one_by_one_for_an_upload_each, Elements) {
    run(10, 40, 4);
    const Finding finding = among(found(), "UMA-116");
    constexpr double each = 7e3 + 1.4e3 + 1e3 + 4e3; // before it what lies between two calls of line 33
    constexpr double made = 40e3 - 7e3;              // between a read and its upload, beside that
    BOOST_TEST(finding.statement_ns == 390 * (2 * each + made), boost::test_tools::tolerance(0.03));
    BOOST_TEST(contains(finding.summary, "f() reads 400 elements one by one, in 10 groups"), finding.summary);
    BOOST_TEST(place(finding) == upload);
}

BOOST_AUTO_TEST_CASE(elements_are_read_together_in_the_words_of_the_one_framework) {
    const auto advice = [](const std::string& library) {
        Elements s("/venv/lib/python3.12/site-packages/" + library);
        s.run(10, 40, 4);
        return among(s.found(), "UMA-116").advice;
    };
    for (const auto& [library, words] :
         {std::pair("torch/lib/libtorch_cuda.so", "x.tolist()"), std::pair("cupy/_core/core.so", "x.get()"),
          std::pair("jaxlib/xla_extension.so", "jax.device_get(x)")})
        for (const std::string_view other : {"x.tolist()", "x.get()", "jax.device_get(x)"})
            BOOST_TEST((advice(library).find(other) != std::string::npos) == (other == words), advice(library));
    BOOST_TEST(contains(advice("other/other.so"), "before the loop, and upload"));
}

BOOST_AUTO_TEST_CASE(values_that_are_no_elements_of_an_array) {
    const auto told = [](int arrays, int elements, std::uint64_t stride, bool rows = true) {
        Elements s;
        s.run(arrays, elements, stride, rows);
        return of_rule(s.found(), "UMA-116");
    };
    nothing_in(told(10, 40, 512));      // each in an allocation of its own
    nothing_in(told(10, 40, 0));        // one value
    nothing_in(told(200, 2, 4));        // arrays of two
    nothing_in(told(2, 40, 4));         // of the start
    nothing_in(told(10, 40, 4, false)); // UMA-103 counts reads alone
}

BOOST_AUTO_TEST_SUITE_END()
