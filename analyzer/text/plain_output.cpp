#include "analyzer/text/plain_output.hpp"

#include "trace/plain_text.hpp"

#include <algorithm>

namespace umadvisor::text {
namespace {

constexpr std::size_t enough = 64 * 1024; ///< to be written at once
constexpr std::size_t longest_code_point = 4;

/// Bytes at the end that begin a code point which goes on in what is written next.
std::size_t unfinished(std::string_view text) {
    for (std::size_t bytes = 1; bytes < std::min(longest_code_point, text.size() + 1); ++bytes)
        if (trace::code_point(text.substr(text.size() - bytes)).unfinished)
            return bytes;
    return 0;
}

} // namespace

PlainOutput::PlainOutput(std::ostream& stream, void (*closed)())
    : stream_(stream), closed_(closed), target_(stream.rdbuf(this)) {}

PlainOutput::~PlainOutput() {
    drain();
    stream_.rdbuf(target_);
}

bool PlainOutput::pass(std::string_view text) {
    if (!drain())
        return false;
    errno = 0;
    const auto bytes = static_cast<std::streamsize>(text.size());
    if (target_->sputn(text.data(), bytes) == bytes)
        return true;
    fail();
    return false;
}

void PlainOutput::fail() {
    if (failure_ != 0)
        return;
    failure_ = errno == 0 ? EIO : errno;
    if (is_closed())
        closed_();
}

bool PlainOutput::drain() {
    if (waiting_.empty())
        return true;
    std::string text;
    text.swap(waiting_);
    text.resize(trace::make_plain(text.data(), text.size(), trace::Plain::lines));
    return pass(text);
}

PlainOutput::int_type PlainOutput::overflow(int_type character) {
    if (traits_type::eq_int_type(character, traits_type::eof()))
        return traits_type::not_eof(character);
    const char one = traits_type::to_char_type(character);
    return xsputn(&one, 1) == 1 ? character : traits_type::eof();
}

std::streamsize PlainOutput::xsputn(const char* text, std::streamsize bytes) {
    waiting_.append(text, static_cast<std::size_t>(bytes));
    if (waiting_.size() < enough)
        return bytes;
    const std::size_t rest = unfinished(waiting_);
    const std::string next = waiting_.substr(waiting_.size() - rest);
    waiting_.resize(waiting_.size() - rest);
    const bool written = drain();
    waiting_ = next;
    return written ? bytes : 0;
}

int PlainOutput::sync() {
    if (!drain())
        return -1;
    errno = 0;
    if (target_->pubsync() == 0)
        return 0;
    fail();
    return -1;
}

void pass(std::ostream& out, std::string_view text) {
    if (auto* const plain = dynamic_cast<PlainOutput*>(out.rdbuf())) {
        if (!plain->pass(text))
            out.setstate(std::ios_base::badbit);
    } else {
        out << text;
    }
}

} // namespace umadvisor::text
