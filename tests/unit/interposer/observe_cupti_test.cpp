/// CUPTI's unified-memory records: buffers for them, and what the trace has of them.
#include "interposer/observe/cupti_buffers.hpp"
#include "interposer/observe/cupti_decoder.hpp"
#include "interposer/observe/cupti_library.hpp"
#include "interposer/observe/event_totals.hpp"
#include "interposer/observe/look_times.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <set>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_cupti)

using namespace umadvisor;
using namespace umadvisor::observe;
namespace cupti = residency::cupti;
using cupti::CounterKind;
using trace::ManagedEvent;
using trace::ManagedEventKind;

namespace {

constexpr std::uint64_t block = 0x7f0000000000, page = 4096;

cupti::CounterRecord record(CounterKind kind, std::uint64_t value, std::uint64_t address, std::uint64_t start,
                            std::uint32_t flags = 0) {
    return {.kind = cupti::unified_memory_counter,
            .counter_kind = kind,
            .value = value,
            .start = start,
            .address = address,
            .flags = flags};
}

cupti::CounterRecord moved(CounterKind kind, std::uint32_t source, std::uint32_t destination,
                           std::uint32_t cause = 2) {
    auto made = record(kind, 65536, block, 1000, cause);
    made.end = 4000;
    made.source = source;
    made.destination = destination;
    return made;
}

cupti::CounterRecord device_fault(std::uint64_t address, std::uint64_t start, std::uint64_t groups,
                                  std::uint32_t device) {
    auto made = record(CounterKind::device_fault, groups, address, start, 2);
    made.source = device;
    return made;
}

std::vector<ManagedEvent> decode(const std::vector<cupti::CounterRecord>& records) {
    std::vector<ManagedEvent> events;
    const WriteManaged keep = [](void* to, const ManagedEvent& event) {
        static_cast<std::vector<ManagedEvent>*>(to)->push_back(event);
    };
    CuptiDecoder decoder;
    for (const cupti::CounterRecord& each : records)
        decoder.take(each, keep, &events);
    decoder.finish(keep, &events);
    return events;
}

ManagedEvent only(const cupti::CounterRecord& from) {
    const auto events = decode({from});
    BOOST_TEST_REQUIRE(events.size() == 1u);
    return events.front();
}

} // namespace

BOOST_AUTO_TEST_CASE(moves_have_both_ends_a_cause_and_a_length) {
    const ManagedEvent there = only(moved(CounterKind::bytes_to_device, cupti::host_id, 1));
    BOOST_TEST((there.kind == ManagedEventKind::migration));
    BOOST_TEST(there.from == 0u);
    BOOST_TEST(there.to == 2u);
    BOOST_TEST(there.start == 1000u);
    BOOST_TEST(there.duration == 3000u);
    BOOST_TEST(there.address == block);
    BOOST_TEST(there.bytes == 65536u);
    BOOST_TEST(there.cause == 2u);
    const ManagedEvent back = only(moved(CounterKind::bytes_to_host, 0, cupti::host_id, 4));
    BOOST_TEST(back.from == 1u);
    BOOST_TEST(back.to == 0u);
    BOOST_TEST(back.cause == static_cast<std::uint64_t>(trace::MigrationCause::eviction));
    const ManagedEvent across = only(moved(CounterKind::bytes_between_devices, 2, 3));
    BOOST_TEST(across.from == 3u);
    BOOST_TEST(across.to == 4u);
    auto unended = moved(CounterKind::bytes_to_host, 0, cupti::host_id);
    unended.end = 0;
    BOOST_TEST(only(unended).duration == 0u);
}

BOOST_AUTO_TEST_CASE(host_faults_name_the_instruction_and_are_joined) {
    const ManagedEvent fault = only(record(CounterKind::host_fault, 0x401234, block + 16, 1000, 2));
    BOOST_TEST((fault.kind == ManagedEventKind::host_fault));
    BOOST_TEST(fault.code == 0x401234u);
    BOOST_TEST(fault.bytes == page - 16);
    BOOST_TEST(fault.cause == 2u);
    BOOST_TEST(fault.to == 0u);
    BOOST_TEST(fault.count == 0u);
    const auto together = decode({record(CounterKind::host_fault, 0x401234, block, 1000, 2),
                                  record(CounterKind::host_fault, 0x401234, block + page, 2000, 2)});
    BOOST_TEST_REQUIRE(together.size() == 1u);
    BOOST_TEST(together[0].bytes == 2 * page);
    BOOST_TEST(together[0].count == 1u);
    BOOST_TEST(decode({record(CounterKind::host_fault, 0x401234, block, 1000, 2),
                       record(CounterKind::host_fault, 0x405678, block + page, 2000, 2)})
                   .size() == 2u);
}

BOOST_AUTO_TEST_CASE(device_faults_count_those_of_one_page_too) {
    const auto together = decode({device_fault(block, 1000, 3, 0), device_fault(block + page, 1100, 2, 0)});
    BOOST_TEST_REQUIRE(together.size() == 1u);
    BOOST_TEST((together[0].kind == ManagedEventKind::device_fault));
    BOOST_TEST(together[0].to == 1u);
    BOOST_TEST(together[0].cause == 2u);
    BOOST_TEST(together[0].count == 4u); // beyond the first
    BOOST_TEST(together[0].bytes == 2 * page);
    BOOST_TEST(only(device_fault(block, 1000, 0, 0)).count == 0u);
    BOOST_TEST(decode({device_fault(block, 1000, 1, 0), device_fault(block + page, 1100, 1, 1)}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(thrashing_throttling_and_remote_maps) {
    const ManagedEvent thrashing = only(record(CounterKind::thrashing, 8 * page, block, 1000, cupti::on_host));
    BOOST_TEST((thrashing.kind == ManagedEventKind::thrashing));
    BOOST_TEST(thrashing.bytes == 8 * page);
    BOOST_TEST(thrashing.cause == 0u);

    auto wait = record(CounterKind::throttling, 0, block, 1000);
    wait.end = 501000;
    wait.source = 1;
    BOOST_TEST((only(wait).kind == ManagedEventKind::throttling));
    BOOST_TEST(only(wait).to == 2u);
    BOOST_TEST(only(wait).duration == 500000u);
    BOOST_TEST(only(wait).bytes == page);
    wait.flags = cupti::on_host;
    BOOST_TEST(only(wait).to == 0u);

    auto map = record(CounterKind::remote_map, 2 * page, block, 1000, 3);
    map.source = 0;
    map.destination = cupti::host_id;
    BOOST_TEST((only(map).kind == ManagedEventKind::remote_map));
    BOOST_TEST(only(map).to == 1u);
    BOOST_TEST(only(map).from == 0u);
    BOOST_TEST(only(map).bytes == 2 * page);
    BOOST_TEST(only(map).cause == static_cast<std::uint64_t>(trace::RemoteMapCause::policy));
}

BOOST_AUTO_TEST_CASE(other_records_and_newer_kinds_are_passed_over) {
    auto copy = record(CounterKind::bytes_to_host, 1, block, 1000);
    copy.kind = 1; // CUPTI_ACTIVITY_KIND_MEMCPY
    BOOST_TEST(decode({copy, record(static_cast<CounterKind>(9), 1, block, 1000),
                       record(static_cast<CounterKind>(0), 1, block, 1000)})
                   .empty());
}

BOOST_AUTO_TEST_CASE(versions_whose_records_are_known) {
    for (const std::uint32_t known : {19u, 26u, 28u, 130000u, 130001u})
        BOOST_TEST(cupti::knows(known), known);
    for (const std::uint32_t unknown : {0u, 18u, 29u, 129999u, 130100u, 140000u})
        BOOST_TEST(!cupti::knows(unknown), unknown);
}

BOOST_AUTO_TEST_CASE(totals_are_sums) {
    trace::ManagedCounters totals;
    for (const cupti::CounterRecord& each :
         {record(CounterKind::host_fault, 0x400000, block, 1000), device_fault(block, 2000, 3, 0),
          moved(CounterKind::bytes_to_device, cupti::host_id, 0),
          moved(CounterKind::bytes_to_host, 0, cupti::host_id),
          moved(CounterKind::bytes_to_host, 0, cupti::host_id), moved(CounterKind::bytes_between_devices, 0, 1),
          record(CounterKind::thrashing, page, block, 3000)})
        add_event(totals, only(each));
    BOOST_TEST(totals.host_faults == 1u);
    BOOST_TEST(totals.device_faults == 3u);
    BOOST_TEST(totals.bytes_to_device == 65536u);
    BOOST_TEST(totals.bytes_to_host == 2 * 65536u);
}

BOOST_AUTO_TEST_CASE(looks_wait_until_what_was_before_them_is_known) {
    const auto looks = std::make_unique<LookTimes>();
    BOOST_TEST(looks->take_until(LookTimes::never) == LookTimes::never);
    for (const std::uint64_t time : {100u, 200u, 300u})
        looks->add(time);
    BOOST_TEST(looks->take_until(99) == LookTimes::never);
    BOOST_TEST(looks->take_until(250) == 100u);
    BOOST_TEST(looks->take_until(250) == 200u);
    BOOST_TEST(looks->take_until(250) == LookTimes::never);
    BOOST_TEST(looks->take_until(300) == 300u);
    for (std::uint64_t i = 0; i < LookTimes::most + 2; ++i) // the oldest two are gone
        looks->add(1000 + i);
    BOOST_TEST(looks->take_until(LookTimes::never) == 1002u);
}

BOOST_AUTO_TEST_CASE(buffers_are_bounded_and_come_back_in_order) {
    CuptiBuffers buffers;
    BOOST_TEST(buffers.take() == nullptr);
    BOOST_TEST_REQUIRE(buffers.reserve());
    std::vector<std::uint8_t*> taken;
    for (std::uint8_t* each = buffers.take(); each != nullptr; each = buffers.take())
        taken.push_back(each);
    BOOST_TEST(taken.size() == CuptiBuffers::most);
    BOOST_TEST(std::set<std::uint8_t*>(taken.begin(), taken.end()).size() == taken.size());
    BOOST_TEST(buffers.next().bytes == nullptr);

    buffers.complete(taken[5], 640);
    buffers.complete(taken[2], CuptiBuffers::buffer_bytes + 1); // no more than there is
    buffers.complete(nullptr, 64);
    buffers.complete(taken[3] + 8, 64);
    const CuptiBuffers::Complete first = buffers.next(), second = buffers.next();
    BOOST_TEST(first.bytes == taken[5]);
    BOOST_TEST(first.valid_bytes == 640u);
    BOOST_TEST(second.bytes == taken[2]);
    BOOST_TEST(second.valid_bytes == CuptiBuffers::buffer_bytes);
    BOOST_TEST(buffers.next().bytes == nullptr);
    BOOST_TEST(buffers.take() == nullptr);
    buffers.give_back(first.bytes);
    BOOST_TEST(buffers.take() == taken[5]);
}

BOOST_AUTO_TEST_SUITE_END()
