/// Values that no machine can have are refused when they are read, whatever record they stand in.
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/plausible.hpp"
#include "analyzer/whatif/job.hpp"
#include "command_run.hpp"
#include "every_record.hpp"
#include "managed_program.hpp"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_implausible)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

/// Gives one field of a record, the one of that number, the greatest value there is.
struct Spoiler {
    int wanted;
    int at = 0;
    std::string_view spoilt{};

    template <class T>
    void number(std::string_view key, T& value) {
        if constexpr (!trace::is_enumeration<T>)
            spoil(key, value);
    }
    void time(std::string_view key, std::uint64_t& value) { spoil(key, value); }
    void address(std::string_view key, std::uint64_t& value) { spoil(key, value); }
    void handle(std::string_view key, auto& value) { spoil(key, value); }
    void text(std::string_view, std::string_view&) {}
    void numbers(std::string_view, auto&) {}

    template <class T>
    void spoil(std::string_view key, T& value) {
        if (at++ == wanted) {
            value = static_cast<T>(UINT64_MAX);
            spoilt = key;
        }
    }
};

template <class Record>
Record sample() {
    Record record;
    FieldFiller filler{1};
    Record::fields(record, filler);
    if constexpr (requires { record.status; })
        record.status = 0;
    return record;
}

bool refuses(auto record) {
    return !reader::make_plausible(record);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_record_as_programs_write_it_is_kept) {
    for_each_record_type([]<class Record>() {
        BOOST_TEST(!refuses(sample<Record>()), Record::name);
        BOOST_TEST(!refuses(Record{}), Record::name);
    });
}

BOOST_AUTO_TEST_CASE(sizes_times_and_places_that_cannot_be) {
    trace::Alloc alloc = sample<trace::Alloc>();
    alloc.bytes = reader::most_bytes;
    BOOST_TEST(!refuses(alloc));
    alloc.bytes = reader::most_bytes + 1;
    BOOST_TEST(refuses(alloc));
    alloc.bytes = 4096;
    alloc.address = UINT64_MAX - 4095;
    BOOST_TEST(refuses(alloc));
    alloc.address = 0;
    alloc.start = reader::most_ticks + 1;
    BOOST_TEST(refuses(alloc));
    alloc.start = 0;
    alloc.duration = UINT64_MAX;
    BOOST_TEST(refuses(alloc));

    trace::Copy copy = sample<trace::Copy>();
    copy.width = std::uint64_t{1} << 20;
    copy.height = std::uint64_t{1} << 20;
    copy.depth = 1;
    copy.source_pitch = copy.destination_pitch = copy.width;
    BOOST_TEST(!refuses(copy));
    copy.depth = std::uint64_t{1} << 20;
    BOOST_TEST(refuses(copy));
    copy.depth = 1;
    copy.source_pitch = std::uint64_t{1} << 40;
    BOOST_TEST(refuses(copy));
    copy.width = 0; // one dimension
    BOOST_TEST(!refuses(copy));
    copy.source = UINT64_MAX;
    BOOST_TEST(refuses(copy));

    trace::Module module = sample<trace::Module>();
    std::swap(module.first, module.last);
    BOOST_TEST(refuses(module));
    trace::LaunchShape shape = sample<trace::LaunchShape>();
    shape.grid_x = std::uint64_t{1} << 32;
    BOOST_TEST(refuses(shape));
    trace::Device device = sample<trace::Device>();
    device.memory_bytes = UINT64_MAX;
    BOOST_TEST(refuses(device));
}

/// A program may ask for anything; nothing became of it.
BOOST_AUTO_TEST_CASE(calls_that_failed_stay_with_a_size_that_can_be) {
    trace::Alloc alloc = sample<trace::Alloc>();
    alloc.status = 2;
    alloc.bytes = alloc.address = UINT64_MAX;
    BOOST_TEST(reader::make_plausible(alloc));
    BOOST_TEST(alloc.bytes == reader::most_bytes);
    BOOST_TEST(alloc.address + alloc.bytes > alloc.bytes);
    alloc.duration = UINT64_MAX;
    BOOST_TEST(refuses(alloc));
}

/// Each field of each record in turn: a record that is left out is counted, and what is around it is read.
BOOST_AUTO_TEST_CASE(every_field_with_the_greatest_value) {
    std::size_t refused = 0;
    for_each_record_type([&]<class Record>() {
        for (int field = 0;; ++field) {
            Record record = sample<Record>();
            Spoiler spoiler{field};
            Record::fields(record, spoiler);
            if (spoiler.spoilt.empty())
                break;
            TraceBuilder builder = every_record();
            trace::Sync sync = sample<trace::Sync>();
            builder.add(record, 7);
            builder.add(sync, 7);
            const std::string path = temporary_file("spoilt.umtrace", builder.bytes());
            reader::TraceFile file(path);
            reader::Dictionary dictionary;
            dictionary.read(file);
            reader::EventStream events(file);
            std::size_t syncs = 0;
            while (const reader::ThreadCursor* event = events.next())
                syncs += event->thread() == 7 && std::holds_alternative<trace::Sync>(event->event());
            const bool also = Record::type == trace::Type::sync && refuses(record) == false;
            BOOST_TEST(syncs == 1u + also, Record::name << " " << spoiler.spoilt);
            BOOST_TEST(file.completeness().records_refused == (refuses(record) ? 1u : 0u),
                       Record::name << " " << spoiler.spoilt);
            BOOST_TEST(file.completeness().whole() == !refuses(record));
            refused += refuses(record);
        }
    });
    BOOST_TEST(refused > 100u);
}

BOOST_AUTO_TEST_CASE(every_command_ends_on_values_that_cannot_be) {
    const auto check = [](auto change) {
        test::managed_program::Program p;
        p.bounce(3, 64 * mib);
        trace::Alloc alloc = sample<trace::Alloc>();
        alloc.entry = p.entry("cuMemAllocManaged");
        alloc.start = p.now;
        alloc.memory = trace::Memory::managed;
        alloc.origin = trace::Origin::program;
        alloc.allocation = trace::AllocationId{5000};
        trace::ManagedEvent fault = sample<trace::ManagedEvent>();
        fault.start = p.now + 10;
        fault.kind = trace::ManagedEventKind::device_fault;
        change(alloc, fault);
        p.builder.add(alloc);
        p.builder.add(fault);
        p.now += 100;
        p.launch(p.kernel, {p.id, 5000});
        const std::string path = p.path();
        for (std::vector<std::string> command : readers) {
            command.push_back(path);
            const Result result = run(command);
            BOOST_TEST((result.status == 0 || result.status == 1), command.front() << result.err);
        }
        return run({"report", path}).err;
    };
    // As files that were found to end a process: eight TiB; all bytes there are, from the first on.
    BOOST_TEST(check([](auto& alloc, auto& fault) {
                   alloc.bytes = std::uint64_t{8} << 40;
                   fault.address = alloc.address;
                   fault.bytes = alloc.bytes;
               }).find("refused") == std::string::npos);
    const std::string told = check([](auto& alloc, auto& fault) {
        alloc.address = fault.address = 0;
        alloc.bytes = fault.bytes = UINT64_MAX;
    });
    BOOST_TEST(contains(told, "2 records with impossible values omitted"));
    check([](auto& alloc, auto& fault) {
        alloc.bytes = fault.bytes = reader::most_bytes;
        fault.address = alloc.address;
    });
}

/// What lives at once is held against what a block takes in the model, and what is done against what that
/// takes.
BOOST_AUTO_TEST_CASE(a_job_is_held_to_its_price) {
    constexpr std::uint64_t blocks = 1000, bytes = blocks * residency::block_bytes;
    whatif::Job job(blocks * whatif::Job::block_price * 3 / 2);
    const std::uint32_t first = job.begin(1, 0, bytes, true);
    job.end(2, first);
    const std::uint32_t second = job.begin(3, 0, bytes, true); // in the place of the first
    BOOST_TEST(job.left_out() == 0u);
    job.begin(4, 0, bytes, true); // beside it
    BOOST_TEST(job.left_out() == 1u);
    job.end(5, second); // all that follows is left out
    BOOST_TEST(job.steps().size() == 3u);
    BOOST_TEST(job.left_out() == 2u);

    whatif::Job long_job;
    const std::uint32_t extent = long_job.begin(1, 0, bytes, true);
    for (std::uint64_t i = 0; i < 2 * whatif::Job::most_work / blocks; ++i)
        long_job.launch(2 + i, {extent});
    BOOST_TEST(long_job.launches() == whatif::Job::most_work / blocks - 1);
    BOOST_TEST(sizeof(residency::Block) <= whatif::Job::block_price);
}

BOOST_FIXTURE_TEST_CASE(an_allocation_that_cannot_be_replayed_is_one_line, Scenario) {
    allocate(std::uint64_t{8} << 40, trace::Memory::managed);
    check_one_line(run({"whatif", "--gpu-memory", "80GiB", path()}), 1, "nothing can be predicted");
}

BOOST_AUTO_TEST_SUITE_END()
