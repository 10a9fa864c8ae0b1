#include "interposer/observe/graph_change.hpp"

#include "interposer/record/recorder.hpp"

#include <string_view>

namespace umadvisor::observe {

namespace {

constinit std::atomic<std::uint64_t> last_version{0};

struct Hash {
    std::uint64_t value = 0x9e3779b97f4a7c15u;
    void add(std::uint64_t word) noexcept {
        value = (value ^ word) * 0xff51afd7ed558ccdu;
        value ^= value >> 32;
    }
    template <class T>
    void number(std::string_view key, const T& word) noexcept {
        if (key != "version" && key != "base")
            add(static_cast<std::uint64_t>(word));
    }
    void numbers(std::string_view key, const auto& words) noexcept {
        if (key == "dependencies") // they never change
            return;
        add(words.count);
        for (const auto word : words)
            add(static_cast<std::uint64_t>(word));
    }
};

} // namespace

std::uint64_t next_graph_version() noexcept {
    return last_version.fetch_add(1, std::memory_order_relaxed) + 1;
}

void define_version(std::uint64_t version, std::uint64_t base, std::uint64_t nodes,
                    std::uint64_t omitted) noexcept {
    trace::GraphNode record;
    record.version = version;
    record.base = base;
    record.nodes = nodes;
    record.untold = omitted;
    record::define(record);
}

std::uint64_t hash_of(trace::GraphNode record) noexcept {
    record.untold_dependencies = 0;
    Hash hash;
    trace::GraphNode::fields(record, hash);
    return hash.value;
}

GraphChange::GraphChange(ExecGraph& exec) noexcept
    : exec_(exec), before_(exec.version), version_(before_), extends_(!exec.launched()) {}

/// Gives a record that differs its version, which the first one begins.
void GraphChange::assign_version(trace::GraphNode& record) noexcept {
    if (version_ == before_ && !extends_) {
        version_ = next_graph_version();
        define_version(version_, before_, exec_.count, 0);
    }
    record.version = version_;
    record.base = version_ == before_ ? exec_.base : before_;
}

void GraphChange::put(std::size_t at, GraphNodeRead& node) noexcept {
    KnownNode& known = exec_.nodes[at];
    node.record.node = at + 1;
    node.record.parent = known.parent;
    node.record.disabled = known.disabled;
    const std::uint64_t hash = hash_of(node.record);
    if (hash == known.hash)
        return;
    known.hash = hash;
    assign_version(node.record);
    node.record.dependencies.count = 0;
    node.record.untold_dependencies = 0;
    record::define(node.record);
    exec_.note_managed(node);
}

void GraphChange::enable(std::size_t at, bool enabled) noexcept {
    KnownNode& known = exec_.nodes[at];
    if (known.disabled == !enabled)
        return;
    known.disabled = !enabled;
    trace::GraphNode record;
    assign_version(record);
    record.node = at + 1;
    record.kind = trace::GraphNodeKind::toggle;
    record.disabled = known.disabled;
    record::define(record);
}

void GraphChange::finish() noexcept {
    if (version_ != before_) {
        exec_.version = version_;
        exec_.base = before_;
        exec_.publish();
    } else if (extends_) {
        exec_.publish();
    }
}

} // namespace umadvisor::observe
