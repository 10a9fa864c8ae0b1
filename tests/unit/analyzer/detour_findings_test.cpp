/// Findings on copies that need not cross the link, or not in every round.
#include "busy_device.hpp"
#include "python_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_detour_findings)

using namespace umadvisor;
using namespace umadvisor::test;
using test::close;
using trace::SyncKind;

BOOST_AUTO_TEST_SUITE(through_host, *umadvisor::test::on_rules("UMA-101 UMA-111"))

struct Detour : BusyDevice {
    std::uint64_t from = memory(), to = memory(), there = memory(1), down = stack(), up = stack();

    void rounds(std::uint64_t target, std::uint64_t gap = 0, Memory host = Memory::pageable,
                std::uint64_t up_bytes = 64 * mib) {
        for (int round = 0; round < 10; ++round) {
            go_down(host);
            now += gap;
            go_up(target, host, up_bytes);
        }
    }
    void go_down(Memory host, std::uint64_t ns = 4000 * us) {
        download(from, 64 * mib, {.ns = ns, .stack = down, .asynchronous = false, .host = host});
    }
    void go_up(std::uint64_t target, Memory host, std::uint64_t bytes = 64 * mib) {
        upload(target, bytes, {.ns = 5000 * us, .stack = up, .asynchronous = false, .host = host});
    }
    /// The host waits for neither; `between` stands between them.
    template <class Between>
    void rounds_in_a_stream(const Between& between) {
        const std::uint64_t stream = make_stream();
        for (int round = 0; round < 10; ++round) {
            download(from, 64 * mib, {.stream = stream, .ns = 1200 * us, .stack = down});
            between(stream);
            upload(to, 64 * mib, {.stream = stream, .ns = 1200 * us, .stack = up});
            wait(2500 * us);
        }
    }
};

BOOST_FIXTURE_TEST_CASE(to_the_same_device_by_way_of_the_host, Detour) {
    rounds(to);
    const Finding finding = lone(*this, "UMA-111");
    BOOST_TEST(finding.stack == down);
    BOOST_TEST(place(finding) == up);
    BOOST_TEST(evidence(finding, "pairs") == 10);
    BOOST_TEST(finding.saving_ns == 10 * (9000e3 - 64 * mib / 1170.0), close);
    BOOST_TEST(contains(finding.advice, "cudaMemcpyDeviceToDevice"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(bytes_of_which_the_host_changes_a_few) {
    const auto found_of = [](std::uint64_t changed) {
        Detour d;
        for (std::uint64_t round = 1; round <= 10; ++round) {
            d.download(d.from, 64 * mib,
                       {.ns = 4000 * us, .stack = d.down, .asynchronous = false, .content = round});
            d.upload(d.to, 64 * mib,
                     {.ns = 5000 * us, .stack = d.up, .asynchronous = false, .content = round + changed});
        }
        return findings_of(d);
    };
    lone(found_of(0), "UMA-111");
    BOOST_TEST(rules_of(found_of(100)) == "");
}

BOOST_AUTO_TEST_CASE(bytes_that_were_not_looked_at_go_with_those_that_the_host_changes) {
    const auto found_of = [](std::uint64_t changed_in_one_of) {
        Detour d;
        for (std::uint64_t round = 1; round <= 40; ++round) {
            const bool looked = round % changed_in_one_of == 0;
            d.download(
                d.from, 64 * mib,
                {.ns = 4000 * us, .stack = d.down, .asynchronous = false, .content = looked ? round : 0});
            d.upload(
                d.to, 64 * mib,
                {.ns = 5000 * us, .stack = d.up, .asynchronous = false, .content = looked ? 100 + round : 0});
        }
        return findings_of(d);
    };
    BOOST_TEST(rules_of(found_of(4)) == "");
    BOOST_TEST(evidence(lone(found_of(20), "UMA-111"), "pairs") == 38);
}

BOOST_FIXTURE_TEST_CASE(to_another_device, Detour) {
    rounds(there);
    const Finding finding = lone(*this, "UMA-111");
    BOOST_TEST(finding.saving_ns == 10 * (9000e3 - 64 * mib / 55.5), close);
    BOOST_TEST(contains(finding.advice, "cudaMemcpyPeerAsync"));
    BOOST_TEST(contains(finding.advice, "cudaDeviceEnablePeerAccess"));
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_FIXTURE_TEST_CASE(kernels_that_a_download_waits_for_are_not_saved, Detour) {
    rounds(to);
    go_down(Memory::pageable, 90'000 * us);
    go_up(to, Memory::pageable);
    BOOST_TEST(lone(*this, "UMA-111").saving_ns == 11 * (9000e3 - 64 * mib / 1170.0), close);
}

BOOST_FIXTURE_TEST_CASE(streams_order_what_the_host_does_not_wait_for, Detour) {
    rounds_in_a_stream([](std::uint64_t) {});
    BOOST_TEST(lone(*this, "UMA-111").saving_ns == 10 * (2400e3 - 64 * mib / 1170.0), close);
}

/// Two buffers go down, and each goes up to where the other was.
struct Exchange : Detour {
    const std::uint64_t second_down = stack(), second_up = stack();
    void rounds(std::uint64_t looks = 0) {
        for (int round = 0; round < 10; ++round) {
            go_down(Memory::pageable);
            download(to, 64 * mib,
                     {.ns = 4000 * us, .stack = second_down, .asynchronous = false, .host_address = second});
            now += looks;
            go_up(to, Memory::pageable);
            upload(from, 64 * mib,
                   {.ns = 5000 * us, .stack = second_up, .asynchronous = false, .host_address = second});
            kernel({from, to}, 0, 20 * us);
        }
    }
    static constexpr std::uint64_t second = 0x5000'0000;
};

BOOST_FIXTURE_TEST_CASE(two_buffers_that_change_places, Exchange) {
    rounds();
    const Found all = findings_of(*this);
    BOOST_TEST(rules_of(all) == "UMA-111 UMA-111");
    for (const Finding& finding : all) {
        BOOST_TEST(contains(finding.advice, "std::swap"));
        BOOST_TEST(evidence(finding, "pairs") == 10);
        BOOST_TEST(finding.saving_ns == 10 * 9000e3, close);
    }
}

BOOST_FIXTURE_TEST_CASE(two_buffers_that_the_host_has_time_to_look_at, Exchange) {
    rounds(3000 * us);
    nothing_in(*this);
}

BOOST_AUTO_TEST_CASE(what_the_host_may_have_looked_at) {
    Detour looked, part, back, other;
    looked.rounds(looked.to, 3000 * us, Memory::pinned);
    nothing_in(looked);
    part.rounds(part.to, 0, Memory::pinned, 32 * mib);
    nothing_in(part);
    back.rounds(back.from, 0, Memory::pinned);
    nothing_in(back);
    const std::uint64_t first = other.make_stream(), second = other.make_stream();
    other.download(other.from, 64 * mib, {.stream = first, .ns = 1200 * us});
    other.upload(other.to, 64 * mib, {.stream = second, .ns = 1200 * us});
    other.wait();
    nothing_in(other);
}

BOOST_FIXTURE_TEST_CASE(the_device_holds_something_else_by_the_time_of_the_upload, Detour) {
    rounds_in_a_stream([this](std::uint64_t stream) { kernel({from}, stream, 20 * us); }); // the next block
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(results_that_the_host_collects_and_sends_on_in_a_few_rounds, Detour) {
    for (int round = 0; round < 10; ++round) {
        go_down(Memory::pinned);
        if (round % 4 == 3)
            go_up(to, Memory::pinned);
        else
            now += 10'000 * us;
    }
    nothing_in(*this);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(calls_left_out_once, *umadvisor::test::on_rules("UMA-106 UMA-111"))

/// The first buffer comes to the second by way of the host, and the same call sends bytes of the host's own.
struct Shared : through_host::Detour {
    void rounds(bool detour, bool own) {
        for (int round = 0; round < 10; ++round) {
            if (detour) {
                download(from, 64 * mib, {.ns = 4000 * us, .stack = down, .asynchronous = false, .content = 7});
                upload(to, 64 * mib, {.ns = 5000 * us, .stack = up, .asynchronous = false, .content = 7});
            }
            if (own)
                upload(there, 64 * mib,
                       {.ns = 5000 * us,
                        .stack = up,
                        .asynchronous = false,
                        .host_address = 0x5000'0000,
                        .content = 8});
        }
    }
};

BOOST_FIXTURE_TEST_CASE(uploads_that_one_remedy_leaves_out_are_no_others, Shared) {
    rounds(true, false); // what goes up is the same in each round, too
    BOOST_TEST(lone(*this, "UMA-111").saving_ns == 10 * (9000e3 - 64 * mib / 1170.0), close);
}

BOOST_FIXTURE_TEST_CASE(the_other_uploads_of_the_line_are_left_to_another_remedy, Shared) {
    rounds(true, true);
    const Found all = findings_of(*this);
    BOOST_TEST(rules_of(all) == "UMA-106 UMA-111");
    BOOST_TEST(among(all, "UMA-106").saving_ns == 18 * 5000e3, close); // the first upload to each place stays
    const Finding& detour = among(all, "UMA-111");
    for (const timeline::Change& change : detour.edit.changes)
        BOOST_TEST(change.share == (change.site.stack == ids::StackId(up) ? 0.1 : 1), close);
    BOOST_TEST(detour.saving_ns <= 10 * 4000e3 + 2 * 5000e3); // what the calls took beside
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(hands_over, *umadvisor::test::on_rules("UMA-101 UMA-111"))

/// PyTorch downloads a tensor, NumPy's copy of it goes up by CuPy from a page-locked buffer of its own.
struct TwoFrameworks : PythonProgram {
    static constexpr const char *torch = "/venv/lib/python3.12/site-packages/torch/_tensor.py",
                                *cupy = "/venv/lib/python3.12/site-packages/cupy/_creation/from_data.py";
    std::uint64_t from = allocate(64 * mib, Memory::device), to = allocate(64 * mib, Memory::device);

    Found rounds(const char* gives, const char* takes, std::uint64_t changed = 0, std::uint64_t target = 0) {
        const std::uint64_t down = call_at(11, {gives}), up = call_at(12, {takes});
        for (std::uint64_t round = 1; round <= 10; ++round) {
            download(
                64 * mib, 4 * ms,
                {.destination = Memory::pageable, .stack = down, .from = from, .part = round, .whole = round});
            pass(8 * ms);
            copy(64 * mib, 5 * ms,
                 {.source = Memory::pinned,
                  .stack = up,
                  .to = target == 0 ? to : target,
                  .host_address = 0x5000'0000,
                  .part = round + changed,
                  .whole = round + changed});
        }
        return found();
    }
};

BOOST_FIXTURE_TEST_CASE(a_tensor_that_goes_to_another_framework_through_the_host, TwoFrameworks) {
    const Finding finding = among(rounds(torch, cupy), "UMA-111");
    BOOST_TEST(finding.title == "PyTorch's tensor goes to CuPy through the host");
    BOOST_TEST(contains(finding.advice, "cupy.from_dlpack(tensor.detach())"));
    BOOST_TEST(contains(finding.advice, "share the memory"));
    // The host may look at what came down.
    BOOST_TEST(finding.saving_ns == 10 * (5000e3 - 64 * mib / 1170.0), close);
    BOOST_TEST(contains(finding.advice, "remove the copy to the host, too, unless the host reads it"));
}

BOOST_AUTO_TEST_CASE(the_framework_that_takes_it_says_how) {
    TwoFrameworks back;
    BOOST_TEST(
        contains(among(back.rounds(back.cupy, back.torch), "UMA-111").advice, "torch.from_dlpack(array)"));
    TwoFrameworks jax;
    BOOST_TEST(contains(
        among(jax.rounds(jax.torch, "/venv/lib/python3.12/site-packages/jax/_src/api.py"), "UMA-111").advice,
        "jax.dlpack.from_dlpack(tensor.detach())"));
}

BOOST_AUTO_TEST_CASE(bytes_that_change_or_stay_with_one_framework_are_not_handed_over) {
    TwoFrameworks changed, one, elsewhere, home;
    BOOST_TEST(of_rule(changed.rounds(changed.torch, changed.cupy, 100), "UMA-111").empty());
    BOOST_TEST(of_rule(one.rounds(one.torch, one.torch), "UMA-111").empty());
    BOOST_TEST(of_rule(elsewhere.rounds(elsewhere.torch, "/home/user/other.py"), "UMA-111").empty());
    BOOST_TEST(of_rule(home.rounds(home.torch, home.cupy, 0, home.from), "UMA-111").empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(scalar_download, *umadvisor::test::on_rules("UMA-112 UMA-119"))

struct Loop : BusyDevice {
    std::uint64_t loss = memory(), line = stack(), waited = stack();

    /// Rounds of two kernels of 2 us each and a scalar.
    template <class Read>
    void rounds(int count, const Read& read) {
        for (int round = 0; round < count; ++round) {
            kernel({loss}, 0, 2 * us);
            kernel({loss}, 0, 2 * us);
            read();
        }
    }
    void read_scalar(std::uint64_t ns = 17 * us) {
        download(loss, 4, {.ns = ns, .stack = line, .asynchronous = false});
        tell_times();
    }
};

BOOST_FIXTURE_TEST_CASE(a_scalar_in_each_round, Loop) {
    rounds(251, [&] { read_scalar(); });
    const Finding finding = lone(*this, "UMA-112");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "rounds") == 250); // the first began with the program
    BOOST_TEST(evidence(finding, "kernel_ns") == 250 * 4e3, close);
    // The copy itself, which has most of these 17 us to explain, stays beside the next round's launches.
    BOOST_TEST(finding.saving_ns > 250 * 7e3);
    BOOST_TEST(finding.saving_ns < 250 * 17e3);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(an_asynchronous_one_that_is_waited_for_at_once, Loop) {
    rounds(251, [&] {
        download(loss, 4, {.stack = line});
        synchronize({.kind = SyncKind::stream, .stack = waited, .duration = 17 * us});
        tell_times();
    });
    const Finding finding = lone(*this, "UMA-112");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(place(finding) == waited);
    BOOST_TEST(finding.saving_ns > 250 * 7e3);
    BOOST_TEST(finding.saving_ns < 250 * 18.3e3);
}

BOOST_FIXTURE_TEST_CASE(kernels_keep_the_device_busy_all_the_same, Loop) {
    for (int round = 0; round < 251; ++round) {
        kernel({loss}, 0, 1000 * us);
        read_scalar(1015 * us);
    }
    nothing_in(*this);
}

BOOST_AUTO_TEST_CASE(rounds_that_wait_for_more) {
    // A scalar behind a synchronisation, or behind results, waits for nothing: it costs its call, which one
    // with the results beside it would spare.
    Loop synchronized, results, few;
    synchronized.rounds(251, [&] {
        synchronized.synchronize({.duration = 20 * us});
        synchronized.read_scalar();
    });
    nothing_in(synchronized);
    results.rounds(251, [&] {
        results.download(results.loss, mib, {.ns = 30 * us, .asynchronous = false});
        results.read_scalar();
    });
    lone(results, "UMA-119");
    few.rounds(100, [&] { few.read_scalar(); });
    nothing_in(few);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
