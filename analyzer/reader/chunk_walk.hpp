/// Taking the records of one chunk apart.
#pragma once

#include "analyzer/reader/plausible.hpp"
#include "analyzer/reader/trace_file.hpp"
#include "trace/decoder.hpp"
#include "trace/records.hpp"

#include <vector>

namespace umadvisor::reader {

/// True for records that stand in dictionary chunks.
constexpr bool is_definition(trace::Type type) {
    return static_cast<std::uint8_t>(type) >= 64;
}

/// Calls `visit(record)` for every definition, in file order. Texts point into a buffer that is reused: copy
/// them. A chunk is given up at its first malformed record and counted as damaged; a record with values that no
/// machine can have is left out and counted.
template <class Visit>
void for_each_definition(TraceFile& file, Visit&& visit) {
    std::vector<std::uint8_t> bytes;
    for (const ChunkInfo& chunk : file.chunks()) {
        if (chunk.kind != trace::ChunkKind::dictionary)
            continue;
        const std::uint64_t cut_before = file.completeness().chunks_cut;
        if (!file.load(chunk, bytes))
            continue;
        const bool cut = file.completeness().chunks_cut != cut_before;
        trace::DeltaState state;
        state.time = chunk.base_time;
        const std::uint8_t* at = bytes.data();
        const std::uint8_t* const end = at + bytes.size();
        bool good = true;
        while (good && at != end) {
            trace::RawRecord raw;
            at = trace::next_record(at, end, raw);
            if (at == nullptr) {
                good = false;
                break;
            }
            if (!is_definition(raw.type))
                continue;
            const bool known = trace::visit_type(raw.type, [&]<class Record>() {
                if constexpr (is_definition(Record::type)) {
                    Record record;
                    good = trace::decode(raw, record, state);
                    if (good && make_plausible(record))
                        visit(record);
                    else if (good)
                        ++file.completeness().records_refused;
                }
            });
            if (!known)
                ++file.completeness().records_unknown;
        }
        if (!good && !cut) // a cut chunk ends inside a record: that is counted already
            ++file.completeness().chunks_damaged;
    }
}

} // namespace umadvisor::reader
