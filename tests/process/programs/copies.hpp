/// What the programs about copies share: memory of every kind, the calls, and what a trace has to hold of each.
#pragma once

#include "driver_program.hpp"

#include <cinttypes>
#include <string>
#include <vector>

using Number = std::uint64_t;
constexpr cuuint64_t plain = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

/// Takes one JSON object a line.
extern std::FILE* expected;

inline Number number(const void* pointer) {
    return reinterpret_cast<Number>(pointer);
}

/// Memory that ends of copies lie in; `base` is what its allocation was recorded under.
struct Memory {
    const char* name;
    Number base;
    CUmemorytype type;
};

/// An end as the trace shall tell it: the first byte moved; of an array its handle.
struct End {
    const Memory& memory;
    Number address, pitch;
};

inline void expect_copy(const std::string& entry, const End& to, const End& from, Number bytes, Number width,
                        Number height, Number depth, Number batch, CUstream stream) {
    std::fprintf(
        expected,
        "{\"record\": \"Copy\", \"entry\": \"%s\", \"destination\": \"0x%" PRIx64 "\", \"source\": \"0x%" PRIx64
        "\", \"bytes\": %" PRIu64
        ", \"destination_memory\": \"%s\", \"source_memory\": \"%s\", \"destination_base\": \"0x%" PRIx64
        "\", \"source_base\": \"0x%" PRIx64 "\", \"destination_pitch\": %" PRIu64 ", \"source_pitch\": %" PRIu64
        ", \"width\": %" PRIu64 ", \"height\": %" PRIu64 ", \"depth\": %" PRIu64 ", \"batch\": %" PRIu64
        ", \"stream\": \"0x%" PRIx64 "\"}\n",
        entry.c_str(), to.address, from.address, bytes, to.memory.name, from.memory.name, to.memory.base,
        from.memory.base, to.pitch, from.pitch, width, height, depth, batch, number(stream));
}

inline void expect_range(const char* record, const std::string& entry, Number address, Number bytes,
                         Number base, const std::string& rest) {
    std::fprintf(expected,
                 "{\"record\": \"%s\", \"entry\": \"%s\", \"address\": \"0x%" PRIx64 "\", \"bytes\": %" PRIu64
                 ", \"base\": \"0x%" PRIx64 "\"%s}\n",
                 record, entry.c_str(), address, bytes, base, rest.c_str());
}

inline void show(const std::string& what, CUresult result) {
    std::printf("%s: %d\n", what.c_str(), static_cast<int>(result));
}

struct Memories {
    std::vector<unsigned char> bytes = std::vector<unsigned char>(1 << 20);
    CUdeviceptr device = 0, managed = 0;
    void* pinned = nullptr;
    CUarray array = nullptr, level = nullptr;
    CUmipmappedArray mipmapped = nullptr;
    CUstream stream = nullptr;
    Memory heap{}, on_device{}, shared{}, locked{}, in_array{}, in_level{};
};

constexpr std::size_t array_row = 256; ///< bytes; the array has 64 rows and 8 layers, its level 1 half of each

Memories make();

/// One end of a copy of rows: from `base`, skipping x bytes, y rows, z layers.
struct Rows {
    const Memory& memory;
    Number base; ///< address, or handle of the array
    Number pitch, layer_height, x, y, z;

    /// By indexing, not by the formula that the recorder uses.
    Number first() const {
        if (memory.type == CU_MEMORYTYPE_ARRAY)
            return base;
        Number at = base;
        for (Number layer = 0; layer < z; ++layer)
            for (Number row = 0; row < layer_height; ++row)
                at += pitch;
        for (Number row = 0; row < y; ++row)
            at += pitch;
        return at + x;
    }
    End end() const { return {memory, first(), memory.type == CU_MEMORYTYPE_ARRAY ? 0 : pitch}; }
};

template <class Structure>
Structure fill(const Rows& to, const Rows& from, Number width, Number height, Number depth) {
    Structure copy{};
    using Pitch = decltype(copy.srcPitch);
    copy.srcMemoryType = from.memory.type;
    copy.srcHost = reinterpret_cast<const void*>(from.base);
    copy.srcDevice = static_cast<decltype(copy.srcDevice)>(from.base);
    copy.srcArray = reinterpret_cast<CUarray>(from.base);
    copy.srcPitch = static_cast<Pitch>(from.pitch);
    copy.srcXInBytes = static_cast<Pitch>(from.x);
    copy.srcY = static_cast<Pitch>(from.y);
    copy.dstMemoryType = to.memory.type;
    copy.dstHost = reinterpret_cast<void*>(to.base);
    copy.dstDevice = static_cast<decltype(copy.dstDevice)>(to.base);
    copy.dstArray = reinterpret_cast<CUarray>(to.base);
    copy.dstPitch = static_cast<Pitch>(to.pitch);
    copy.dstXInBytes = static_cast<Pitch>(to.x);
    copy.dstY = static_cast<Pitch>(to.y);
    copy.WidthInBytes = static_cast<Pitch>(width);
    copy.Height = static_cast<Pitch>(height);
    if constexpr (requires { copy.Depth; }) {
        copy.srcZ = static_cast<Pitch>(from.z);
        copy.srcHeight = static_cast<Pitch>(from.layer_height);
        copy.dstZ = static_cast<Pitch>(to.z);
        copy.dstHeight = static_cast<Pitch>(to.layer_height);
        copy.Depth = static_cast<Pitch>(depth);
    }
    return copy;
}

/// Calls `function` with a copy in this structure, and says what is to be recorded of it.
template <class Structure, class... Stream>
void copy_rows(CUresult (*function)(const Structure*, Stream...), const std::string& entry, const Rows& to,
               const Rows& from, Number width, Number height, Number depth, CUstream recorded,
               Stream... stream) {
    const Structure copy = fill<Structure>(to, from, width, height, depth);
    show(entry, function(&copy, stream...));
    expect_copy(entry, to.end(), from.end(), width * height * depth, width, height, depth, 0, recorded);
}

/// With the calls that stand in driver and header, plain or per-thread.
void copy_all_rows(Memories& m, cuuint64_t flags);
void copy_in_old_structures(Memories& m);
void copy_in_one_dimension(Memories& m);

void copy_batches(Memories& m, int version, cuuint64_t flags);
void place_batches(Memories& m, cuuint64_t flags);
void set_rows(Memories& m, cuuint64_t flags);
