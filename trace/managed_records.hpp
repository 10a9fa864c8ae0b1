/// What programs tell the driver of managed memory beyond prefetch and advice. Since version 1.1.
#pragma once

#include "trace/event_records.hpp"

namespace umadvisor::trace {

/// What a range holds is of no more use (cuMemDiscardBatchAsync).
struct Discard : PlainCall {
    static constexpr Type type = Type::discard;
    static constexpr std::string_view name = "Discard";
    std::uint64_t address = 0, bytes = 0, allocation = 0;
    std::uint64_t stream = 0;
    std::uint64_t batch = 0; ///< as in Copy

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("allocation", r.allocation);
        v.number("stream", r.stream);
        v.number("batch", r.batch);
        v.number("status", r.status);
    }
};

/// Who may use managed memory: all, the host, one stream (cuStreamAttachMemAsync).
struct Attach : PlainCall {
    static constexpr Type type = Type::attach;
    static constexpr std::string_view name = "Attach";
    std::uint64_t address = 0, bytes = 0, allocation = 0; ///< 0 bytes: the whole allocation
    std::uint64_t stream = 0;
    std::uint64_t flags = 0; ///< CUmemAttach_flags

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("allocation", r.allocation);
        v.number("stream", r.stream);
        v.number("flags", r.flags);
        v.number("status", r.status);
    }
};

} // namespace umadvisor::trace
