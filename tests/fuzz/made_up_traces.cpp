#include "made_up_traces.hpp"

#include "every_record.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace umadvisor::fuzz {
namespace {

constexpr std::uint64_t tib = std::uint64_t{1} << 40;

/// Managed memory that host and device use in turns, copies, waits: what most findings are about.
test::Scenario busy_program(std::uint64_t bytes, std::string_view kernel) {
    test::Scenario s;
    s.builder.make_small();
    s.builder.chunk_size = 32 * 1024;
    const auto function = s.function(kernel);
    const auto allocating = s.stack(), copying = s.stack(), launching = s.stack();
    const auto managed = s.allocate(bytes, trace::Memory::managed, allocating);
    const auto device = s.allocate(8 * test::mib, trace::Memory::device, allocating);
    for (std::uint64_t i = 1; i <= 8; ++i) {
        s.residency(managed, bytes, bytes, trace::SampleMoment::before_launch);
        s.launch(function, {managed, device}, i, launching);
        s.synchronize();
        s.device_time(i, test::ms);
        s.residency(managed, bytes, 0, trace::SampleMoment::after_synchronize);
        s.copy(test::mib, test::ms, {.stack = copying, .to = device, .part = 7, .whole = 7});
        s.prefetch(managed, bytes, trace::Location::device);
    }
    s.free(device);
    s.free(managed);
    return s;
}

/// Records of all types with numbers and texts of all kinds; ids are small, so that they find each other.
void add_any_records(TraceImage& image, Random& random) {
    HostileFiller filler(random, static_cast<unsigned>(random() % 101), static_cast<unsigned>(random() % 101));
    const std::uint64_t only = random() % 4 == 0 ? random() % 96 : 0; // one type far more often than others
    for (std::uint64_t count = 1 + random() % 300; count > 0; --count)
        trace::visit_type(static_cast<trace::Type>(only != 0 && random() % 2 == 0 ? only : random() % 96),
                          [&]<class Record>() {
                              Record record;
                              Record::fields(record, filler);
                              image.add(record, 1 + static_cast<std::uint32_t>(random() % 2));
                          });
}

void add_copy(TraceImage& image, std::uint64_t stack, std::uint64_t start) {
    trace::Copy copy;
    copy.entry = 1;
    copy.start = start;
    copy.duration = test::ms;
    copy.stack = stack;
    copy.bytes = test::mib;
    copy.source_memory = trace::Memory::pageable;
    copy.destination_memory = trace::Memory::device;
    image.add(copy);
}

void add_copy_entry(TraceImage& image) {
    trace::Entry entry;
    entry.id = 1;
    entry.recorded = 1;
    entry.symbol = "cuMemcpyHtoD_v2";
    image.add(entry);
}

/// Python and native stacks of some hundred frames with names of any length, and copies in all of them.
void add_deep_stacks(TraceImage& image, Random& random) {
    add_copy_entry(image);
    const std::uint64_t depth = 50 + random() % 500, codes = 1 + random() % 30;
    for (std::uint64_t id = 1; id <= codes; ++id) {
        const std::string name =
            random() % 2 == 0 ? std::string(16'000, static_cast<char>('a' + id % 26)) : hostile_text(random);
        const std::string file = hostile_text(random);
        trace::PythonCode code;
        code.id = id;
        code.first_line = hostile_number(random);
        code.file = file;
        code.function = name;
        image.add(code);
    }
    for (std::uint64_t id = 1; id <= depth; ++id) {
        trace::PythonFrame frame;
        frame.id = id;
        frame.parent = id - 1;
        frame.code = 1 + random() % codes;
        frame.entered = random() % 2;
        image.add(frame);
        trace::Frame native;
        native.id = id;
        native.parent = random() % 16 == 0 ? 0 : id - 1;
        native.address = 0x400000 + id * 16;
        native.python = random() % 2 == 0 ? id : 0;
        image.add(native);
        add_copy(image, id, id * test::ms);
    }
}

/// One code object with a long line table, and a frame at many of its instructions.
void add_line_table(TraceImage& image, Random& random) {
    add_copy_entry(image);
    std::string table(16'000, '\0');
    for (char& byte : table)
        byte = static_cast<char>(random() % 4 == 0 ? random() : 0x80 | random() % 8 << 3);
    trace::PythonCode code;
    code.id = 1;
    code.format = static_cast<trace::LineTable>(1 + random() % 3);
    code.file = "train.py";
    code.function = "step";
    code.lines = table;
    image.add(code);
    for (std::uint64_t i = 1 + random() % 4; i > 0; --i) {
        trace::PythonLines more;
        more.code = 1;
        more.offset = random() % 8 == 0 ? hostile_number(random) : i * table.size();
        more.lines = table;
        image.add(more);
    }
    const std::uint64_t frames = 100 + random() % 3000;
    for (std::uint64_t id = 1; id <= frames; ++id) {
        trace::PythonFrame frame;
        frame.id = id;
        frame.parent = random() % 4 == 0 ? 0 : id - 1;
        frame.code = 1;
        frame.instruction = random() % 100'000;
        image.add(frame);
        trace::Frame native;
        native.id = id;
        native.python = id;
        image.add(native);
        if (random() % 4 == 0)
            add_copy(image, id, id * test::ms);
    }
}

/// Sizes that no machine has.
TraceImage huge_allocations(Random& random) {
    constexpr std::uint64_t sizes[] = {8 * tib, 4096 * tib, ~std::uint64_t{0}, std::uint64_t{1} << 63, tib + 1};
    const std::uint64_t bytes = random() % 4 == 0 ? hostile_number(random) : sizes[random() % std::size(sizes)];
    TraceImage image(busy_program(bytes, "_Z5scalePfi").builder.bytes());
    trace::Alloc alloc;
    alloc.start = 9'000;
    alloc.allocation = trace::AllocationId{1 + random() % 12};
    alloc.address = random() % 2 == 0 ? 0 : hostile_number(random);
    alloc.bytes = bytes;
    alloc.memory = trace::Memory::managed;
    image.add(alloc);
    return image;
}

/// A long text, defined once and named by many short records.
void add_repeated_names(TraceImage& image, Random& random) {
    const std::string name = random() % 2 == 0 ? std::string(16'000, 'n') : hostile_text(random);
    trace::String text;
    text.id = 1;
    text.text = name;
    image.add(text);
    trace::Function function;
    function.id = 1;
    function.symbol = name;
    image.add(function);
    trace::LaunchShape shape;
    shape.shape = shape.function = 1;
    image.add(shape);
    HostileFiller filler(random, 95, 95);
    for (std::uint64_t count = 100 + random() % 4000; count > 0; --count)
        switch (random() % 4) {
        case 0: {
            trace::Range range;
            trace::Range::fields(range, filler);
            range.text = range.domain = 1;
            image.add(range);
            break;
        }
        case 1: {
            trace::Alloc alloc;
            trace::Alloc::fields(alloc, filler);
            alloc.symbol = 1;
            image.add(alloc);
            break;
        }
        case 2: {
            trace::GraphNode node;
            trace::GraphNode::fields(node, filler);
            image.add(node);
            break;
        }
        default: {
            trace::Launch launch;
            trace::Launch::fields(launch, filler);
            launch.shape = 1;
            image.add(launch);
        }
        }
}

Bytes contents(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// In the order of their names: the seed alone says what is tried.
std::vector<std::filesystem::path> files_of(const std::string& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_regular_file())
            paths.push_back(entry.path());
    std::ranges::sort(paths);
    return paths;
}

} // namespace

std::vector<TraceImage> starting_traces(const std::string& golden, const std::string& corpus) {
    std::vector<TraceImage> all;
    const auto take = [&](const Bytes& bytes) {
        if (std::optional<TraceImage> image = image_of(bytes)) // the corpus holds what is no trace, too
            all.push_back(std::move(*image));
    };
    test::TraceBuilder every = test::every_record();
    every.make_small();
    take(every.bytes());
    take(busy_program(8 * test::mib, "_Z5scalePfi").builder.bytes());
    for (const auto& path : files_of(golden))
        if (path.extension() == ".umtrace")
            take(contents(path));
    for (const auto& path : files_of(corpus))
        take(contents(path));
    return all;
}

TraceImage made_up_trace(Random& random) {
    switch (random() % 16) {
    case 0:
        return huge_allocations(random);
    case 1: {
        // Doubles as often as the file's longest name allows.
        const std::string symbol = doubling_symbol(static_cast<unsigned>(8 + random() % 24));
        return TraceImage(busy_program(8 * test::mib, symbol).builder.bytes());
    }
    case 2: {
        const std::string symbol = hostile_text(random);
        return TraceImage(busy_program(8 * test::mib, symbol).builder.bytes());
    }
    default:
        break;
    }
    TraceImage image;
    switch (random() % 8) {
    case 0:
        add_deep_stacks(image, random);
        break;
    case 1:
        add_line_table(image, random);
        break;
    case 2:
        add_repeated_names(image, random);
        break;
    default:
        break;
    }
    add_any_records(image, random);
    return image;
}

} // namespace umadvisor::fuzz
