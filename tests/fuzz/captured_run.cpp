#include "captured_run.hpp"

#include "analyzer/cli/command_line.hpp"

#include <algorithm>
#include <iostream>
#include <streambuf>

namespace umadvisor::fuzz {
namespace {

/// Keeps what is written up to a bound and counts the rest.
class BoundedText : public std::streambuf {
public:
    explicit BoundedText(std::uint64_t bound) : bound_(bound) {}
    const std::string& text() const { return text_; }
    std::uint64_t written() const { return written_; }

protected:
    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
        const auto size = static_cast<std::uint64_t>(count);
        text_.append(bytes, std::min(size, bound_ - std::min(bound_, std::uint64_t{text_.size()})));
        written_ += size;
        return count;
    }
    int_type overflow(int_type c) override {
        const char byte = traits_type::to_char_type(c);
        xsputn(&byte, 1);
        return traits_type::not_eof(c);
    }

private:
    std::uint64_t bound_, written_ = 0;
    std::string text_;
};

/// Puts another buffer under a stream for as long as it lives.
class Redirected {
public:
    Redirected(std::ostream& stream, std::streambuf& to) : stream_(stream), before_(stream.rdbuf(&to)) {}
    ~Redirected() {
        stream_.rdbuf(before_);
        stream_.clear();
    }
    Redirected(const Redirected&) = delete;
    Redirected& operator=(const Redirected&) = delete;

private:
    std::ostream& stream_;
    std::streambuf* before_;
};

} // namespace

CapturedRun run_captured(const std::vector<std::string>& arguments, std::uint64_t out_bound,
                         std::uint64_t message_bound) {
    std::vector<const char*> argv{"umadvisor"};
    for (const std::string& argument : arguments)
        argv.push_back(argument.c_str());
    BoundedText out(out_bound), messages(message_bound);
    CapturedRun run;
    {
        const Redirected to_out(std::cout, out), to_messages(std::cerr, messages);
        run.status = cli::run_command_line(static_cast<int>(argv.size()), argv.data());
    }
    run.out = out.text();
    run.messages = messages.text();
    run.out_bytes = out.written();
    run.message_bytes = messages.written();
    return run;
}

} // namespace umadvisor::fuzz
