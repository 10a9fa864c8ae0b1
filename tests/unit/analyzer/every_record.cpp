#include "every_record.hpp"

namespace umadvisor::test {

void FieldFiller::text(std::string_view key, std::string_view& value) {
    if (key == "build_id")
        value = std::string_view("\x01\xfe\x00\x80", 4);
    else if (key == "symbol")
        value = "_Z6kernelPfi";
    else if (key == "command_line")
        value = std::string_view("program\0--size\0"
                                 "4\0",
                                 17);
    else
        value = key; // its own name: literals, so it stays
}

TraceBuilder every_record() {
    TraceBuilder builder;
    builder.own_ticks = 12'345;
    builder.dropped[trace::DropReason::size_cap] = 7;
    builder.counters[900] = 3;
    FieldFiller filler{1};
    for_each_record_type([&]<class Record>() {
        Record record;
        Record::fields(record, filler);
        if constexpr (std::is_same_v<Record, trace::Launch>)
            record.shape = 1; // the one that the LaunchShape before it defined
        builder.add(record, 1);
    });
    // The other thread works between the records of the first.
    trace::Sync sync;
    sync.start = 30'000;
    sync.duration = 500;
    builder.add(sync, 2);
    return builder;
}

} // namespace umadvisor::test
