#include "interposer/control/trigger.hpp"

#include "interposer/base/text.hpp"

namespace umadvisor::control {

namespace {

/// What a number of a metric may have behind it.
enum class Unit : std::uint8_t { none, bytes, time };

struct Word {
    std::string_view text;
    Metric metric;
    Unit unit = Unit::none;
};
constexpr Word metrics[] = {
    {"um.faults/s", Metric::faults},
    {"um.bytes/s", Metric::moved, Unit::bytes},
    {"um.thrash/s", Metric::thrashing},
    {"copy.h2d.bytes/s", Metric::host_to_device, Unit::bytes},
    {"copy.d2h.bytes/s", Metric::device_to_host, Unit::bytes},
    {"copy.pageable.bytes/s", Metric::pageable, Unit::bytes},
    {"waits.share", Metric::waits},
    {"launches/s", Metric::launches},
    {"mem.device", Metric::device_bytes, Unit::bytes},
    {"mem.managed", Metric::managed_bytes, Unit::bytes},
    {"mem.pinned", Metric::pinned_bytes, Unit::bytes},
    {"alloc.refused", Metric::refused},
    {"step.time(", Metric::step, Unit::time}, // the name and ) follow
};

struct Scale {
    std::string_view suffix;
    Unit of;
    double factor;
};
constexpr Scale scales[] = {
    {"KiB", Unit::bytes, 1024.0},
    {"MiB", Unit::bytes, 1024.0 * 1024},
    {"GiB", Unit::bytes, 1024.0 * 1024 * 1024},
    {"K", Unit::bytes, 1024.0},
    {"M", Unit::bytes, 1024.0 * 1024},
    {"G", Unit::bytes, 1024.0 * 1024 * 1024},
    {"us", Unit::time, 1e3},
    {"ms", Unit::time, 1e6},
    {"s", Unit::time, 1e9},
};

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

/// Digits, with a fraction if wanted. strtod(3) would go by the program's locale.
bool parse_number(std::string_view text, double& value) {
    value = 0;
    double place = 0;
    bool any = false;
    for (const char c : text) {
        if (c == '.' && place == 0) {
            place = 1;
        } else if (c >= '0' && c <= '9') {
            any = true;
            value = value * 10 + (c - '0');
            place *= 10;
        } else {
            return false;
        }
    }
    if (place > 1)
        value /= place;
    return any && text.back() != '.' && text.size() <= 20;
}

/// A time needs its unit.
bool parse_quantity(std::string_view text, Unit unit, double& value) {
    for (const Scale& scale : scales)
        if (scale.of == unit && text.ends_with(scale.suffix)) {
            text.remove_suffix(scale.suffix.size());
            if (!parse_number(trim(text), value))
                return false;
            value *= scale.factor;
            return true;
        }
    return unit != Unit::time && parse_number(text, value);
}

bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word))
        return false;
    text.remove_prefix(word.size());
    return true;
}

bool parse_metric(std::string_view& text, Condition& to, Unit& unit) {
    for (const Word& word : metrics) {
        if (!take(text, word.text))
            continue;
        to.metric = word.metric;
        unit = word.unit;
        if (word.metric != Metric::step)
            return true;
        const std::size_t end = text.find(')');
        if (end == std::string_view::npos || end == 0 || end > Condition::most_name)
            return false;
        to.step = base::first(text, end);
        text.remove_prefix(end + 1);
        return true;
    }
    return false;
}

bool parse_order(std::string_view& text, Order& to) {
    if (take(text, ">="))
        to = Order::at_least;
    else if (take(text, "<="))
        to = Order::at_most;
    else if (take(text, ">"))
        to = Order::more;
    else if (take(text, "<"))
        to = Order::less;
    else
        return false;
    return true;
}

bool parse_condition(std::string_view text, Condition& to) {
    to = {};
    to.text = text;
    Unit unit{};
    if (!parse_metric(text, to, unit))
        return false;
    text = trim(text);
    if (!parse_order(text, to.order))
        return false;
    const std::size_t span = text.find(" for ");
    double held = 0;
    if (span != std::string_view::npos && !parse_quantity(trim(base::after(text, span + 5)), Unit::time, held))
        return false;
    constexpr double longest = 86'400e9; // a day
    to.for_ns = static_cast<std::uint64_t>(held < longest ? held : longest);
    return parse_quantity(trim(base::first(text, span)), unit, to.limit);
}

} // namespace

bool Condition::holds_for(double value) const noexcept {
    switch (order) {
    case Order::more:
        return value > limit;
    case Order::at_least:
        return value >= limit;
    case Order::less:
        return value < limit;
    case Order::at_most:
        break;
    }
    return value <= limit;
}

bool Condition::needs_calls() const noexcept {
    switch (metric) {
    case Metric::device_bytes:
    case Metric::managed_bytes:
    case Metric::pinned_bytes:
    case Metric::refused:
        return false;
    default:
        return true;
    }
}

bool Trigger::needs_calls() const noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (conditions[i].needs_calls())
            return true;
    return false;
}

bool parse(std::string_view text, Trigger& to) noexcept {
    to.count = 0;
    if (text.empty()) // no condition is wanted
        return true;
    while (!text.empty()) {
        const std::size_t end = text.find(';');
        const std::string_view one = trim(base::first(text, end));
        text = end == std::string_view::npos ? std::string_view() : base::after(text, end + 1);
        if (one.empty())
            continue;
        if (to.count == Trigger::most || !parse_condition(one, to.conditions[to.count]))
            return false;
        ++to.count;
    }
    return to.count != 0;
}

} // namespace umadvisor::control
