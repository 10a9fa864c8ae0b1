/// What events refer to by number: the records of dictionary chunks, valid in the whole file.
#pragma once

#include "trace/types.hpp"

namespace umadvisor::trace {

/// Number and exported symbol of a driver entry point; also the slot of its call counter. `recorded` is 0 where
/// calls are only counted.
struct Entry {
    static constexpr Type type = Type::entry;
    static constexpr std::string_view name = "Entry";
    std::uint64_t id = 0, recorded = 0;
    std::string_view symbol;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("recorded", r.recorded);
        v.text("symbol", r.symbol);
    }
};

struct String {
    static constexpr Type type = Type::string;
    static constexpr std::string_view name = "String";
    std::uint64_t id = 0;
    std::string_view text;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.text("text", r.text);
    }
};

struct Process {
    static constexpr Type type = Type::process;
    static constexpr std::string_view name = "Process";
    std::uint64_t pid = 0, parent = 0;
    std::string_view executable, command_line, directory, host, rank; ///< command_line: NUL between arguments
    std::uint64_t lock_limit = 0;   ///< RLIMIT_MEMLOCK at the start, bytes plus 1; 0: none, or not known
    std::uint64_t memory_limit = 0; ///< of the process's control groups, the same
    std::string_view recorder;      ///< version of umadvisor, "1.0.0"; empty: 1.0.0 or older

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("pid", r.pid);
        v.number("parent", r.parent);
        v.text("executable", r.executable);
        v.text("command_line", r.command_line);
        v.text("directory", r.directory);
        v.text("host", r.host);
        v.text("rank", r.rank);
        v.number("lock_limit", r.lock_limit);
        v.number("memory_limit", r.memory_limit);
        v.text("recorder", r.recorder);
    }
};

struct Thread {
    static constexpr Type type = Type::thread;
    static constexpr std::string_view name = "Thread";
    std::uint64_t id = 0;
    std::string_view thread_name;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.text("thread_name", r.thread_name);
    }
};

struct Device {
    static constexpr Type type = Type::device;
    static constexpr std::string_view name = "Device";
    std::uint64_t ordinal = 0, memory_bytes = 0, compute_major = 0, compute_minor = 0;
    std::uint64_t managed_memory = 0, concurrent_managed_access = 0, pageable_memory_access = 0,
                  copy_engines = 0;
    std::string_view device_name;
    std::uint64_t node = 0;            ///< NUMA node of the host that is nearest, plus 1; 0: not known
    std::uint64_t addressing_told = 0; ///< 1: the fields below say what the driver answers
    std::uint64_t integrated = 0, pageable_uses_host_page_tables = 0, direct_managed_access_from_host = 0;
    std::uint64_t numa_config = 0; ///< CUdeviceNumaConfig, plus 1; 0: the driver does not know it
    std::uint64_t memory_node = 0; ///< NUMA node that the device's memory is, plus 1; 0: it is none

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("ordinal", r.ordinal);
        v.number("memory_bytes", r.memory_bytes);
        v.number("compute_major", r.compute_major);
        v.number("compute_minor", r.compute_minor);
        v.number("managed_memory", r.managed_memory);
        v.number("concurrent_managed_access", r.concurrent_managed_access);
        v.number("pageable_memory_access", r.pageable_memory_access);
        v.number("copy_engines", r.copy_engines);
        v.text("device_name", r.device_name);
        v.number("node", r.node);
        v.number("addressing_told", r.addressing_told);
        v.number("integrated", r.integrated);
        v.number("pageable_uses_host_page_tables", r.pageable_uses_host_page_tables);
        v.number("direct_managed_access_from_host", r.direct_managed_access_from_host);
        v.number("numa_config", r.numa_config);
        v.number("memory_node", r.memory_node);
    }
};

/// What the driver says of two devices between which the program copies. Since 1.1.
struct PeerLink {
    static constexpr Type type = Type::peer_link;
    static constexpr std::string_view name = "PeerLink";
    std::uint64_t device = 0, peer = 0; ///< ordinals
    std::uint64_t access = 0;           ///< 1: each could be given access to the other's memory
    std::uint64_t native_atomics = 0;   ///< 1: atomics go over the link between them, as over NVLink

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("device", r.device);
        v.number("peer", r.peer);
        v.number("access", r.access);
        v.number("native_atomics", r.native_atomics);
    }
};

struct Driver {
    static constexpr Type type = Type::driver;
    static constexpr std::string_view name = "Driver";
    std::uint64_t version = 0; ///< cuDriverGetVersion: 1000 x major + 10 x minor of CUDA
    std::string_view path;
    std::uint64_t simulated = 0;           ///< 1: simcuda
    std::string_view release;              ///< of the kernel modules, "580.159.04"; empty: not known
    std::string_view coherent_memory_mode; ///< CoherentGPUMemoryMode of /proc/driver/nvidia/params
    std::uint64_t hmm_disabled = 0;        ///< the unified-memory module's parameter, plus 1; 0: not known

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("version", r.version);
        v.text("path", r.path);
        v.number("simulated", r.simulated);
        v.text("release", r.release);
        v.text("coherent_memory_mode", r.coherent_memory_mode);
        v.number("hmm_disabled", r.hmm_disabled);
    }
};

/// What moving memory costs on the machine of the run, as `umadvisor calibrate` measured it. Since 1.1.
struct MachineRates {
    static constexpr Type type = Type::machine_rates;
    static constexpr std::string_view name = "MachineRates";
    std::string_view rates; ///< JSON: one object of schema umadvisor-machine-1

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.text("rates", r.rates);
    }
};

/// A setting that differs from its default; PLAN: the modes that a plan has switched on.
struct Option {
    static constexpr Type type = Type::option;
    static constexpr std::string_view name = "Option";
    std::string_view option, value;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.text("option", r.option);
        v.text("value", r.value);
    }
};

/// A loaded object of the process: an address `a` in [first, last) has the file's virtual address `a - bias`.
struct Module {
    static constexpr Type type = Type::module;
    static constexpr std::string_view name = "Module";
    std::uint64_t id = 0, bias = 0, first = 0, last = 0;
    std::uint64_t loaded = 0;        ///< ticks at which it was first seen
    std::string_view path, build_id; ///< build_id: raw bytes

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("bias", r.bias);
        v.number("first", r.first);
        v.number("last", r.last);
        v.number("loaded", r.loaded);
        v.text("path", r.path);
        v.text("build_id", r.build_id);
    }
};

/// One edge of the stack tree: a stack is the id of its innermost frame.
struct Frame {
    static constexpr Type type = Type::frame;
    static constexpr std::string_view name = "Frame";
    std::uint64_t id = 0, parent = 0; ///< parent 0: outermost
    std::uint64_t address = 0;        ///< return address; the call stands before it
    std::uint64_t module = 0;         ///< Module record that holds it; 0: none
    std::uint64_t python = 0; ///< not 0: no frame, but the stack `parent` with that PythonFrame innermost
    std::uint64_t key = 0;    ///< of the stack: the same in each run of the same files; 0: none

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("parent", r.parent);
        v.address("address", r.address);
        v.number("module", r.module);
        v.number("python", r.python);
        v.number("key", r.key);
    }
};

/// A kernel.
struct Function {
    static constexpr Type type = Type::function;
    static constexpr std::string_view name = "Function";
    std::uint64_t id = 0, handle = 0;
    std::uint64_t parameters = 0, parameter_bytes = 0; ///< 0 and 0 also where the driver does not report them
    std::string_view symbol;                           ///< mangled; empty where the driver does not report it

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("handle", r.handle);
        v.number("parameters", r.parameters);
        v.number("parameter_bytes", r.parameter_bytes);
        v.text("symbol", r.symbol);
    }
};

/// What the pageable host memory of a copy is.
struct HostRange {
    static constexpr Type type = Type::host_range;
    static constexpr std::string_view name = "HostRange";
    std::uint64_t id = 0, first = 0, last = 0;
    HostRangeKind kind{};
    std::string_view path; ///< of a file mapping, or the kernel's name for it

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("first", r.first);
        v.number("last", r.last);
        v.number("kind", r.kind);
        v.text("path", r.path);
    }
};

/// An address was handed out by the driver that equals no entry point we know: calls through it are not seen.
struct UnknownLookup {
    static constexpr Type type = Type::unknown_lookup;
    static constexpr std::string_view name = "UnknownLookup";
    std::string_view symbol;
    std::uint64_t version = 0, flags = 0;
    std::string_view object; ///< since 1.1: the object that was bound past us to a symbol that we do know

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.text("symbol", r.symbol);
        v.number("version", r.version);
        v.number("flags", r.flags);
        v.text("object", r.object);
    }
};

/// The program uses the CUDA runtime, so reports call its functions by the runtime's names.
struct Runtime {
    static constexpr Type type = Type::runtime;
    static constexpr std::string_view name = "Runtime";
    std::string_view object; ///< file that holds the runtime
    /// Since 1.1: the greatest version of CUDA whose form of a function was asked for by cuGetProcAddress, 1000
    /// x major + 10 x minor. It has the major number of the toolkit that the runtime is of. 0: nothing was
    /// asked for.
    std::uint64_t asked = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.text("object", r.object);
        v.number("asked", r.asked);
    }
};

/// Why there is this recording of a program that has several, or of which only a part is kept. Since 1.1.
struct Recording {
    static constexpr Type type = Type::recording;
    static constexpr std::string_view name = "Recording";
    PauseCause cause{};
    std::uint64_t number = 0; ///< of the process's recordings, from 1
    std::uint64_t age_ns = 0; ///< since the program entered CUDA
    std::string_view why;     ///< the condition that held; of a copy of a ring, what happened

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("cause", r.cause);
        v.number("number", r.number);
        v.number("age_ns", r.age_ns);
        v.text("why", r.why);
    }
};

/// Something the report must say: an action refused, a source that is off.
struct Notice {
    static constexpr Type type = Type::notice;
    static constexpr std::string_view name = "Notice";
    std::uint64_t time = 0; ///< ticks
    std::string_view text;
    AllocationId allocation{}; ///< of the memory that it is about, if any
    std::uint64_t stack = 0;   ///< of the call that it is about; 0: of none

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("time", r.time);
        v.text("text", r.text);
        v.number("allocation", r.allocation);
        v.number("stack", r.stack);
    }
};

} // namespace umadvisor::trace
