#include "interposer/runtime/options.hpp"

#include "interposer/base/text.hpp"
#include "interposer/runtime/message.hpp"
#include "policy/trigger.hpp"
#include "trace/size_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <unistd.h>

extern char** environ;

namespace umadvisor::runtime {

namespace {

constexpr std::string_view prefix = "UMADVISOR_";

constexpr std::string_view names[] = {
#define OPTION(name, type, member, default_value, help) #name,
#include "interposer/runtime/options.def"
};

Options current;
constexpr std::size_t path_bytes = 4096; ///< its zero included

/// A part of the run was wanted, but which is not understood: then the process is in standby, since a trace of
/// all of it was not.
bool part_is_unknown = false;

bool chooses_a_part(std::string_view option) {
    return option == "RING" || option == "WHEN";
}

bool parse_number(std::string_view text, std::uint64_t& value) {
    if (text.empty() || text.size() > 19)
        return false;
    value = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9')
            return false;
        value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return true;
}

/// The words of an option, in the order of its enumeration.
template <class Enumeration>
constexpr int words = 0;
template <>
constexpr auto words<Mode> = std::to_array<std::string_view>({"record", "standby"});
template <>
constexpr auto words<ManagedWitness> = std::to_array<std::string_view>({"auto", "queue", "pagemap", "off",
                                                                        "cupti"});
template <>
constexpr auto words<ManagedDetailOption> = std::to_array<std::string_view>({"auto", "light", "faults",
                                                                             "full"});
template <>
constexpr auto words<Hashing> = std::to_array<std::string_view>({"sample", "full", "off", "auto"});
template <>
constexpr auto words<DeviceTiming> = std::to_array<std::string_view>({"0", "1", "auto"});
template <>
constexpr auto words<LaunchDetail> = std::to_array<std::string_view>({"full", "brief", "auto"});

// One for each type of options.def: sets the member. False when the value cannot be understood; the default
// stays then.

/// The member is a copy of the text; empty where that is too long.
template <auto member>
bool parse_path(std::string_view text, Options& to) {
    static char kept[path_bytes];
    const std::size_t length = text.size() < sizeof kept ? text.size() : 0;
    std::memcpy(kept, text.data(), length);
    kept[length] = '\0';
    to.*member = kept;
    return length == text.size();
}

/// The member is a copy of the text; empty where that is not understood.
template <auto member>
bool parse_condition(std::string_view text, Options& to) {
    policy::Trigger read;
    policy::Misread misread; // named by warn_of_options()
    const bool known = policy::parse(text, read, misread);
    return parse_path<member>(known ? text : std::string_view(), to) && known;
}

template <auto member>
bool parse_number(std::string_view text, Options& to) {
    return parse_number(text, to.*member);
}

template <auto member>
bool parse_flag(std::string_view text, Options& to) {
    if (text != "0" && text != "1")
        return false;
    to.*member = text == "1";
    return true;
}

template <auto member>
bool parse_frames(std::string_view text, Options& to) {
    std::uint64_t number = 0;
    if (text != "off" && (!parse_number(text, number) || number > 256))
        return false;
    to.*member = static_cast<int>(number);
    return true;
}

template <auto member>
bool parse_word(std::string_view text, Options& to) {
    using Enumeration = std::remove_reference_t<decltype(to.*member)>;
    constexpr auto& all = words<Enumeration>;
    const auto* const word = std::find(all.begin(), all.end(), text);
    if (word == all.end())
        return false;
    to.*member = static_cast<Enumeration>(word - all.begin());
    return true;
}

template <auto member>
bool parse_size(std::string_view text, Options& to) {
    return trace::parse_size(text, to.*member);
}

/// 2, 0.5, 1.25; down to nanoseconds.
template <auto member>
bool parse_seconds(std::string_view text, Options& to) {
    const std::size_t point = text.find('.');
    const std::string_view fraction = point == std::string_view::npos ? "0" : base::after(text, point + 1);
    std::uint64_t whole = 0, part = 0;
    if (!parse_number(base::first(text, point), whole) || whole > 1'000'000'000 || fraction.size() > 9 ||
        !parse_number(fraction, part))
        return false;
    for (std::size_t digits = fraction.size(); digits < 9; ++digits)
        part *= 10;
    to.*member = whole * 1'000'000'000 + part;
    return true;
}

/// Seconds with their unit, or bytes.
template <auto member>
bool parse_ring(std::string_view text, Options& to) {
    constexpr std::uint64_t least_bytes = 4 << 20; // an eighth of it is a few chunks
    Options read;
    if (text.ends_with('s') && parse_seconds<&Options::delay_ns>(base::first(text, text.size() - 1), read))
        to.*member = {.bytes = 0, .ns = read.delay_ns};
    else if (trace::parse_size(text, read.max_bytes) && (read.max_bytes == 0 || read.max_bytes >= least_bytes))
        to.*member = {.bytes = read.max_bytes, .ns = 0};
    else
        return false;
    return true;
}

template <auto>
bool parse_list(std::string_view text, Options& to) {
    return parse_actions(text, to);
}

bool set(std::string_view option, std::string_view value, Options& to) {
#define OPTION(name, type, member, default_value, help)                                                        \
    if (option == #name)                                                                                       \
        return parse_##type<&Options::member>(value, to);
#include "interposer/runtime/options.def"
    return false;
}

/// False if the mode was asked for in another form.
bool ask(Asked& mode, std::string_view word, std::uint64_t size) {
    const bool again = !mode.word.empty();
    if (again && (mode.word != word || mode.size != size))
        return false;
    mode = {word, size, again};
    return true;
}

bool parse_action(std::string_view text, Options& to) {
    constexpr std::string_view plan = "plan=";
    if (text.starts_with(plan))
        return parse_path<&Options::act_plan>(base::after(text, plan.size()), to) && to.act_plan[0] != '\0';
    const bool automatic = text == "auto";
    to.act_auto = to.act_auto || automatic;
    bool known = automatic;
    for (std::size_t i = 0; i < trace::act_mode_count; ++i) {
        const trace::ActModeText& mode = trace::act_modes[i];
        std::uint64_t size = 0;
        const std::string_view word =
            automatic && mode.automatic ? mode.words : trace::act_word(text, mode.words, size);
        if (word.empty())
            continue;
        if (!ask(to.act[i], word, size))
            return false;
        known = true;
    }
    return known;
}

void warn_of_unknown_part(std::string_view name, std::string_view value) {
    policy::Trigger read;
    policy::Misread misread{value, "is no duration such as 60s, and no size of at least 4MiB"};
    if (name == "WHEN")
        policy::parse(value, read, misread);
    say("UMADVISOR_%.*s is not understood: %.*s %s%s", static_cast<int>(name.size()), name.data(),
        static_cast<int>(std::min<std::size_t>(misread.part.size(), 200)), misread.part.data(), misread.why,
        options().mode == Mode::standby ? "; the process is in standby until umadvisor attach records it" : "");
}

} // namespace

bool parse_actions(std::string_view text, Options& to) noexcept {
    Options read = to;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view word = base::first(text, comma);
        if (!word.empty() && !parse_action(word, read))
            return false;
        text = comma == std::string_view::npos ? std::string_view() : base::after(text, comma + 1);
    }
    to = read;
    return true;
}

void for_each_setting(void (*visit)(std::string_view name, std::string_view value)) noexcept {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (text.starts_with(prefix) && equals != std::string_view::npos)
            visit(base::first(base::after(text, prefix.size()), equals - prefix.size()),
                  base::after(text, equals + 1));
    }
}

void read_options() noexcept {
    current = Options{};
    part_is_unknown = false;
#define OPTION(name, type, member, default_value, help) set(#name, default_value, current);
#include "interposer/runtime/options.def"
    // The environment of a set-user-ID program cannot be trusted (secure_getenv(3)); the loader refuses most
    // preloads there anyway.
    if (getuid() == geteuid() && getgid() == getegid())
        for_each_setting([](std::string_view name, std::string_view value) {
            if (!set(name, value, current) && chooses_a_part(name))
                part_is_unknown = true;
        });
    if (current.ring.any())
        current.mode = Mode::record;
    else if (current.when[0] != '\0' || part_is_unknown)
        current.mode = Mode::standby;
    if (current.hashing == Hashing::automatic)
        current.hashing = current.acts() ? Hashing::off : Hashing::sample;
    if (current.managed_detail == ManagedDetailOption::by_traffic && current.acts())
        current.managed_detail = ManagedDetailOption::light;
    if (current.device_timing == DeviceTiming::automatic)
        current.device_timing = current.acts() ? DeviceTiming::off : DeviceTiming::on;
    if (current.launches == LaunchDetail::automatic && (!current.acts() || current.acts_on_launches()))
        current.launches = LaunchDetail::full;
}

void warn_of_options() noexcept {
    for_each_setting([](std::string_view name, std::string_view value) {
        bool known = name == "EDITOR"; // of umadvisor's page
        for (const std::string_view each : names)
            known = known || each == name;
        const int length = static_cast<int>(name.size());
        Options ignored;
        if (!known)
            say("UMADVISOR_%.*s is no setting of umadvisor; `umadvisor help env` lists them", length,
                name.data());
        else if (name == "OUTPUT" && value.size() >= path_bytes)
            say("UMADVISOR_OUTPUT is longer than %zu bytes; the trace is written to the working directory",
                path_bytes - 1);
        else if (chooses_a_part(name) && !set(name, value, ignored))
            warn_of_unknown_part(name, value);
        else if (name != "OUTPUT" && name != "RUN" && name != "EDITOR" && !set(name, value, ignored))
            say("UMADVISOR_%.*s=%.*s is not understood and ignored; see `umadvisor help env`", length,
                name.data(), static_cast<int>(value.size()), value.data());
    });
}

const Options& options() noexcept {
    return current;
}

} // namespace umadvisor::runtime
