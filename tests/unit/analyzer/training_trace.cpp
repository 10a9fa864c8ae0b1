/// Writes the trace of a training run that never was: training_trace EVENTS OUT PROGRAM LIBRARY...
///
/// Deep stacks as PyTorch has them: the driver's call from the first libraries, dispatch through the others,
/// and an extension, PROGRAM, that owns the lines. Addresses lie in functions that the files really have, so
/// that a report on it looks up what a report on a real run would. The same arguments give the same trace.
#include "trace_builder.hpp"

#include <cstdio>
#include <cstdlib>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <random>
#include <stdexcept>

using namespace umadvisor;

namespace {

constexpr std::uint64_t events_a_chunk = 2500, frames_a_chunk = 3000;
constexpr std::size_t stacks_made = 400, shapes_made = 60;
constexpr std::size_t interpreter_depth = 15, program_depth = 30, deepest = 70;

std::mt19937_64 random_numbers(20); // NOLINT: the same trace each time

std::uint64_t random_below(std::uint64_t bound) {
    return random_numbers() % bound;
}

struct Object {
    std::string path, build_id;
    std::uint64_t bias = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> functions; ///< address, bytes

    std::uint64_t return_address() const {
        const auto& [first, bytes] = functions[random_below(functions.size())];
        return bias + first + 1 + random_below(bytes - 1);
    }
};

const Dwfl_Callbacks callbacks{dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                               dwfl_offline_section_address, nullptr};

Object read_object(const std::string& path, std::uint64_t bias) {
    Object object{path, {}, bias, {}};
    Dwfl* const dwfl = dwfl_begin(&callbacks);
    Dwfl_Module* const module = dwfl_report_offline(dwfl, path.c_str(), path.c_str(), -1);
    dwfl_report_end(dwfl, nullptr, nullptr);
    GElf_Addr own_bias = 0;
    Elf* const elf = module == nullptr ? nullptr : dwfl_module_getelf(module, &own_bias);
    if (elf == nullptr)
        throw std::runtime_error(path + ": " + dwfl_errmsg(-1));
    const void* id = nullptr;
    if (const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id); bytes > 0)
        object.build_id.assign(static_cast<const char*>(id), static_cast<std::size_t>(bytes));
    for (int i = 1, count = dwfl_module_getsymtab(module); i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        if (dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr) != nullptr &&
            GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size > 16)
            object.functions.emplace_back(address - own_bias, symbol.st_size);
    }
    dwfl_end(dwfl);
    if (object.functions.empty())
        throw std::runtime_error(path + ": has no functions");
    return object;
}

/// Stacks that share their outer parts, as calls in loops do.
class Stacks {
public:
    Stacks(test::TraceBuilder& builder, const std::vector<Object>& objects)
        : builder_(builder), objects_(objects) {
        for (std::size_t i = 0; i < stacks_made; ++i)
            grow();
    }
    std::uint64_t any() const { return ids_[random_below(ids_.size())]; }

private:
    void grow() {
        // Begins like the stack before it, to a depth by chance.
        last_.resize(last_.empty() ? 0 : random_below(last_.size()));
        while (last_.size() < deepest) {
            const std::size_t object = object_at(last_.size());
            trace::Frame frame{.id = ++frames_,
                               .parent = last_.empty() ? 0 : last_.back(),
                               .address = objects_[object].return_address(),
                               .module = object + 1};
            if (frames_ % frames_a_chunk == 0)
                builder_.next_dictionary_chunk();
            builder_.add(frame);
            last_.push_back(frame.id);
        }
        ids_.push_back(last_.back());
    }

    /// Outermost the last library, the interpreter; then the program, called back by it now and then; then the
    /// others, the first the innermost.
    std::size_t object_at(std::size_t depth) const {
        const std::size_t interpreter = objects_.size() - 1;
        if (depth < interpreter_depth)
            return interpreter;
        if (depth < program_depth)
            return depth % 3 == 0 ? interpreter : 0;
        return interpreter - 1 - (depth - program_depth) * (interpreter - 1) / (deepest - program_depth);
    }

    test::TraceBuilder& builder_;
    const std::vector<Object>& objects_;
    std::uint64_t frames_ = 0;
    std::vector<std::uint64_t> last_, ids_;
};

class Run {
public:
    Run(test::TraceBuilder& builder, const Stacks& stacks) : builder_(builder), stacks_(stacks) {
        for (const char* symbol : {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
                                   "cuStreamSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuEventRecord"}) {
            builder_.add(trace::Entry{.id = ++entries_, .recorded = 1, .symbol = symbol});
        }
        for (std::uint64_t id = 1; id <= shapes_made; ++id) {
            const std::string symbol = "_ZN2at6native13kernel_number" + std::to_string(id) + "EPf";
            builder_.add(trace::Function{.id = id, .symbol = symbol});
        }
        for (std::uint64_t i = 0; i < shapes_made; ++i)
            shape_stacks_.push_back(stacks_.any());
    }

    std::uint64_t now() const { return now_; }

    void event(std::uint64_t number) {
        const std::uint32_t thread = 1 + static_cast<std::uint32_t>(number / 40'000 % 2); // forward, backward
        if (number % events_a_chunk == 0) {
            builder_.next_chunk(thread);
            for (std::uint64_t i = 0; i < shapes_made; ++i)
                define(thread, i);
        }
        const std::uint64_t kind = random_below(100);
        if (kind < 68)
            launch(thread);
        else if (kind < 76)
            copy(thread, kind < 74);
        else if (kind < 88)
            kind % 2 == 0 || live_.empty() ? allocate(thread) : free(thread);
        else if (kind < 94)
            synchronize(thread);
        else
            record_event(thread);
    }

private:
    template <class Record>
    void call(Record& record, std::uint64_t entry, std::uint64_t duration) {
        record.entry = entry;
        record.start = now_;
        record.duration = duration;
        record.stack = stacks_.any();
        now_ += duration + 500;
    }
    void define(std::uint32_t thread, std::uint64_t i) {
        trace::LaunchShape shape{.shape = i,
                                 .entry = 1,
                                 .function = i + 1,
                                 .stack = shape_stacks_[i],
                                 .grid_x = 100 + i,
                                 .block_x = 256};
        shape.grid_y = shape.grid_z = shape.block_y = shape.block_z = 1;
        builder_.add(shape, thread);
    }
    void launch(std::uint32_t thread) {
        trace::Launch launch{
            .shape = random_below(shapes_made), .start = now_, .duration = 2'300 + random_below(300)};
        now_ += launch.duration + 500;
        builder_.add(launch, thread);
    }
    void copy(std::uint32_t thread, bool up) {
        trace::Copy copy{.bytes = std::uint64_t{1} << (8 + random_below(16))};
        call(copy, up ? 2 : 3, 5'000 + copy.bytes / 10);
        copy.source_memory = up ? trace::Memory::pageable : trace::Memory::device;
        copy.destination_memory = up ? trace::Memory::device : trace::Memory::pageable;
        copy.asynchronous = 1;
        builder_.add(copy, thread);
    }
    void allocate(std::uint32_t thread) {
        trace::Alloc alloc;
        call(alloc, 5, 90'000);
        alloc.allocation = trace::AllocationId{++allocations_};
        alloc.bytes = 1 << (12 + random_below(12));
        alloc.address = 0x7000'0000'0000 + (allocations_ << 24);
        alloc.memory = trace::Memory::device;
        live_.push_back(allocations_);
        builder_.add(alloc, thread);
    }
    void free(std::uint32_t thread) {
        trace::Free record;
        call(record, 6, 30'000);
        std::swap(live_[random_below(live_.size())], live_.back());
        record.allocation = trace::AllocationId{live_.back()};
        live_.pop_back();
        builder_.add(record, thread);
    }
    void synchronize(std::uint32_t thread) {
        trace::Sync sync;
        call(sync, 4, 20'000 + random_below(80'000));
        sync.kind = trace::SyncKind::stream;
        builder_.add(sync, thread);
    }
    void record_event(std::uint32_t thread) {
        trace::Event event;
        call(event, 7, 900);
        event.action = trace::EventAction::record;
        builder_.add(event, thread);
    }

    test::TraceBuilder& builder_;
    const Stacks& stacks_;
    std::uint64_t now_ = 10'000, entries_ = 0, allocations_ = 0;
    std::vector<std::uint64_t> shape_stacks_, live_;
};

} // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: training_trace EVENTS OUT PROGRAM LIBRARY LIBRARY...\n");
        return 2;
    }
    try {
        test::TraceBuilder builder;
        builder.add(trace::Process{.executable = "/usr/bin/python3"});
        std::vector<Object> objects;
        for (int i = 3; i < argc; ++i) {
            objects.push_back(read_object(argv[i], 0x7f00'0000'0000 + (static_cast<std::uint64_t>(i) << 32)));
            trace::Module module{.id = objects.size(),
                                 .bias = objects.back().bias,
                                 .path = objects.back().path,
                                 .build_id = objects.back().build_id};
            builder.add(module);
        }
        const Stacks stacks(builder, objects);
        Run run(builder, stacks);
        const std::uint64_t events = std::strtoull(argv[1], nullptr, 10);
        for (std::uint64_t i = 0; i < events; ++i)
            run.event(i);
        builder.last = {run.now(), run.now()};
        builder.write(argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "training_trace: %s\n", error.what());
        return 1;
    }
    return 0;
}
