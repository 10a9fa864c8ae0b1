#include "batches.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace umadvisor::fuzz {
namespace {

using Trial = std::function<std::vector<Objection>(std::uint64_t)>;

/// A file without a name that a child writes and its parent reads.
class Log {
public:
    Log() : file_(::memfd_create("log", 0)) {
        if (file_ < 0)
            throw std::runtime_error("memfd_create failed");
    }
    ~Log() { ::close(file_); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    int descriptor() const { return file_; }
    void add(const std::string& text) const {
        if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            ::_exit(3);
    }
    std::string text() const {
        std::string all;
        char block[4096];
        ::lseek(file_, 0, SEEK_SET);
        for (ssize_t got; (got = ::read(file_, block, sizeof block)) > 0;)
            all.append(block, static_cast<std::size_t>(got));
        return all;
    }

private:
    int file_;
};

std::string line_of(std::uint64_t number, const Objection& objection) {
    return nlohmann::json{{"number", number}, {"kind", objection.kind}, {"detail", objection.detail}}.dump(
               -1, ' ', true, nlohmann::json::error_handler_t::replace) +
           "\n";
}

void read_failures(const std::string& log, std::vector<Failure>& failures) {
    for (std::size_t at = 0; at < log.size();) {
        const std::size_t end = log.find('\n', at);
        if (end == std::string::npos)
            return; // the child died as it wrote
        const auto line = nlohmann::json::parse(log.substr(at, end - at));
        failures.push_back({line["number"], {line["kind"], line["detail"]}});
        at = end + 1;
    }
}

Objection what_ended_it(int status, const std::string& messages) {
    const std::string detail = messages.substr(0, 2000);
    if (WIFEXITED(status))
        return {"sanitizer report", detail};
    switch (WTERMSIG(status)) {
    case SIGPROF:
        return {"time", "stopped"};
    case SIGALRM:
        return {"hang", "stopped"};
    default:
        return {std::string("signal ") + ::strsignal(WTERMSIG(status)), detail};
    }
}

[[noreturn]] void run_child(std::uint64_t first, std::uint64_t end, const Trial& trial,
                            std::atomic<std::uint64_t>& current, const Log& log, const Log& messages) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__)
    const rlimit memory{std::uint64_t{4} << 30, std::uint64_t{4} << 30}; // the machine has other work, too
    ::setrlimit(RLIMIT_AS, &memory);
#endif
    ::dup2(messages.descriptor(), STDERR_FILENO);
    for (std::uint64_t number = first; number < end; ++number) {
        current = number;
        for (const Objection& objection : trial(number))
            log.add(line_of(number, objection));
    }
    ::_exit(0);
}

} // namespace

std::vector<Failure> run_batch(std::uint64_t first, std::uint64_t end, const Trial& trial) {
    void* const shared = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        throw std::runtime_error("mmap failed");
    auto& current = *new (shared) std::atomic<std::uint64_t>(0);
    std::vector<Failure> failures;
    while (first < end) {
        const Log log, messages;
        current = first;
        const pid_t child = ::fork();
        if (child < 0)
            throw std::runtime_error("fork failed");
        if (child == 0)
            run_child(first, end, trial, current, log, messages);
        int status = 0;
        ::waitpid(child, &status, 0);
        read_failures(log.text(), failures);
        const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!ended)
            failures.push_back({current, what_ended_it(status, messages.text())});
        first = ended ? end : current + 1;
    }
    ::munmap(shared, sizeof current);
    return failures;
}

} // namespace umadvisor::fuzz
