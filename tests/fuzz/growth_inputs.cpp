/// Traces whose reading could cost more than their size: of one kind and of about so many bytes.
/// tools/bench/growth doubles them.
#include "analyzer/reader/packed_section.hpp"
#include "analyzer/reader/source.hpp"
#include "analyzer/symbols/byte_input.hpp"
#include "every_record.hpp"
#include "scenario.hpp"
#include "trace/checksum.hpp"
#include "trace_image.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <type_traits>

namespace umadvisor::fuzz {
namespace {

constexpr std::size_t long_text = 16'000; ///< what a record has room for

/// Fields of the `number`th record of a row: numbers that differ, or that are the same in all of them.
struct RowFiller {
    std::uint64_t number_of_record;
    bool equal;
    std::uint64_t value() const { return equal ? 1 : 1 + number_of_record; }
    template <class T>
    void number(std::string_view, T& value) {
        if constexpr (trace::is_enumeration<T>)
            value = static_cast<T>(1);
        else
            value = static_cast<T>(this->value());
    }
    void time(std::string_view key, std::uint64_t& value) {
        value = key == "start" || key == "time" ? 10'000 + number_of_record * 1'000 : 500;
    }
    void address(std::string_view, std::uint64_t& value) { value = 0x7f00'0000'0000 + this->value() * 4096; }
    template <class T>
    void handle(std::string_view, T& value) {
        value = static_cast<T>(0x5500'0000'0000 + this->value() * 16);
    }
    void text(std::string_view key, std::string_view& value) { value = key == "symbol" ? "_Z6kernelPfi" : key; }
    template <std::size_t N, class T>
    void numbers(std::string_view, trace::Numbers<N, T>& value) {
        value.add(static_cast<T>(this->value()));
    }
};

class Growing {
public:
    explicit Growing(std::size_t bytes) : bytes_(bytes) {
        trace::Entry entry;
        entry.id = 1;
        entry.recorded = 1;
        entry.symbol = "cuMemcpyHtoD_v2";
        image.add(entry);
    }
    /// Calls `add` with 1, 2, 3 and so on until the file is large enough.
    template <class Add>
    void fill(const Add& add) {
        for (std::uint64_t i = 1; size() < bytes_; ++i)
            add(i);
    }
    std::size_t bytes() const { return bytes_; }

    void copy(std::uint64_t number, std::uint64_t stack) {
        trace::Copy copy;
        copy.entry = 1;
        copy.start = number * test::ms;
        copy.duration = test::us * 100;
        copy.stack = stack;
        copy.bytes = test::mib;
        copy.source_memory = trace::Memory::pageable;
        copy.destination_memory = trace::Memory::device;
        image.add(copy);
    }
    void frame(std::uint64_t id, std::uint64_t parent, std::uint64_t module = 0, std::uint64_t python = 0) {
        trace::Frame frame;
        frame.id = id;
        frame.parent = parent;
        frame.address = 0x400000 + id * 16;
        frame.module = module;
        frame.python = python;
        image.add(frame);
    }
    void module(std::string_view path, std::string_view build_id = "build-id") {
        trace::Module module;
        module.id = 1;
        module.path = path;
        module.build_id = build_id;
        image.add(module);
    }

    TraceImage image;

private:
    std::size_t size() const {
        std::size_t size = 0;
        if (image.chunks.empty())
            return 0;
        size = (image.chunks.size() - 1) * trace::chunk_bytes + image.chunks.back().body.size();
        return size;
    }
    std::size_t bytes_;
};

using Make = std::function<void(Growing&)>;

/// Many records of one type.
void add_rows(std::map<std::string, Make>& kinds) {
    test::for_each_record_type([&]<class Record>() {
        for (const bool equal : {false, true})
            kinds[(equal ? "equal-" : "rows-") + std::string(Record::name)] = [equal](Growing& trace) {
                trace::LaunchShape shape;
                shape.shape = shape.function = 1;
                trace.image.add(shape);
                trace.fill([&](std::uint64_t i) {
                    RowFiller filler{i, equal};
                    Record record;
                    Record::fields(record, filler);
                    trace.image.add(record);
                });
            };
    });
}

void add_stacks(std::map<std::string, Make>& kinds) {
    kinds["stacks-chain"] = [](Growing& trace) { // each call is one frame deeper
        trace.fill([&](std::uint64_t i) {
            trace.frame(i, i - 1);
            trace.copy(i, i);
        });
    };
    kinds["stacks-fan"] = [](Growing& trace) { // all calls below the same 200 frames
        constexpr std::uint64_t depth = 200;
        for (std::uint64_t id = 1; id <= depth; ++id)
            trace.frame(id, id - 1);
        trace.fill([&](std::uint64_t i) {
            trace.frame(depth + i, depth);
            trace.copy(i, depth + i);
        });
    };
    kinds["stacks-long-module"] = [](Growing& trace) {
        trace.module("/" + std::string(long_text, 'm'));
        trace.fill([&](std::uint64_t i) {
            trace.frame(i, 0, 1);
            trace.copy(i, i);
        });
    };
    kinds["python-long-file"] = [](Growing& trace) {
        const std::string file = "/" + std::string(long_text, 'f') + ".py", function(long_text, 'g');
        trace::PythonCode code;
        code.id = 1;
        code.file = file;
        code.function = function;
        trace.image.add(code);
        trace.fill([&](std::uint64_t i) {
            trace::PythonFrame frame;
            frame.id = i;
            frame.code = 1;
            frame.instruction = i;
            trace.image.add(frame);
            trace.frame(i, 0, 0, i);
            trace.copy(i, i);
        });
    };
    kinds["python-line-table"] = [](Growing& trace) { // as long as half of the file, of one code object
        const std::string table(long_text, '\x80');
        trace::PythonCode code;
        code.id = 1;
        code.format = trace::LineTable::locations;
        code.file = "train.py";
        code.function = "step";
        trace.image.add(code);
        for (std::size_t offset = 0; offset < trace.bytes() / 2; offset += table.size()) {
            trace::PythonLines lines;
            lines.code = 1;
            lines.offset = offset;
            lines.lines = table;
            trace.image.add(lines);
        }
        trace.fill([&](std::uint64_t i) {
            trace::PythonFrame frame;
            frame.id = i;
            frame.code = 1;
            frame.instruction = i * 31;
            trace.image.add(frame);
            trace.frame(i, 0, 0, i);
            trace.copy(i, i);
        });
    };
}

void add_names(std::map<std::string, Make>& kinds) {
    kinds["kernels-long-name"] = [](Growing& trace) {
        const std::string symbol(long_text, 'k');
        trace::Function function;
        function.id = 1;
        function.symbol = symbol;
        trace.image.add(function);
        trace.fill([&](std::uint64_t i) {
            trace::LaunchShape shape;
            shape.shape = i;
            shape.function = shape.entry = 1;
            shape.stack = shape.grid_x = i;
            shape.grid_y = shape.grid_z = shape.block_x = shape.block_y = shape.block_z = 1;
            trace.image.add(shape);
            trace::Launch launch;
            launch.shape = i;
            launch.start = i * test::us * 10;
            launch.duration = test::us;
            trace.image.add(launch);
        });
    };
    kinds["ranges-long-name"] = [](Growing& trace) {
        const std::string name(long_text, 'r');
        trace::String text;
        text.id = 1;
        text.text = name;
        trace.image.add(text);
        trace.fill([&](std::uint64_t i) {
            trace::Range range;
            range.text = 1;
            range.domain = 1;
            range.start = i * test::us;
            trace.image.add(range);
        });
    };
    kinds["allocations-long-name"] = [](Growing& trace) {
        const std::string name(long_text, 'v');
        trace::String text;
        text.id = 1;
        text.text = name;
        trace.image.add(text);
        trace.fill([&](std::uint64_t i) {
            trace::Alloc alloc;
            alloc.entry = 1;
            alloc.allocation = trace::AllocationId{i};
            alloc.address = 0x7f00'0000'0000 + i * test::mib;
            alloc.bytes = 4096;
            alloc.memory = trace::Memory::device;
            alloc.start = i * test::us;
            alloc.symbol = 1;
            trace.image.add(alloc);
        });
    };
}

/// Work of every kind that findings are about, each time on lines of its own.
void add_habits(std::map<std::string, Make>& kinds) {
    kinds["findings"] = [](Growing& trace) {
        test::Scenario s;
        const auto function = s.function("_Z5scalePfi");
        const auto times = trace.bytes() / 700;
        for (std::size_t i = 0; i < times; ++i) {
            const auto managed = s.allocate(8 * test::mib, trace::Memory::managed, s.stack());
            const auto device = s.allocate(8 * test::mib, trace::Memory::device, s.stack());
            s.copy_often(test::mib, test::ms, {.stack = s.stack(), .to = device, .part = 7, .whole = 7});
            s.residency(managed, 8 * test::mib, 8 * test::mib, trace::SampleMoment::before_launch);
            s.launch(function, {managed, device}, 0, s.stack());
            s.synchronize({.stack = s.stack()});
            s.residency(managed, 8 * test::mib, 0, trace::SampleMoment::after_synchronize);
            s.free(device);
            s.free(managed);
        }
        trace.image = TraceImage(s.builder.bytes());
    };
}

/// As the symbol cache and packed traces hold them: `addresses` of `places` each, all of one text.
std::string places_of(std::uint64_t addresses, std::uint64_t places, std::size_t text) {
    std::string body;
    for (std::uint64_t address = 1; address <= addresses; ++address) {
        symbols::append_number(body, 0x400000 + address * 16 - 1);
        symbols::append_number(body, places);
        for (std::uint64_t i = 0; i < places; ++i) {
            symbols::append_number(body, 0); // function, file
            symbols::append_number(body, 0);
            symbols::append_number(body, i);
            symbols::append_number(body, 1);
        }
    }
    symbols::append_text(body, std::string(text, 't'));
    std::string bytes("umsym1\0\0", 8);
    symbols::append_number(bytes, 1);
    symbols::append_number(bytes,
                           trace::checksum(reinterpret_cast<const std::uint8_t*>(body.data()), body.size()));
    symbols::append_number(bytes, addresses);
    symbols::append_number(bytes, 1);
    return bytes + body;
}

/// What `umadvisor pack` would add for such places.
std::string section_of(const std::string& places) {
    std::string section;
    symbols::append_number(section, 1);
    symbols::append_text(section, "/program");
    symbols::append_text(section, "build-id");
    symbols::append_text(section, places);
    symbols::append_number(section, 0);
    return section;
}

struct Packed {
    std::string section;
    std::uint64_t stacks = 0;
};

std::map<std::string, std::function<Packed(std::size_t)>> packed_kinds() {
    return {{"packed-places-of-one-text",
             [](std::size_t bytes) {
                 return Packed{section_of(places_of(bytes / 96, 1, bytes / 2)), bytes / 200};
             }},
            {"packed-places-of-one-address",
             [](std::size_t bytes) {
                 return Packed{section_of(places_of(1, bytes / 64, 100)), bytes / 50};
             }},
            {"packed-source-lines", [](std::size_t bytes) {
                 std::string section;
                 symbols::append_number(section, 0);
                 symbols::append_number(section, bytes / 32);
                 for (std::uint64_t i = 0; i < bytes / 32; ++i) {
                     symbols::append_text(section, "f");
                     symbols::append_number(section, i);
                     symbols::append_text(section, "t");
                 }
                 return Packed{section, 1};
             }}};
}

void write(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// The trace of one program whose calls are at the section's addresses.
void write_packed(const std::string& path, const Packed& packed) {
    Growing trace(0);
    trace.module("/program");
    for (std::uint64_t i = 1; i <= packed.stacks; ++i) { // all are called from the first
        trace.frame(i, i == 1 ? 0 : 1, 1);
        trace.copy(i, i);
    }
    write(path + ".plain", trace.image.bytes());
    Bytes bytes;
    reader::write_with_section(reader::Source(path + ".plain"), packed.section, [&](std::string_view piece) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    std::remove((path + ".plain").c_str());
    write(path, bytes);
}

int run(int count, char** arguments) {
    std::map<std::string, Make> kinds;
    add_rows(kinds);
    add_stacks(kinds);
    add_names(kinds);
    add_habits(kinds);
    const auto packed = packed_kinds();
    if (count != 4) {
        for (const auto& [name, make] : kinds)
            std::cout << name << "\n";
        for (const auto& [name, make] : packed)
            std::cout << name << "\n";
        return count == 1 ? 0 : 2;
    }
    const std::string kind = arguments[1], path = arguments[3];
    const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10);
    if (const auto found = packed.find(kind); found != packed.end()) {
        write_packed(path, found->second(bytes));
    } else if (const auto made = kinds.find(kind); made != kinds.end()) {
        Growing trace(bytes);
        made->second(trace);
        write(path, trace.image.bytes());
    } else if (constexpr std::string_view calls = "calls-into:"; kind.starts_with(calls)) { // a library
        Growing trace(bytes);
        trace.module(kind.substr(calls.size()), "");
        trace.fill([&](std::uint64_t i) {
            trace.frame(i, 0, 1);
            trace.copy(i, i);
        });
        write(path, trace.image.bytes());
    } else if (kind == "symbol-cache") {
        const std::string places = places_of(bytes / 96, 1, bytes / 2);
        write(path, Bytes(places.begin(), places.end()));
    } else {
        return 2;
    }
    return 0;
}

} // namespace
} // namespace umadvisor::fuzz

/// Without arguments: the kinds. Else: KIND BYTES FILE.
int main(int count, char** arguments) {
    return umadvisor::fuzz::run(count, arguments);
}
