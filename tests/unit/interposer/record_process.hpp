/// The recorder belongs to a process: each test runs it in a child and reads the trace back.
#pragma once

#include "interposer/record/recorder.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace umadvisor::record {

/// A directory for one test, removed with what is in it.
class ScratchDirectory {
public:
    ScratchDirectory();
    ~ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    std::string operator/(const char* name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

/// Runs `program` in a forked child and returns what wait(2) tells; the child leaves by _exit(status).
int run_in_child(const std::function<int()>& program);

/// The same, for programs that must end with status 0. False otherwise.
bool succeeds_in_child(const std::function<bool()>& program);

/// Memory that parent and child share, zeroed.
struct SharedPage {
    SharedPage();
    ~SharedPage();
    SharedPage(const SharedPage&) = delete;
    SharedPage& operator=(const SharedPage&) = delete;
    std::uint64_t* words;
};

/// What tests vary of a recorder, and of the process that opens it.
struct Varied {
    bool (*before)() = [] { return true; }; ///< whether the process is what the test needs
    bool force = false;
    std::uint64_t max_bytes = 0;
    int stack_frames = 0;
    std::uint64_t (*simulated_clock)() = nullptr;
};
/// As record::open().
const char* open_trace(const std::string& path, const Varied& varied = {});

/// What the recorder has said on stderr in this process.
std::string_view said();

} // namespace umadvisor::record
