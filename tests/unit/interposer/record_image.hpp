/// A trace file read back whole, for tests of the recorder.
#pragma once

#include "analyzer/reader/segment.hpp"
#include "record_process.hpp"
#include "trace/checksum.hpp"
#include "trace/decoder.hpp"
#include "trace/layout.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace umadvisor::record {

/// Throws std::runtime_error for anything a reader would call damage.
class TraceImage {
public:
    explicit TraceImage(const std::string& path) {
        write_what_is_left(path);
        if (stat(path.c_str(), &file_) != 0)
            throw std::runtime_error("no trace at " + path);
        std::ifstream file(path, std::ios::binary);
        bytes_.resize(static_cast<std::size_t>(file_.st_size)); // by the hundred megabytes
        file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
        if (bytes_.size() < trace::header_bytes || header().magic != trace::file_magic)
            throw std::runtime_error("no header");
    }

    const trace::FileHeader& header() const {
        return *reinterpret_cast<const trace::FileHeader*>(bytes_.data());
    }
    const std::uint64_t* counters() const {
        return reinterpret_cast<const std::uint64_t*>(bytes_.data() + trace::counters_offset);
    }
    std::size_t size() const { return bytes_.size(); }
    const struct stat& file() const { return file_; }
    /// What it takes of the disk: a file may have holes.
    std::uint64_t bytes_on_disk() const { return static_cast<std::uint64_t>(file_.st_blocks) * 512; }
    bool is_closed() const { return header().state.load() == trace::FileState::closed; }
    std::uint64_t dropped(trace::DropReason reason) const {
        return header().dropped[static_cast<std::size_t>(reason)].load();
    }

    /// Calls `each(chunk header)` for every chunk that was begun.
    template <class Each>
    void each_chunk(Each&& each) const {
        for (std::uint32_t i = 0; i < header().chunks.load(); ++i) {
            const std::size_t at = trace::header_bytes + std::size_t{i} * trace::chunk_bytes;
            if (at + trace::chunk_bytes > bytes_.size())
                throw std::runtime_error("the file is shorter than its chunks");
            const auto& chunk = *reinterpret_cast<const trace::ChunkHeader*>(bytes_.data() + at);
            if (chunk.magic == trace::chunk_magic)
                each(chunk);
        }
    }

    /// What dropped calls were counted as, by site.
    struct Site {
        std::uint64_t calls, failed, bytes, ticks;
    };
    std::map<std::uint64_t, Site> summary() const {
        std::map<std::uint64_t, Site> sites;
        each_chunk([&](const trace::ChunkHeader& chunk) {
            if (chunk.kind != trace::ChunkKind::summary)
                return;
            const auto* const slots = reinterpret_cast<const trace::SummarySlot*>(&chunk + 1);
            for (std::size_t i = 0; i < chunk.committed.load() / sizeof *slots; ++i)
                if (const trace::SummarySlot& slot = slots[i]; slot.site != 0)
                    sites[slot.site] = {slot.calls, slot.failed, slot.bytes, slot.ticks};
        });
        return sites;
    }

    /// Calls `each(chunk header, record)` for every record of any type, in file order.
    template <class Each>
    void each_record(Each&& each) const {
        each_chunk([&](const trace::ChunkHeader& chunk) {
            if (chunk.kind == trace::ChunkKind::summary)
                return;
            const auto* at = reinterpret_cast<const std::uint8_t*>(&chunk) + sizeof chunk;
            const std::uint32_t committed = chunk.committed.load();
            if (committed > trace::chunk_capacity)
                throw std::runtime_error("more committed than a chunk holds");
            if (chunk.state.load() == trace::ChunkState::sealed &&
                trace::checksum(at, committed) != chunk.checksum)
                throw std::runtime_error("checksum");
            const std::uint8_t* const end = at + committed;
            trace::DeltaState state{.time = chunk.base_time};
            trace::RawRecord raw;
            while (at != end) {
                at = trace::next_record(at, end, raw);
                if (at == nullptr)
                    throw std::runtime_error("cut record");
                trace::visit_type(raw.type, [&]<class Record>() {
                    Record record;
                    if (chunk.kind == trace::ChunkKind::state) // whose records stand alone
                        state = {};
                    if (!trace::decode(raw, record, state))
                        throw std::runtime_error("malformed record");
                    each(chunk, record);
                });
            }
        });
    }

    template <class Record>
    std::vector<Record> all() const {
        std::vector<Record> records;
        each_record([&]<class Found>(const trace::ChunkHeader&, const Found& record) {
            if constexpr (std::is_same_v<Found, Record>)
                records.push_back(record);
        });
        return records;
    }

private:
    /// As every reader does: of a recorder that did not close its trace some is in memory.
    static void write_what_is_left(const std::string& path) {
        if (const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
            const reader::Unwritten unwritten = reader::take_unwritten(file);
            ::close(file);
            if (unwritten.lost || !unwritten.pieces.empty())
                throw std::runtime_error("some of the trace is still in memory");
        }
    }

    struct stat file_ {};
    std::vector<char> bytes_;
};

/// The trace of a child that records while it runs `program`, which ends well: it answers true or nothing.
template <class Program>
TraceImage recorded(const Varied& varied, const Program& program) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    BOOST_TEST(succeeds_in_child([&] {
        if (!varied.before() || open_trace(path, varied) != nullptr)
            return false;
        if constexpr (std::is_void_v<decltype(program())>)
            return program(), true;
        else
            return program();
    }));
    return TraceImage(path);
}
template <class Program>
TraceImage recorded(const Program& program) {
    return recorded({}, program);
}

} // namespace umadvisor::record
