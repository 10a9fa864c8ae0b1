#include "policy/trigger.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace umadvisor::policy {

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

constexpr std::string_view no_metric = "is no metric; the metrics are ";
constexpr std::string_view step_end = "NAME)";

constexpr std::size_t length_of_metrics() {
    std::size_t length = no_metric.size() + step_end.size() + 1;
    for (const Word& word : metrics)
        length += word.text.size() + 2;
    return length - 2;
}

/// "is no metric; the metrics are um.faults/s, ..., step.time(NAME)", ended by a zero.
constexpr auto name_metrics() {
    std::array<char, length_of_metrics()> text{};
    auto end = std::copy(no_metric.begin(), no_metric.end(), text.begin());
    for (const Word& word : metrics) {
        end = std::copy(word.text.begin(), word.text.end(), end);
        const std::string_view behind = word.metric == Metric::step ? step_end : ", ";
        end = std::copy(behind.begin(), behind.end(), end);
    }
    return text;
}
constexpr auto is_no_metric = name_metrics();

/// What to write instead of a text that is no number of the unit.
constexpr const char* is_no_number[] = {
    "is no number for it: a number such as 0.5 or 1000",
    "is no number of bytes: a number with a unit such as 1GiB",
    "is no time: a number with a unit such as 120ms or 5s",
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

// string_view::substr() would link exceptions of the C++ library.

std::string_view first(std::string_view text, std::size_t count) {
    return {text.data(), std::min(count, text.size())};
}

std::string_view after(std::string_view text, std::size_t count) {
    const std::size_t gone = std::min(count, text.size());
    return {text.data() + gone, text.size() - gone};
}

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

bool fail(Misread& misread, std::string_view part, const char* why) {
    misread = {part, why};
    return false;
}

/// What stands before an operator, or all of the text.
std::string_view before_order(std::string_view text) {
    return trim(first(text, text.find_first_of("<>=")));
}

bool parse_metric(std::string_view& text, Condition& to, Unit& unit, Misread& misread) {
    const std::string_view whole = text;
    for (const Word& word : metrics) {
        if (!take(text, word.text))
            continue;
        to.metric = word.metric;
        unit = word.unit;
        if (word.metric != Metric::step)
            return true;
        const std::size_t end = text.find(')');
        if (end == std::string_view::npos || end == 0 || end > Condition::most_name)
            return fail(misread, before_order(whole),
                        "needs the name of an NVTX range: step.time(NAME), at most 63 bytes");
        to.step = first(text, end);
        text = after(text, end + 1);
        return true;
    }
    return fail(misread, before_order(text), is_no_metric.data());
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

bool parse_limit(std::string_view text, Unit unit, double& to, Misread& misread) {
    return parse_quantity(text, unit, to) || fail(misread, text, is_no_number[static_cast<std::size_t>(unit)]);
}

bool parse_condition(std::string_view text, Condition& to, Misread& misread) {
    to = {};
    to.text = text;
    Unit unit{};
    if (!parse_metric(text, to, unit, misread))
        return false;
    const std::string_view metric(to.text.data(), static_cast<std::size_t>(text.data() - to.text.data()));
    text = trim(text);
    // "um.faults" is the beginning of "um.faults/second", too.
    if (!text.empty() && std::string_view("<>=").find(text.front()) == std::string_view::npos &&
        text.data() == metric.data() + metric.size())
        return fail(misread, before_order(to.text), is_no_metric.data());
    if (!parse_order(text, to.order))
        return fail(misread, text.empty() ? to.text : text,
                    "lacks an operator: one of > >= < <= follows the metric");
    const std::size_t span = text.find(" for ");
    double held = 0;
    if (span != std::string_view::npos && !parse_limit(trim(after(text, span + 5)), Unit::time, held, misread))
        return false;
    constexpr double longest = 86'400e9; // a day
    to.for_ns = static_cast<std::uint64_t>(std::min(held, longest));
    const std::string_view limit = trim(first(text, span));
    if (limit.empty())
        return fail(misread, to.text, "lacks a number behind its operator");
    return parse_limit(limit, unit, to.limit, misread);
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

bool parse(std::string_view text, Trigger& to, Misread& misread) noexcept {
    to.count = 0;
    if (text.empty()) // no condition is wanted
        return true;
    const std::string_view whole = text;
    while (!text.empty()) {
        const std::size_t end = text.find(';');
        const std::string_view one = trim(first(text, end));
        text = end == std::string_view::npos ? std::string_view() : after(text, end + 1);
        if (one.empty())
            continue;
        if (to.count == Trigger::most)
            return fail(misread, one, "is one condition too many: at most 8");
        if (!parse_condition(one, to.conditions[to.count], misread))
            return false;
        ++to.count;
    }
    return to.count != 0 || fail(misread, whole, "has no condition: METRIC > NUMBER");
}

} // namespace umadvisor::policy
