#include "policy/plan_text.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

constexpr int most_depth = 16;

/// Reads a JSON text once, without copying any of it. Strings are returned as written, so one with escapes
/// never equals a name. After an error nothing more is read.
class JsonText {
public:
    explicit JsonText(std::string_view text) noexcept : at_(text.data()), end_(at_ + text.size()) {}

    bool failed() const noexcept { return failed_; }
    bool at_end() noexcept {
        skip_blanks();
        return at_ == end_;
    }

    /// Calls `member(name)`, which reads the value.
    template <class Member>
    void object(Member&& member) noexcept {
        list('{', '}', [&] {
            const std::string_view name = string();
            if (accept(':'))
                member(name);
        });
    }
    /// Calls `element()`, which reads one.
    template <class Element>
    void array(Element&& element) noexcept {
        list('[', ']', element);
    }
    std::string_view string() noexcept {
        if (!accept('"'))
            return {};
        const char* const begin = at_;
        while (at_ != end_ && *at_ != '"' && static_cast<unsigned char>(*at_) >= 0x20)
            at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
        const std::string_view text(begin, static_cast<std::size_t>(at_ - begin));
        accept_here('"');
        return text;
    }
    std::uint64_t number() noexcept {
        skip_blanks();
        std::uint64_t value = 0;
        const char* const begin = at_;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
            const auto digit = static_cast<std::uint64_t>(*at_ - '0');
            if (value > (UINT64_MAX - digit) / 10)
                failed_ = true;
            else
                value = value * 10 + digit;
        }
        failed_ = failed_ || at_ == begin;
        return value;
    }
    void skip() noexcept {
        skip_blanks();
        if (failed_ || at_ == end_ || depth_ == most_depth) {
            failed_ = true;
        } else if (*at_ == '{') {
            object([this](std::string_view) { skip(); });
        } else if (*at_ == '[') {
            array([this] { skip(); });
        } else if (*at_ == '"') {
            string();
        } else {
            skip_word();
        }
    }

private:
    template <class Element>
    void list(char open, char close, Element&& element) noexcept {
        if (!accept(open) || ++depth_ > most_depth) {
            failed_ = true;
            return;
        }
        skip_blanks();
        if (at_ != end_ && *at_ == close) {
            ++at_;
        } else {
            do {
                element();
                skip_blanks();
            } while (!failed_ && at_ != end_ && *at_ == ',' && ++at_);
            accept(close);
        }
        --depth_;
    }
    /// A number, true, false or null.
    void skip_word() noexcept {
        const char* const begin = at_;
        const auto part = [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
                   c == 'E';
        };
        while (at_ != end_ && part(*at_))
            ++at_;
        const std::string_view word(begin, static_cast<std::size_t>(at_ - begin));
        const bool number =
            !word.empty() && (word.front() == '-' || (word.front() >= '0' && word.front() <= '9'));
        failed_ = failed_ || !(number || word == "true" || word == "false" || word == "null");
    }
    void skip_blanks() noexcept {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t'))
            ++at_;
    }
    bool accept_here(char expected) noexcept {
        failed_ = failed_ || at_ == end_ || *at_ != expected;
        if (!failed_)
            ++at_;
        return !failed_;
    }
    bool accept(char expected) noexcept {
        skip_blanks();
        return accept_here(expected);
    }

    const char* at_;
    const char* end_;
    int depth_ = 0;
    bool failed_ = false;
};

/// A text that is nested deeper than plans are does not count.
bool is_json(std::string_view text) noexcept {
    JsonText json(text);
    json.skip();
    return json.at_end() && !json.failed();
}

/// A key has sixteen hexadecimal digits; 0: this is none.
std::uint64_t plan_key(std::string_view text) noexcept {
    if (text.size() != 16)
        return 0;
    std::uint64_t key = 0;
    for (const char c : text) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return 0;
        key = key << 4 | static_cast<std::uint64_t>(digit);
    }
    return key;
}

void read_modes(JsonText& json, Plan& plan) noexcept {
    json.array([&] {
        const std::string_view mode = json.string();
        if (mode.size() <= Plan::longest_mode && plan.mode_count < Plan::most_modes)
            std::copy(mode.begin(), mode.end(), plan.modes[plan.mode_count++]);
    });
}

void read_returns(JsonText& json, Plan& plan) noexcept {
    json.array([&] {
        Plan::Return each{};
        json.object([&](std::string_view name) {
            if (name == "key")
                each.key = plan_key(json.string());
            else if (name == "first")
                each.first = json.number();
            else if (name == "last")
                each.last = json.number();
            else
                json.skip();
        });
        if (each.key != 0 && each.first < each.last && plan.return_count < Plan::most_returns)
            plan.returns[plan.return_count++] = each;
    });
}

void read_sites(JsonText& json, Plan::Sites& sites) noexcept {
    json.array([&] {
        std::uint64_t key = 0;
        json.object([&](std::string_view name) {
            if (name == "key")
                key = plan_key(json.string());
            else
                json.skip();
        });
        if (key != 0 && sites.count < Plan::most_sites)
            sites.keys[sites.count++] = key;
    });
}

/// The member is called "never_" and the mode's name.
void read_never(JsonText& json, std::string_view member, Plan& plan) noexcept {
    constexpr std::string_view never = "never_";
    for (std::size_t i = 0; i < trace::act_mode_count; ++i) {
        const std::string_view mode = trace::act_modes[i].name;
        if (member.size() == never.size() + mode.size() && member.starts_with(never) && member.ends_with(mode))
            return read_sites(json, plan.never_sites[i]);
    }
    json.skip();
}

void read_stage(JsonText& json, Plan& plan) noexcept {
    json.array([&] {
        json.object([&](std::string_view name) {
            if (name == "bytes")
                plan.stage_bytes += std::min(json.number(), UINT64_MAX - plan.stage_bytes);
            else
                json.skip();
        });
    });
}

} // namespace

const char* read_plan(std::string_view text, Plan& plan) noexcept {
    JsonText json(text);
    bool known = false;
    json.object([&](std::string_view name) {
        if (name == "schema")
            known = json.string() == "umadvisor-plan-1";
        else if (name == "modes")
            read_modes(json, plan);
        else if (name == "host_returns")
            read_returns(json, plan);
        else if (name == "stage")
            read_stage(json, plan);
        else
            read_never(json, name, plan);
    });
    if (json.failed() || !json.at_end())
        return is_json(text) ? "is JSON, but a value in it is not what a plan has there" : "is no JSON";
    return known ? nullptr : "is no plan of schema umadvisor-plan-1";
}

} // namespace umadvisor::policy
