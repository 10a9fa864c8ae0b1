#include "interposer/runtime/options.hpp"

#include "interposer/base/text.hpp"
#include "interposer/runtime/message.hpp"
#include "trace/size_text.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <unistd.h>

extern char** environ;

namespace umadvisor::runtime {

namespace {

constexpr std::string_view prefix = "UMADVISOR_";
constexpr std::string_view plan_prefix = "plan="; ///< of an action

constexpr std::string_view names[] = {
#define OPTION(name, type, default_value, help) #name,
#include "interposer/runtime/options.def"
};

Options current;
char output_path[4096], run_path[4096], plan_path[4096];

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

/// 2, 0.5, 1.25; down to nanoseconds.
bool parse_seconds(std::string_view text, std::uint64_t& nanoseconds) {
    const std::size_t point = text.find('.');
    const std::string_view fraction = point == std::string_view::npos ? "0" : base::after(text, point + 1);
    std::uint64_t whole = 0, part = 0;
    if (!parse_number(base::first(text, point), whole) || whole > 1'000'000'000 || fraction.size() > 9 ||
        !parse_number(fraction, part))
        return false;
    for (std::size_t digits = fraction.size(); digits < 9; ++digits)
        part *= 10;
    nanoseconds = whole * 1'000'000'000 + part;
    return true;
}

bool parse_flag(std::string_view text, bool& value) {
    if (text != "0" && text != "1")
        return false;
    value = text == "1";
    return true;
}

/// `words` in the order of the enumeration.
template <class Enumeration>
bool parse_word(std::string_view text, std::initializer_list<std::string_view> words, Enumeration& value) {
    std::uint8_t number = 0;
    for (const std::string_view word : words) {
        if (word == text) {
            value = static_cast<Enumeration>(number);
            return true;
        }
        ++number;
    }
    return false;
}

/// all, spill or SIZE+. Said twice, the same: it is meant.
bool parse_rewrite(std::string_view what, Options& to) {
    const bool spill = what == "spill";
    const Rewriting kind = spill ? Rewriting::spill : Rewriting::from_size;
    std::uint64_t least = 0;
    if (!spill && what != "all" &&
        (!what.ends_with('+') || !trace::parse_size(base::first(what, what.size() - 1), least)))
        return false;
    if (to.act_rewrite != Rewriting::none && (to.act_rewrite != kind || to.rewrite_least != least))
        return false;
    to.rewrite_asked_twice = to.act_rewrite != Rewriting::none;
    to.act_rewrite = kind;
    to.rewrite_least = least;
    return true;
}

/// A copy that ends in a zero; empty where it does not fit.
template <std::size_t N>
const char* keep(std::string_view text, char (&to)[N]) {
    const std::size_t length = text.size() < N ? text.size() : 0;
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
    return to;
}

bool parse_frames(std::string_view text, int& frames) {
    std::uint64_t number = 0;
    if (text == "off")
        frames = 0;
    else if (parse_number(text, number) && number <= 256)
        frames = static_cast<int>(number);
    else
        return false;
    return true;
}

/// Sets one option. False when the value cannot be understood; the default stays then.
bool set(std::string_view name, std::string_view value, Options& to) {
    if (name == "OUTPUT") {
        if (value.size() >= sizeof output_path)
            return false;
        to.output = keep(value, output_path);
        return true;
    }
    if (name == "RUN") {
        to.run = keep(value, run_path);
        return true;
    }
    if (name == "FORCE")
        return parse_flag(value, to.force);
    if (name == "QUIET")
        return parse_flag(value, to.quiet);
    if (name == "STACKS")
        return parse_frames(value, to.stack_frames);
    if (name == "PYTHON")
        return parse_flag(value, to.python);
    if (name == "UM")
        return parse_word(value, {"auto", "queue", "pagemap", "off", "cupti"}, to.managed_witness);
    if (name == "UM_DETAIL")
        return parse_word(value, {"auto", "light", "faults", "full"}, to.managed_detail);
    if (name == "HASH")
        return parse_word(value, {"sample", "full", "off", "auto"}, to.hashing);
    if (name == "DEVICE_TIME")
        return parse_word(value, {"0", "1", "auto"}, to.device_timing);
    if (name == "LAUNCHES")
        return parse_word(value, {"full", "brief", "auto"}, to.launches);
    if (name == "MAX_SIZE")
        return trace::parse_size(value, to.max_bytes);
    if (name == "CAPTURE_RANGE")
        return parse_flag(value, to.capture_range);
    if (name == "DELAY")
        return parse_seconds(value, to.delay_ns);
    if (name == "DURATION")
        return parse_seconds(value, to.duration_ns);
    if (name == "FOLLOW_FORK")
        return parse_flag(value, to.follow_fork);
    if (name == "NVTX")
        return parse_flag(value, to.nvtx);
    if (name == "ACT")
        return parse_actions(value, to);
    if (name == "PRETEND_MEMORY")
        return trace::parse_size(value, to.pretend_bytes);
    if (name == "BUDGET")
        return trace::parse_size(value, to.budget_bytes);
    return false;
}

/// Calls `visit(name, value)` for each UMADVISOR_ variable.
template <class Visit>
void visit_settings(Visit&& visit) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (text.starts_with(prefix) && equals != std::string_view::npos)
            visit(base::first(base::after(text, prefix.size()), equals - prefix.size()),
                  base::after(text, equals + 1));
    }
}

} // namespace

bool parse_actions(std::string_view text, Options& to) noexcept {
    Options read = to;
    constexpr std::string_view rewrite = "rewrite=";
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view action = base::first(text, comma);
        if (action == "prefetch")
            read.act_prefetch = true;
        else if (action == "stage")
            read.act_stage = true;
        else if (action == "relieve")
            read.act_relieve = true;
        else if (action == "auto")
            read.act_auto = read.act_prefetch = read.act_relieve = read.act_stage = true;
        else if (action.starts_with(rewrite)) {
            if (!parse_rewrite(base::after(action, rewrite.size()), read))
                return false;
        } else if (action.starts_with(plan_prefix)) {
            read.act_plan = keep(base::after(action, plan_prefix.size()), plan_path);
            if (read.act_plan[0] == '\0') // none, or too long
                return false;
        } else if (!action.empty()) {
            return false;
        }
        text = comma == std::string_view::npos ? std::string_view() : base::after(text, comma + 1);
    }
    to = read;
    return true;
}

void read_options() noexcept {
    current = Options{};
#define OPTION(name, type, default_value, help) set(#name, default_value, current);
#include "interposer/runtime/options.def"
    // In a set-user-ID program the environment is not to be trusted (secure_getenv(3)); the loader refuses most
    // preloads there anyway.
    if (getuid() == geteuid() && getgid() == getegid())
        visit_settings([](std::string_view name, std::string_view value) { set(name, value, current); });
    if (current.hashing == Hashing::automatic)
        current.hashing = current.acts() ? Hashing::off : Hashing::sample;
    if (current.managed_detail == ManagedDetailWanted::by_traffic && current.acts())
        current.managed_detail = ManagedDetailWanted::light;
    if (current.device_timing == DeviceTiming::automatic)
        current.device_timing = current.acts() ? DeviceTiming::off : DeviceTiming::on;
    if (current.launches == LaunchDetail::automatic && (!current.acts() || current.acts_on_launches()))
        current.launches = LaunchDetail::full;
}

void warn_of_options() noexcept {
    visit_settings([](std::string_view name, std::string_view value) {
        bool known = false;
        for (const std::string_view each : names)
            known = known || each == name;
        const int length = static_cast<int>(name.size());
        Options ignored;
        if (!known)
            say("UMADVISOR_%.*s is no setting of mine; `umadvisor help env` lists them", length, name.data());
        else if (name == "OUTPUT" && value.size() >= sizeof output_path)
            say("UMADVISOR_OUTPUT is longer than %zu bytes; the trace is written to the working directory",
                sizeof output_path - 1);
        else if (name != "OUTPUT" && name != "RUN" && !set(name, value, ignored))
            say("UMADVISOR_%.*s=%.*s is not understood and ignored; see `umadvisor help env`", length,
                name.data(), static_cast<int>(value.size()), value.data());
    });
}

void for_each_setting(void (*visit)(std::string_view name, std::string_view value)) noexcept {
    visit_settings([&](std::string_view name, std::string_view value) { visit(name, value); });
}

const Options& options() noexcept {
    return current;
}

} // namespace umadvisor::runtime
