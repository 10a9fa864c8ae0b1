#include "found.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>

BOOST_AUTO_TEST_SUITE(analyzer_made_anew,
                      *umadvisor::test::on_rules("UMA-401 UMA-410 UMA-411 UMA-412 UMA-413 UMA-414 UMA-507"))

using namespace umadvisor;
using namespace umadvisor::test;
using test::close;

/// A program that makes, gives up and asks.
struct Rounds : Scenario {
    std::uint64_t kernel = function("step");
    std::uint64_t made_at = stack(), ended_at = stack();
    std::uint64_t data = allocate(4096, Memory::device);

    template <class Record>
    void call_at(std::uint64_t at, Record record, std::string_view symbol, std::uint64_t duration) {
        record.stack = at;
        call(record, symbol, duration);
    }

    void graph_nodes(std::uint64_t version, std::uint64_t nodes, std::uint64_t grid = 1) {
        for (std::uint64_t number = 1; number <= nodes; ++number) {
            trace::GraphNode node{.version = version,
                                  .node = number,
                                  .kind = trace::GraphNodeKind::kernel,
                                  .function = kernel,
                                  .grid_x = grid};
            if (number > 1)
                node.dependencies.add(number - 1);
            builder.add(node);
        }
    }
    void graph(trace::GraphAction action, std::uint64_t version, std::uint64_t duration) {
        trace::Graph record{.action = action,
                            .graph = 0x9000,
                            .exec = action == trace::GraphAction::begin_capture ||
                                            action == trace::GraphAction::end_capture
                                        ? 0u
                                        : 0x8000u,
                            .version = version,
                            .stream = trace::StreamId{7}};
        const bool ends = action == trace::GraphAction::destroy;
        call_at(ends ? ended_at : made_at, record, ends ? "cuGraphExecDestroy" : "cuGraphInstantiateWithFlags",
                duration);
    }
    void launch_graph(std::uint64_t version) {
        call_at(made_at, trace::GraphLaunch{.version = version, .stream = trace::StreamId{7}}, "cuGraphLaunch",
                10 * us);
    }
    /// Captured, instantiated, launched and destroyed.
    void graph_round(std::uint64_t version, std::uint64_t nodes, std::uint64_t launches = 1,
                     std::uint64_t grid = 1) {
        builder.next_dictionary_chunk();
        graph_nodes(version, nodes, grid);
        graph(trace::GraphAction::begin_capture, 0, us);
        now += 50 * us;
        graph(trace::GraphAction::end_capture, 0, us);
        graph(trace::GraphAction::instantiate, version, 60 * us);
        for (std::uint64_t i = 0; i < launches; ++i)
            launch_graph(version);
        synchronize({.duration = 100 * us});
        graph(trace::GraphAction::destroy, version, 15 * us);
    }

    void virtual_memory(trace::VirtualMemoryAction action, std::string_view symbol, std::uint64_t address,
                        std::uint64_t bytes, std::uint64_t handle, std::uint64_t duration) {
        call_at(action == trace::VirtualMemoryAction::unmap ? ended_at : made_at,
                trace::VirtualMemory{.action = action, .address = address, .bytes = bytes, .handle = handle},
                symbol, duration);
    }
    void map_range(std::uint64_t pieces) {
        using Action = trace::VirtualMemoryAction;
        for (std::uint64_t piece = 0; piece < pieces; ++piece) {
            const std::uint64_t address = 0x3000'0000'0000 + piece * 2 * mib;
            virtual_memory(Action::create, "cuMemCreate", 0, 2 * mib, piece + 1, 300 * us);
            virtual_memory(Action::map, "cuMemMap", address, 2 * mib, piece + 1, us);
            virtual_memory(Action::set_access, "cuMemSetAccess", address, 2 * mib, 0, 50 * us);
            virtual_memory(Action::release, "cuMemRelease", 0, 0, piece + 1, us);
        }
    }
    void unmap_range(std::uint64_t pieces) {
        virtual_memory(trace::VirtualMemoryAction::unmap, "cuMemUnmap", 0x3000'0000'0000, pieces * 2 * mib, 0,
                       pieces * 10 * us);
    }

    void stream(trace::StreamAction action, std::uint64_t handle, std::uint64_t duration) {
        trace::Stream record{.action = action, .stream = trace::StreamId{handle}};
        const bool made = action == trace::StreamAction::create;
        call_at(made ? made_at : ended_at, record, made ? "cuStreamCreate" : "cuStreamDestroy_v2", duration);
    }
    void event(trace::EventAction action, std::uint64_t handle, std::uint64_t duration) {
        trace::Event record{.action = action, .event = handle};
        const bool made = action == trace::EventAction::create;
        call_at(made ? made_at : ended_at, record, made ? "cuEventCreate" : "cuEventDestroy_v2", duration);
    }

    std::uint64_t pooled(std::uint64_t bytes, std::uint64_t duration, std::uint64_t at = 0) {
        return allocate(bytes, Memory::device,
                        {.stack = at == 0 ? made_at : at, .duration = duration, .symbol = "cuMemAllocAsync"});
    }
    void free_pooled(std::uint64_t allocation) { free_async(allocation, 7); }
    void pool(trace::PoolAction action, std::uint64_t handle, std::uint64_t attribute = 0,
              std::uint64_t value = 0, std::uint64_t duration = us) {
        call_at(ended_at, trace::Pool{.action = action, .pool = handle, .attribute = attribute, .value = value},
                "cuMemPoolSetAttribute", duration);
    }
    void query(std::string_view symbol, std::uint64_t duration) {
        call_at(made_at, trace::Query(), symbol, duration);
    }

    void advise(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t duration) {
        call_at(ended_at, trace::Advise{.bytes = bytes, .allocation = trace::AllocationId{allocation}},
                "cuMemAdvise_v2", duration);
    }
    std::uint64_t managed(std::uint64_t bytes, std::uint64_t duration) {
        return allocate(bytes, Memory::managed, {.stack = made_at, .duration = duration});
    }
    /// A buffer of the pool in use by a kernel, and given back.
    void pooled_round(std::uint64_t duration = 110 * us) {
        const auto memory = pooled(128 * mib, duration);
        launch(kernel, {memory});
        free_pooled(memory);
    }

    Finding one(std::string_view rule) { return among(findings_of(*this), rule); }
    bool silent(std::string_view rule) { return !tells(findings_of(*this), rule); }
};

void times(int count, const std::function<void(std::uint64_t)>& act) {
    for (int i = 0; i < count; ++i)
        act(static_cast<std::uint64_t>(i));
}

BOOST_FIXTURE_TEST_CASE(a_graph_made_for_each_launch, Rounds) {
    times(100, [&](std::uint64_t i) { graph_round(i + 1, 48); });
    const Finding finding = one("UMA-411");
    BOOST_TEST(finding.stack == made_at);
    BOOST_TEST(place(finding) == ended_at);
    BOOST_TEST(finding.saving_ns == 99 * 75e3, close);
    BOOST_TEST(evidence(finding, "nodes") == 48);
    BOOST_TEST(evidence(finding, "launches") == 100);
    BOOST_TEST(evidence(finding, "capture_time_ns") == 100 * 53e3, close);
    BOOST_TEST(contains(finding.advice, "launch it in each"));
}

BOOST_FIXTURE_TEST_CASE(a_graph_whose_arguments_change_is_updated, Rounds) {
    times(100, [&](std::uint64_t i) { graph_round(i + 1, 48, 1, i + 1); });
    const Finding finding = one("UMA-411");
    BOOST_TEST(finding.advice.starts_with("keep the executable graph: call cudaGraphExecUpdate"),
               finding.advice);
}

BOOST_FIXTURE_TEST_CASE(graphs_that_cannot_serve_again_or_are_kept, Rounds) {
    times(50, [&](std::uint64_t i) { graph_round(i + 1, i + 1); });
    BOOST_TEST(silent("UMA-411"));

    Rounds kept;
    kept.graph_round(1, 48, 1000);
    BOOST_TEST(kept.silent("UMA-411"));

    Rounds unknown; // its nodes were not told
    times(200, [&](std::uint64_t) {
        unknown.graph(trace::GraphAction::instantiate, 0, 60 * us);
        unknown.launch_graph(0);
        unknown.graph(trace::GraphAction::destroy, 0, 15 * us);
    });
    BOOST_TEST(unknown.silent("UMA-411"));
}

BOOST_FIXTURE_TEST_CASE(what_the_end_of_a_graph_waits_for_is_not_saved, Rounds) {
    times(100, [&](std::uint64_t i) {
        graph_nodes(i + 1, 10);
        graph(trace::GraphAction::instantiate, i + 1, 60 * us);
        launch_graph(i + 1);
        graph(trace::GraphAction::destroy, i + 1, i == 0 ? 15 * us : ms);
    });
    BOOST_TEST(one("UMA-411").saving_ns <= 100 * 75e3);
}

BOOST_FIXTURE_TEST_CASE(a_range_mapped_for_each_round, Rounds) {
    times(4, [&](std::uint64_t) {
        map_range(16);
        synchronize({.duration = 100 * us});
        unmap_range(16);
    });
    const Finding finding = one("UMA-412");
    BOOST_TEST(finding.saving_ns == 3 * 16 * 362e3, close);
    BOOST_TEST(evidence(finding, "pairs") == 64);
    BOOST_TEST(evidence(finding, "peak_live") == 16);
    BOOST_TEST(evidence(finding, "access_calls") == 64);
    BOOST_TEST(contains(finding.advice, "cuMemSetAccess"));
}

BOOST_FIXTURE_TEST_CASE(a_range_mapped_once, Rounds) {
    map_range(128);
    now += 1000 * ms;
    synchronize({.duration = 100 * us});
    unmap_range(128);
    BOOST_TEST(silent("UMA-412"));
    Rounds growing; // and never given back
    growing.map_range(64);
    BOOST_TEST(growing.silent("UMA-412"));
}

BOOST_FIXTURE_TEST_CASE(streams_and_events_made_for_each_round, Rounds) {
    times(300, [&](std::uint64_t) {
        stream(trace::StreamAction::create, 0x500, 18 * us);
        launch(kernel, {data});
        stream(trace::StreamAction::destroy, 0x500, 13 * us);
    });
    const Finding finding = one("UMA-413");
    BOOST_TEST(finding.stack == made_at);
    BOOST_TEST(finding.saving_ns == 299 * 31e3, close);

    Rounds timed;
    times(1000, [&](std::uint64_t i) {
        timed.event(trace::EventAction::create, 0x600 + i % 2, 2 * us);
        timed.event(trace::EventAction::destroy, 0x600 + i % 2, us);
    });
    BOOST_TEST(timed.one("UMA-413").saving_ns == 999 * 3e3, close);
}

BOOST_FIXTURE_TEST_CASE(streams_that_are_kept, Rounds) {
    times(64, [&](std::uint64_t i) { stream(trace::StreamAction::create, 0x500 + i, 18 * us); });
    times(300, [&](std::uint64_t) { launch(kernel, {data}); });
    times(64, [&](std::uint64_t i) { stream(trace::StreamAction::destroy, 0x500 + i, 13 * us); });
    BOOST_TEST(silent("UMA-413"));
}

BOOST_FIXTURE_TEST_CASE(many_small_managed_allocations_with_advice, Rounds) {
    std::vector<std::uint64_t> nodes;
    times(640, [&](std::uint64_t) {
        nodes.push_back(managed(64 * kib, 3 * us));
        for (int i = 0; i < 2; ++i)
            advise(nodes.back(), 64 * kib, 3 * us);
    });
    synchronize({.duration = 100 * us});
    for (const std::uint64_t node : nodes)
        free(node, 16 * us, ended_at);
    const Finding finding = one("UMA-410");
    BOOST_TEST(evidence(finding, "advice_calls") == 1280);
    BOOST_TEST(evidence(finding, "advice_time_ns") == 1280 * 3e3, close);
    // 40 MiB in 2 MiB blocks: 21 at the price of one of these each.
    BOOST_TEST(finding.saving_ns == (640 - 21) * 25e3, close);
    BOOST_TEST(contains(finding.summary, "that set memory advice"));
    BOOST_TEST(contains(finding.advice, "one block"));
    BOOST_TEST(lacks(finding.advice, "cudaMemAdvise"));
}

BOOST_AUTO_TEST_CASE(few_or_large_managed_allocations_at_once) {
    for (const auto& [count, bytes] : {std::pair<int, std::uint64_t>{32, 64 * 1024}, {128, 16 * mib}}) {
        Rounds s;
        std::vector<std::uint64_t> all;
        times(count, [&, bytes = bytes](std::uint64_t) { all.push_back(s.managed(bytes, 100 * us)); });
        for (const std::uint64_t each : all)
            s.free(each, 100 * us);
        BOOST_TEST(s.silent("UMA-410"));
    }
}

BOOST_FIXTURE_TEST_CASE(managed_memory_advised_in_each_round, Rounds) {
    times(100, [&](std::uint64_t) {
        const auto buffer = managed(mib, 50 * us);
        advise(buffer, 0, 20 * us);
        synchronize({.duration = 100 * us});
        free(buffer, 30 * us);
    });
    BOOST_TEST(one("UMA-410").saving_ns == 99 * 100e3, close);
}

BOOST_FIXTURE_TEST_CASE(a_pool_that_gives_its_memory_back_at_each_wait, Rounds) {
    const auto also = stack();
    times(100, [&](std::uint64_t) {
        const auto first = pooled(128 * mib, 110 * us), second = pooled(64 * mib, 55 * us, also);
        launch(kernel, {first});
        free_pooled(first);
        free_pooled(second);
        synchronize({.kind = trace::SyncKind::stream, .object = 0, .stack = ended_at, .duration = 300 * us});
    });
    const Finding finding = one("UMA-414");
    BOOST_TEST(finding.stack == made_at);
    BOOST_TEST(evidence(finding, "mapped_anew") == 198);
    BOOST_TEST(evidence(finding, "synchronisations") == 100);
    BOOST_TEST(evidence(finding, "idle_synchronisations") == 0); // all of them waited for a kernel
    BOOST_TEST(finding.saving_ns == 99 * 165e3 - 198 * 2.4e3, close);
    BOOST_TEST(contains(finding.advice, "cudaMemPoolAttrReleaseThreshold"));
    BOOST_TEST(finding.places.size() == 2u);
    BOOST_TEST((finding.confidence == Confidence::medium));
    BOOST_TEST(silent("UMA-401"));
}

BOOST_FIXTURE_TEST_CASE(a_wait_with_nothing_to_wait_for_gave_memory_back, Rounds) {
    times(100, [&](std::uint64_t) {
        const auto memory = pooled(128 * mib, 110 * us);
        launch(kernel, {memory});
        synchronize({.kind = trace::SyncKind::stream, .object = 0, .duration = 100 * us});
        free_pooled(memory);
        synchronize({.kind = trace::SyncKind::stream, .object = 0, .duration = 130 * us});
    });
    const Finding finding = one("UMA-414");
    BOOST_TEST(evidence(finding, "idle_synchronisations") == 100);
    BOOST_TEST(finding.saving_ns == 99 * 107.6e3 + 100 * 127.6e3, close);
}

BOOST_AUTO_TEST_CASE(pools_that_keep_their_memory) {
    const auto rounds = [](Rounds& s, std::uint64_t duration, bool wait) {
        times(100, [&](std::uint64_t) {
            s.pooled_round(duration);
            if (wait)
                s.synchronize({.duration = 300 * us});
        });
        return s.silent("UMA-414");
    };
    Rounds raised;
    raised.pool(trace::PoolAction::get, 0x77);
    raised.pool(trace::PoolAction::set_attribute, 0x77, 4, UINT64_MAX);
    BOOST_TEST(rounds(raised, 110 * us, true));
    Rounds raised_first; // before the program asks which pool is the default
    raised_first.pool(trace::PoolAction::set_attribute, 0x77, 4, UINT64_MAX);
    raised_first.pool(trace::PoolAction::set, 0x77);
    BOOST_TEST(rounds(raised_first, 110 * us, true));
    Rounds other_attribute;
    other_attribute.pool(trace::PoolAction::set_attribute, 0, 2, 1);
    BOOST_TEST(!rounds(other_attribute, 110 * us, true));
    Rounds quick; // its memory had not gone
    BOOST_TEST(rounds(quick, 2 * us, true));
    Rounds never_waits; // what is freed is handed out again
    BOOST_TEST(rounds(never_waits, 110 * us, false));
}

BOOST_FIXTURE_TEST_CASE(a_pool_that_the_program_trims_in_each_round, Rounds) {
    pool(trace::PoolAction::get, 0x77);
    pool(trace::PoolAction::set_attribute, 0x77, 4, UINT64_MAX);
    times(100, [&](std::uint64_t) {
        pooled_round();
        synchronize({.duration = 100 * us});
        pool(trace::PoolAction::trim, 0x77, 0, 0, 120 * us);
    });
    const Finding finding = one("UMA-414");
    BOOST_TEST(evidence(finding, "trims") == 100);
    BOOST_TEST(finding.saving_ns == 99 * 107.6e3 + 100 * 120e3, close);
    BOOST_TEST(contains(finding.advice, "cudaMemPoolTrimTo"));
}

BOOST_FIXTURE_TEST_CASE(free_memory_asked_for_before_each_launch, Rounds) {
    times(1000, [&](std::uint64_t) {
        query("cuMemGetInfo_v2", 4 * us);
        launch(kernel, {data});
    });
    const Finding finding = one("UMA-507");
    BOOST_TEST(finding.stack == made_at);
    BOOST_TEST(evidence(finding, "queries") == 1000);
    BOOST_TEST(finding.saving_ns == 999 * 4e3, close);
    BOOST_TEST(contains(finding.summary, "cudaMemGetInfo 1000 times"));
}

BOOST_FIXTURE_TEST_CASE(questions_that_cost_little, Rounds) {
    query("cuMemGetInfo_v2", 50 * ms);
    times(100, [&](std::uint64_t) { launch(kernel, {data}); });
    BOOST_TEST(silent("UMA-507"));
    Rounds seldom; // less than a hundredth of the run
    times(1000, [&](std::uint64_t) {
        seldom.query("cuPointerGetAttributes", us / 4);
        seldom.now += 100 * us;
    });
    BOOST_TEST(seldom.silent("UMA-507"));
}

BOOST_AUTO_TEST_CASE(a_saving_is_a_difference_only_where_its_basis_says_so) {
    rules::Finding finding;
    finding.basis = "time of these calls (waits for the device excluded) minus that of one round";
    finding.evidence = {
        {"alloc_time_ns", 30.0}, {"free_time_ns", 25.0}, {"free_wait_ns", 5.0}, {"mean_lifetime_ns", 90.0}};
    finding.price_ns = 42;
    finding.saving_ns = 40; // the replay gains less
    const std::optional<rules::Difference> difference = rules::difference(finding);
    BOOST_REQUIRE(difference.has_value());
    BOOST_TEST(difference->spent_ns == 50);
    BOOST_TEST(difference->left_ns == 8);
    finding.price_ns = 60; // more than the calls take: it has other times in it
    BOOST_TEST(!rules::difference(finding).has_value());
    finding.price_ns = 42;
    finding.basis = "replay of the run without these waits";
    BOOST_TEST(!rules::difference(finding).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
