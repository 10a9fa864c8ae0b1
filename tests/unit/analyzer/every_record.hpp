/// A trace that holds every record type, each field with a value of its own.
#pragma once

#include "trace_builder.hpp"

#include <string>
#include <type_traits>

namespace umadvisor::test {

/// Calls `v.template operator()<R>()` for each record type of the format.
template <class Visitor>
void for_each_record_type(Visitor&& v) {
    for (int type = 0; type < 256; ++type)
        trace::visit_type(static_cast<trace::Type>(type), v);
}

/// Gives fields distinct values that grow from record to record.
struct FieldFiller {
    std::uint64_t next;
    template <class T>
    void number(std::string_view, T& value) {
        if constexpr (trace::is_enumeration<T>)
            value = static_cast<T>(1);
        else
            value = static_cast<T>(next++);
    }
    void time(std::string_view, std::uint64_t& value) { value = 1000 + next++ * 1000; }
    void address(std::string_view, std::uint64_t& value) { value = 0x7f00'0000'0000 + next++ * 4096; }
    template <class T>
    void handle(std::string_view, T& value) {
        value = static_cast<T>(0x5500'0000'0000 + next++ * 16);
    }
    void text(std::string_view key, std::string_view& value);
    template <std::size_t N, class T>
    void numbers(std::string_view, trace::Numbers<N, T>& value) {
        value.add(static_cast<T>(next++));
        value.add(static_cast<T>(next++));
    }
};

/// One of each, on two threads.
TraceBuilder every_record();

} // namespace umadvisor::test
