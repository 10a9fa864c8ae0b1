/// Works any record through its field list: fills it with values, takes its values out.
#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace umadvisor::trace {

enum class Filling { zero, greatest, random };

/// Gives every field of a record a value. Texts live as long as the filler.
class Filler {
public:
    explicit Filler(Filling filling, std::uint64_t seed = 1) : filling_(filling), random_(seed) {}

    template <class T>
    void number(std::string_view, T& value) {
        if constexpr (is_enumeration<T>)
            value = static_cast<T>(next() & 0xff);
        else
            value = static_cast<T>(next());
    }
    void time(std::string_view, std::uint64_t& value) { value = next(); }
    void address(std::string_view, std::uint64_t& value) { value = next(); }
    template <class T>
    void handle(std::string_view, T& value) {
        value = static_cast<T>(next());
    }
    void text(std::string_view, std::string_view& value) {
        const std::size_t bytes = filling_ == Filling::zero       ? 0
                                  : filling_ == Filling::greatest ? max_text
                                                                  : next() % 200;
        value = texts_.emplace_back(bytes, static_cast<char>(next()));
    }
    template <std::size_t N, class T>
    void numbers(std::string_view, Numbers<N, T>& values) {
        values.count = 0;
        for (std::size_t i = filling_ == Filling::zero       ? 0
                             : filling_ == Filling::greatest ? N
                                                             : next() % (N + 1);
             i > 0; --i)
            values.add(static_cast<T>(next()));
    }

private:
    /// Random numbers of all magnitudes: every varint length occurs.
    std::uint64_t next() {
        switch (filling_) {
        case Filling::zero:
            return 0;
        case Filling::greatest:
            return ~std::uint64_t{0};
        case Filling::random:
            break;
        }
        return random_() >> (random_() % 64);
    }

    Filling filling_;
    std::mt19937_64 random_;
    std::deque<std::string> texts_;
};

using Value = std::variant<std::uint64_t, std::string, std::vector<std::uint64_t>>;

struct Reading {
    std::vector<Value> values;

    template <class T>
    void number(std::string_view, const T& value) {
        values.emplace_back(static_cast<std::uint64_t>(value));
    }
    void time(std::string_view, const std::uint64_t& value) { values.emplace_back(value); }
    void address(std::string_view, const std::uint64_t& value) { values.emplace_back(value); }
    void handle(std::string_view key, const auto& value) { number(key, value); }
    void text(std::string_view, const std::string_view& value) { values.emplace_back(std::string(value)); }
    void numbers(std::string_view, const auto& list) {
        std::vector<std::uint64_t> numbers;
        for (const auto each : list)
            numbers.push_back(static_cast<std::uint64_t>(each));
        values.emplace_back(std::move(numbers));
    }
};

/// The values of all fields, in file order.
template <class Record>
std::vector<Value> values_of(const Record& record) {
    Reading reading;
    Record::fields(record, reading);
    return reading.values;
}

/// Calls `v.template operator()<Record>()` for every record type.
template <class Visitor>
int visit_every_type(Visitor&& v) {
    int types = 0;
    for (int type = 0; type < 256; ++type)
        types += visit_type(static_cast<Type>(type), v);
    return types;
}

} // namespace umadvisor::trace
