#include "interposer/record/dictionary.hpp"

#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "trace/records.hpp"

namespace umadvisor::record {

constinit Dictionary dictionary;

template <class Record>
void Dictionary::define(const Record& record) noexcept {
    const std::size_t bound = trace::encoded_bound(record);
    if (bound > trace::chunk_capacity)
        return sink.drop(trace::DropReason::oversized);
    const Quiet quiet;
    const Guard guard(mutex_);
    if (!chunk_.room(bound) && !renew(bound))
        return sink.drop();
    chunk_.put(record);
    chunk_.commit();
    if (sink.closed()) // no later call writes it out
        seal_and_keep();
}

bool Dictionary::renew(std::size_t bytes) noexcept {
    if (chunk_.header != nullptr) {
        if (chunk_.reopen(trace::chunk_bytes) && chunk_.room(bytes))
            return true;
        chunk_.seal();
        sink.finish(chunk_.memory());
        chunk_ = {};
    }
    std::uint8_t* memory = sink.claim(trace::ChunkKind::dictionary);
    if (memory == nullptr)
        return false;
    chunk_.begin(memory, trace::ChunkKind::dictionary, 0, sequence_++, now());
    return true;
}

void Dictionary::seal() noexcept {
    const Guard guard(mutex_);
    seal_and_keep();
}

void Dictionary::seal_and_keep() noexcept {
    if (chunk_.header == nullptr)
        return;
    chunk_.seal();
    sink.keep(chunk_.memory());
}

template <class Record>
void define(const Record& record) noexcept {
    if (recording())
        dictionary.define(record);
}

#define DEFINITION(R) template void define(const trace::R&) noexcept;
#include "trace/records.def"

} // namespace umadvisor::record
