/// What the commands write, on its way out.
#pragma once

#include <cerrno>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace umadvisor::text {

/// Takes the place of a stream's buffer: what is written to the stream goes to that buffer as
/// trace::Plain::lines, so that no text of others does more to a terminal than be shown. Nothing is written by
/// half: what has not gone out yet goes with a flush, or at the end of this object's life.
class PlainOutput : public std::streambuf {
public:
    /// `closed` is called when what is written has no reader any more.
    explicit PlainOutput(
        std::ostream& stream, void (*closed)() = [] {});
    ~PlainOutput() override;
    PlainOutput(const PlainOutput&) = delete;
    PlainOutput& operator=(const PlainOutput&) = delete;

    /// errno of the first write that failed; 0: none has.
    int failure() const { return failure_; }
    /// Whether that was because there is no reader any more, be it a pipe or a socket.
    bool is_closed() const { return failure_ == EPIPE || failure_ == ECONNRESET; }
    /// Writes text with sequences that are ours; nothing of it is changed.
    bool pass(std::string_view text);

protected:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize bytes) override;
    int sync() override;

private:
    bool drain();
    void fail();

    std::ostream& stream_;
    void (*const closed_)();
    std::streambuf* const target_;
    std::string waiting_;
    int failure_ = 0;
};

/// Writes text that is plain but for sequences that are ours: as it is, also to a stream with PlainOutput.
void pass(std::ostream& out, std::string_view text);

} // namespace umadvisor::text
