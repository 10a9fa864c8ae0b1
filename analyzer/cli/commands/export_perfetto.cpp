#include "analyzer/cli/commands/export_format.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reports/perfetto/perfetto.hpp"
#include "analyzer/text/json_text.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace umadvisor::cli {
namespace {

/// The timeline of one host's runs, in a file without a name until its length is known.
class HostTimeline {
public:
    HostTimeline() : file_(std::tmpfile(), &std::fclose) {
        if (file_ == nullptr)
            fail();
    }
    void add(advice::Report& report) { out_.add(report); }
    void finish() { out_.finish(); }
    std::uint64_t bytes() const { return bytes_; }
    void copy_to(OutputFile& file) {
        std::rewind(file_.get());
        std::array<char, 65536> piece{};
        for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), file_.get())) != 0;)
            file.write({piece.data(), got});
        if (std::ferror(file_.get()) != 0)
            fail();
    }

private:
    [[noreturn]] static void fail() {
        throw reader::Error(fmt::format("a temporary file: {}", std::strerror(errno)));
    }
    void write(std::string_view bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
            fail();
        bytes_ += bytes.size();
    }

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    std::uint64_t bytes_ = 0;
    reports::PerfettoExport out_{[this](std::string_view bytes) { write(bytes); }};
};

constexpr std::size_t tar_block = 512;

/// The header of an archive's member (POSIX.1-1988, ustar). `name` has less than 100 bytes.
std::string tar_header(const std::string& name, std::uint64_t bytes) {
    constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 33) - 1; // 11 octal digits
    if (bytes > most_bytes)
        throw reader::Error(name + ": is too large for an archive; name an output without .tar");
    std::string header(tar_block, '\0');
    const auto put = [&header](std::size_t at, std::string_view text) {
        header.replace(at, text.size(), text);
    };
    std::array<char, 16> octal{};
    std::snprintf(octal.data(), octal.size(), "%011llo", static_cast<unsigned long long>(bytes));
    put(0, name);
    put(100, "0000644"); // mode
    put(108, "0000000"); // owner
    put(116, "0000000"); // group
    put(124, octal.data());
    put(136, "00000000000"); // time: the same traces make the same file
    put(148, "        ");    // of the sum, while it is made
    put(156, "0");           // a regular file
    put(257, std::string_view("ustar\000", 8));
    unsigned sum = 0;
    for (const char byte : header)
        sum += static_cast<unsigned char>(byte);
    std::snprintf(octal.data(), octal.size(), "%06o", sum);
    put(148, std::string_view(octal.data(), 7)); // with its null
    return header;
}

std::string tar_padding(std::uint64_t bytes) {
    return std::string((tar_block - bytes % tar_block) % tar_block, '\0');
}

/// One timeline for each host, and what Perfetto's trace_processor and UI merge them by
/// (https://perfetto.dev/docs/reference/perfetto-manifest): numbers of processes and threads are those of their
/// machine, and clocks meet in the clock of the day.
void write_archive(const Arguments& arguments, OutputFile& file) {
    std::map<std::string, HostTimeline> hosts;
    for_each_report(arguments, [&](advice::Report& report, const std::string&) {
        const auto& processes = report.trace.dictionary.processes;
        hosts[processes.empty() ? std::string() : std::string(processes.front().host)].add(report);
    });
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    const auto name_of = [](std::size_t number) { return fmt::format("host{}.pftrace", number); };
    for (auto& [host, timeline] : hosts) {
        timeline.finish();
        nlohmann::ordered_json entry{{"path", name_of(files.size())}};
        if (!host.empty())
            entry["machine"] = {{"name", host}};
        files.push_back(std::move(entry));
    }
    const nlohmann::ordered_json manifest{
        {"perfetto_manifest",
         {{"version", 1}, {"trace_time", {{"clock", "REALTIME"}, {"file", name_of(0)}}}, {"files", files}}}};
    const std::string text = text::json_text(manifest, 2) + "\n";
    file.write(tar_header("perfetto_manifest.json", text.size()) + text + tar_padding(text.size()));
    std::size_t number = 0;
    for (auto& [host, timeline] : hosts) {
        file.write(tar_header(name_of(number++), timeline.bytes()));
        timeline.copy_to(file);
        file.write(tar_padding(timeline.bytes()));
    }
    file.write(std::string(2 * tar_block, '\0'));
}

void write_perfetto(const Arguments& arguments, OutputFile& file) {
    if (arguments.value("--output").ends_with(".tar"))
        return write_archive(arguments, file);
    reports::PerfettoExport out([&](std::string_view bytes) { file.write(bytes); });
    for_each_report(arguments, [&](advice::Report& report, const std::string&) { out.add(report); });
    out.finish();
}

} // namespace

const ExportFormat& perfetto_format() {
    static const ExportFormat format{{"--perfetto", "",
                                      "A timeline for ui.perfetto.dev and trace_processor, of any number of "
                                      "traces; with -o FILE.tar an archive "
                                      "of one for each host"},
                                     {},
                                     SIZE_MAX,
                                     nullptr,
                                     &write_perfetto};
    return format;
}

} // namespace umadvisor::cli
