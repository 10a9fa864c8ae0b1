/// Events of the driver's tools queue: taken out of a ring and turned into what the trace has of them.
#include "interposer/observe/driver_settings.hpp"
#include "interposer/observe/managed_decoder.hpp"
#include "interposer/observe/tools_ring.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_managed)

using namespace umadvisor;
using namespace umadvisor::observe;
namespace tools = residency::tools;
using trace::ManagedEvent;
using trace::ManagedEventKind;

namespace {

constexpr std::uint64_t block = 0x7f0000000000, page = 4096;

template <class Layout>
tools::Entry entry(const Layout& layout) {
    tools::Entry made{};
    std::memcpy(made.bytes, &layout, sizeof layout);
    return made;
}

tools::Entry host_fault(std::uint64_t address, std::uint64_t time, std::uint64_t code = 0x400000) {
    return entry(tools::HostFault{tools::EventType::host_fault, 2, 0, 3, address, time, 10, 11, code});
}

tools::Entry device_fault(std::uint64_t address, std::uint64_t time, std::uint32_t batch,
                          std::uint8_t access = 1) {
    return entry(
        tools::DeviceFault{tools::EventType::device_fault, 2, 1, 0, 0, address, time, 0, batch, 1, access, 0});
}

tools::Entry throttling(tools::EventType type, std::uint16_t processor, std::uint64_t time) {
    return entry(tools::Throttling{type, 0, processor, 0, block, time});
}

std::vector<ManagedEvent> decode(const std::vector<tools::Entry>& entries) {
    std::vector<ManagedEvent> events;
    const ManagedDecoder::Write keep = [](void* to, const ManagedEvent& event) {
        static_cast<std::vector<ManagedEvent>*>(to)->push_back(event);
    };
    ManagedDecoder decoder;
    for (const tools::Entry& each : entries)
        decoder.take(each, keep, &events);
    decoder.finish(keep, &events);
    return events;
}

/// A ring as the driver writes it.
struct Ring {
    std::vector<tools::Entry> entries;
    std::unique_ptr<tools::Control> control = std::make_unique<tools::Control>();

    explicit Ring(std::uint32_t size) : entries(size) {}
    void put(std::uint64_t time) {
        const auto size = static_cast<std::uint32_t>(entries.size());
        if ((control->put_behind + 1) % size == control->get_behind) {
            ++control->lost[1];
            return;
        }
        entries[control->put_behind] = host_fault(block, time);
        control->put_ahead = control->put_behind = (control->put_behind + 1) % size;
    }
    ToolsRing reader() { return {entries.data(), static_cast<std::uint32_t>(entries.size()), control.get()}; }
};

std::vector<std::uint64_t> times(ToolsRing& ring) {
    std::vector<std::uint64_t> read;
    ring.read([&](const tools::Entry& each) {
        tools::HostFault fault;
        std::memcpy(&fault, each.bytes, sizeof fault);
        read.push_back(fault.time);
    });
    return read;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_ring_is_read_in_order_around_its_end) {
    Ring ring(4);
    ToolsRing reader = ring.reader();
    BOOST_TEST(times(reader).empty());
    std::uint64_t next = 1;
    for (int round = 0; round < 5; ++round) {
        ring.put(next);
        ring.put(next + 1);
        BOOST_TEST(times(reader) == (std::vector<std::uint64_t>{next, next + 1}),
                   boost::test_tools::per_element());
        next += 2;
    }
    BOOST_TEST(reader.lost() == 0u);
    for (int i = 0; i < 5; ++i)
        ring.put(100 + static_cast<std::uint64_t>(i));
    BOOST_TEST(times(reader) == (std::vector<std::uint64_t>{100, 101, 102}), boost::test_tools::per_element());
    BOOST_TEST(reader.lost() == 2u);
}

BOOST_AUTO_TEST_CASE(indices_beyond_the_ring_lead_nowhere_outside) {
    Ring ring(4);
    ToolsRing reader = ring.reader();
    ring.control->put_behind = 0xffffffff; // the program can write there too
    ring.control->get_behind = 0x80000002;
    BOOST_TEST(times(reader).size() == 1u);
    BOOST_TEST(ring.control->get_behind == 3u);
}

BOOST_AUTO_TEST_CASE(neighbouring_faults_are_one_event_and_a_second_fault_of_a_page_another) {
    const auto together =
        decode({host_fault(block, 1000), host_fault(block + page, 2000), host_fault(block + 9 * page, 3000)});
    BOOST_TEST_REQUIRE(together.size() == 1u);
    BOOST_TEST((together[0].kind == ManagedEventKind::host_fault));
    BOOST_TEST(together[0].start == 1000u);
    BOOST_TEST(together[0].address == block);
    BOOST_TEST(together[0].bytes == 10 * page);
    BOOST_TEST(together[0].count == 2u);
    BOOST_TEST(together[0].cause == 2u);
    BOOST_TEST(together[0].code == 0x400000u);
    BOOST_TEST(together[0].thread == 11u);

    BOOST_TEST(decode({host_fault(block, 1000), host_fault(block, 2000)}).size() == 2u);
    BOOST_TEST(decode({host_fault(block, 1000), host_fault(block + page, 2000, 0x400001)}).size() == 2u);
    BOOST_TEST(decode({host_fault(block, 1000), host_fault(block + page, 201000)}).size() == 2u);
    BOOST_TEST(decode({host_fault(block, 1000), host_fault(block + (2 << 20), 2000)}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_page_that_many_ask_for_at_once_faults_once) {
    const auto one = decode(
        {device_fault(block, 1000, 7), device_fault(block, 1001, 7), device_fault(block + page, 1002, 7)});
    BOOST_TEST_REQUIRE(one.size() == 1u);
    BOOST_TEST(one[0].to == 1u);
    BOOST_TEST(one[0].bytes == 2 * page);
    BOOST_TEST(one[0].count == 2u);
    BOOST_TEST(decode({device_fault(block, 1000, 7), device_fault(block, 1001, 8)}).size() == 2u);
    BOOST_TEST(decode({device_fault(block, 1000, 7, 1), device_fault(block, 1001, 7, 2)}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_throttling_has_a_length) {
    using tools::EventType;
    const auto events = decode(
        {throttling(EventType::throttling_start, 1, 1000), throttling(EventType::throttling_start, 0, 1100),
         throttling(EventType::throttling_end, 0, 1600), throttling(EventType::throttling_end, 1, 1800),
         throttling(EventType::throttling_end, 1, 2000)}); // of one that began unseen
    BOOST_TEST_REQUIRE(events.size() == 3u);
    BOOST_TEST(events[0].to == 0u);
    BOOST_TEST(events[0].start == 1100u);
    BOOST_TEST(events[0].duration == 500u);
    BOOST_TEST(events[1].duration == 800u);
    BOOST_TEST(events[2].start == 2000u);
    BOOST_TEST(events[2].duration == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_newer_driver_tells_is_passed_over) {
    tools::Entry unknown{};
    unknown.bytes[0] = 15;
    BOOST_TEST(decode({unknown, tools::Entry{}}).empty());
}

/// What driver 580.159.04 wrote on an H200 for tests/gpu/record_ring.cpp.
BOOST_AUTO_TEST_CASE(a_recorded_ring) {
    std::ifstream file(UMADVISOR_SOURCE "/tests/golden/managed-580.ring", std::ios::binary);
    BOOST_TEST_REQUIRE(file.good());
    std::vector<tools::Entry> entries;
    for (tools::Entry each; file.read(reinterpret_cast<char*>(each.bytes), sizeof each.bytes);)
        entries.push_back(each);
    std::map<ManagedEventKind, std::uint64_t> count, bytes;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> moved; ///< by direction
    std::map<std::uint64_t, std::uint64_t> by_cause;
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for (const ManagedEvent& event : decode(entries)) {
        count[event.kind] += 1 + event.count;
        low = std::min(low, event.address);
        high = std::max(high, event.address + event.bytes);
        if (event.kind == ManagedEventKind::migration) {
            moved[{event.from, event.to}] += event.bytes;
            by_cause[event.cause] += event.bytes;
            BOOST_TEST(event.duration < 100'000'000u);
        }
    }
    constexpr std::uint64_t memory = 4 << 20;
    BOOST_TEST(low % page == 0u);
    BOOST_TEST(high - low == memory);
    BOOST_TEST(count[ManagedEventKind::host_fault] >= 42u);
    BOOST_TEST(count[ManagedEventKind::device_fault] >= 42u);
    BOOST_TEST(count[ManagedEventKind::thrashing] >= 1u);
    BOOST_TEST(count[ManagedEventKind::remote_map] >= 1u);
    BOOST_TEST(count[ManagedEventKind::read_duplicate] >= 1u);
    BOOST_TEST((moved[{0, 1}]) >= 2 * memory);
    BOOST_TEST((moved[{1, 0}]) >= memory);
    BOOST_TEST(by_cause[static_cast<std::uint64_t>(trace::MigrationCause::user)] >= 2 * memory);
    BOOST_TEST(by_cause[static_cast<std::uint64_t>(trace::MigrationCause::coherence)] > 0u);
}

BOOST_AUTO_TEST_CASE(the_memory_mode_of_coherent_devices_stands_in_the_parameters_of_the_driver) {
    BOOST_TEST(coherent_memory_mode_in(
                   "ResmanDebugLevel: 4294967295\nCoherentGPUMemoryMode: \"driver\"\nX: 1\n") == "driver");
    BOOST_TEST(coherent_memory_mode_in("CoherentGPUMemoryMode: \"numa\"") == "numa");
    BOOST_TEST(coherent_memory_mode_in("CoherentGPUMemoryMode: \"\"\n") == "");
    BOOST_TEST(coherent_memory_mode_in("CoherentGPUMemoryMode: numa\nOther: \"driver\"\n") == "");
    BOOST_TEST(coherent_memory_mode_in("OldCoherentGPUMemoryMode: \"numa\"\n") == "");
    BOOST_TEST(coherent_memory_mode_in("") == "");
}

BOOST_AUTO_TEST_SUITE_END()
