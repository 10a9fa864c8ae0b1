#include "trace_builder.hpp"

#include "trace/checksum.hpp"
#include "trace/encoder.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace umadvisor::test {
namespace {

constexpr std::uint64_t base_time = 1'000;

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, const T& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

} // namespace

#define HEADER(member) offsetof(trace::FileHeader, member)
#define CHUNK(member) offsetof(trace::ChunkHeader, member)

TraceBuilder::Chunk& TraceBuilder::chunk(trace::ChunkKind kind, std::uint32_t thread) {
    const auto key = std::make_pair(kind, thread);
    const auto found = open_.find(key);
    if (found != open_.end())
        return chunks_[found->second];
    open_[key] = chunks_.size();
    Chunk& fresh = chunks_.emplace_back(Chunk{kind, thread, sequences_[key]++, {}});
    fresh.time = base_time;
    return fresh;
}

void TraceBuilder::next_chunk(std::uint32_t thread) {
    open_.erase({trace::ChunkKind::event, thread});
}

TraceBuilder& TraceBuilder::add_raw(const std::vector<std::uint8_t>& bytes, std::uint32_t thread) {
    Chunk& to = chunk(trace::ChunkKind::event, thread);
    to.body.insert(to.body.end(), bytes.begin(), bytes.end());
    return *this;
}

template <class Record>
TraceBuilder& TraceBuilder::add(const Record& record, std::uint32_t thread) {
    const bool definition = static_cast<std::uint8_t>(Record::type) >= 64;
    const auto kind = definition ? trace::ChunkKind::dictionary : trace::ChunkKind::event;
    const std::uint32_t of = definition ? 1 : thread;
    static std::vector<std::uint8_t> buffer(
        2 * trace::chunk_bytes); // more than encoded_bound() of what tests write
    for (;;) {
        Chunk& to = chunk(kind, of);
        trace::DeltaState state{to.time, to.address, to.handle};
        const std::uint8_t* const end = trace::encode(buffer.data(), record, state);
        const auto bytes = static_cast<std::size_t>(end - buffer.data());
        if (to.body.size() + bytes > chunk_size - sizeof(trace::ChunkHeader)) {
            if (to.body.empty())
                throw std::length_error("test trace: a record does not fit into a chunk");
            open_.erase({kind, of});
            continue;
        }
        to.time = state.time;
        to.address = state.address;
        to.handle = state.handle;
        to.body.insert(to.body.end(), buffer.data(), buffer.data() + bytes);
        break;
    }
    return *this;
}

#define EVENT(R) template TraceBuilder& TraceBuilder::add<trace::R>(const trace::R&, std::uint32_t);
#define DEFINITION(R) EVENT(R)
#include "trace/records.def"

TraceBuilder& TraceBuilder::module(std::uint64_t id, std::string_view path) {
    return add(trace::Module{.id = id, .path = path});
}

TraceBuilder& TraceBuilder::frame(std::uint64_t id, std::uint64_t parent, std::uint64_t address,
                                  std::uint64_t module, std::uint64_t python) {
    return add(
        trace::Frame{.id = id, .parent = parent, .address = address, .module = module, .python = python});
}

TraceBuilder& TraceBuilder::python_code(std::uint64_t id, std::string_view file, std::string_view function) {
    return add(trace::PythonCode{.id = id, .file = file, .function = function});
}

TraceBuilder& TraceBuilder::python_frame(std::uint64_t id, std::uint64_t parent, std::uint64_t code,
                                         std::uint64_t instruction, bool entered) {
    trace::PythonFrame record{
        .id = id, .parent = parent, .code = code, .instruction = instruction, .entered = entered};
    return add(record);
}

std::vector<std::uint8_t> TraceBuilder::file_header() const {
    std::vector<std::uint8_t> file(header_bytes);
    put(file, HEADER(magic), trace::file_magic);
    put(file, HEADER(major), major);
    put(file, HEADER(minor), minor);
    put(file, HEADER(endian), trace::endian_mark);
    put(file, HEADER(header_bytes), header_bytes);
    put(file, HEADER(chunk_size), chunk_size);
    put(file, HEADER(counters_offset), counters_offset);
    put(file, HEADER(counters), counter_slots);
    put(file, HEADER(pid), pid);
    put(file, HEADER(clock), clock);
    put(file, HEADER(state), closed ? trace::FileState::closed : trace::FileState::recording);
    put(file, HEADER(realtime_ns), realtime_ns);
    put(file, HEADER(first), first);
    put(file, HEADER(last_ticks), last.ticks);
    put(file, HEADER(last_monotonic_ns), last.monotonic_ns);
    put(file, HEADER(chunks), static_cast<std::uint32_t>(chunks_.size()));
    put(file, HEADER(own_ticks), own_ticks);
    for (const auto& [reason, count] : dropped)
        put(file, HEADER(dropped) + static_cast<std::size_t>(reason) * 8, count);
    for (const auto& [entry, count] : counters)
        if (entry < counter_slots)
            put(file, counters_offset + entry * 8, count);
    return file;
}

std::vector<std::uint8_t> TraceBuilder::whole(const Chunk& chunk) const {
    std::vector<std::uint8_t> bytes(chunk_size);
    put(bytes, CHUNK(magic), trace::chunk_magic);
    put(bytes, CHUNK(kind), chunk.kind);
    put(bytes, CHUNK(state), sealed ? trace::ChunkState::sealed : trace::ChunkState::open);
    put(bytes, CHUNK(thread), chunk.thread);
    put(bytes, CHUNK(sequence), chunk.sequence);
    put(bytes, CHUNK(base_time), base_time);
    put(bytes, CHUNK(committed), static_cast<std::uint32_t>(chunk.body.size()));
    if (sealed)
        put(bytes, CHUNK(checksum), trace::checksum(chunk.body.data(), chunk.body.size()));
    std::memcpy(bytes.data() + sizeof(trace::ChunkHeader), chunk.body.data(), chunk.body.size());
    return bytes;
}

std::vector<std::uint8_t> TraceBuilder::bytes() const {
    std::vector<std::uint8_t> file = file_header();
    for (const Chunk& chunk : chunks_) {
        const std::vector<std::uint8_t> bytes = whole(chunk);
        file.insert(file.end(), bytes.begin(), bytes.end());
    }
    return file;
}

void TraceBuilder::write(const std::string& path) const {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    const auto put_out = [&out](const std::vector<std::uint8_t>& bytes) {
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    };
    put_out(file_header());
    for (const Chunk& chunk : chunks_) // one at a time: traces of benchmarks are large
        put_out(whole(chunk));
    if (!out.flush())
        throw std::runtime_error("cannot write " + path);
}

std::string TraceBuilder::written(const std::string& name) const {
    const std::string path = temporary_path(name);
    write(path);
    return path;
}

std::string temporary_path(const std::string& name) {
    struct Folder {
        std::filesystem::path path;
        Folder() {
            std::string pattern = (std::filesystem::temp_directory_path() / "umadvisor-test-XXXXXX").string();
            if (::mkdtemp(pattern.data()) == nullptr)
                throw std::runtime_error("cannot make a temporary folder");
            path = pattern;
        }
        ~Folder() {
            std::error_code ignored;
            std::filesystem::remove_all(path, ignored);
        }
    };
    static const Folder folder;
    return (folder.path / name).string();
}

std::string temporary_file(const std::string& name, const std::vector<std::uint8_t>& content) {
    const std::string path = temporary_path(name);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    return path;
}

} // namespace umadvisor::test
