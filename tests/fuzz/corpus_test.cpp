#include "analyzer/reader/packed_section.hpp"
#include "analyzer/reader/source.hpp"
#include "analyzer/symbols/packed_symbols.hpp"
#include "every_record.hpp"
#include "scenario.hpp"
#include "trace_target.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace umadvisor;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes contents(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A trace whose one stack has its places and its source line with it.
Bytes packed() {
    constexpr std::uint64_t address = 0x1234;
    test::Scenario s;
    s.builder.make_small();
    trace::Module module;
    module.id = 900;
    module.path = "/gone/program";
    module.build_id = "build-id";
    s.builder.add(module);
    trace::Frame frame;
    frame.id = 901;
    frame.address = address + 1;
    frame.module = 900;
    s.builder.add(frame);
    test::Scenario::CopyOptions options;
    options.stack = 901;
    for (int i = 0; i < 4; ++i)
        s.copy(64 * test::mib, 20 * test::ms, options);
    symbols::CodePlace place;
    place.function = "copy";
    place.file = "/gone/copy.cu";
    place.line = 7;
    symbols::PackedSymbols content;
    content.modules[{"/gone/program", "build-id"}][address] = {place, place};
    content.source_lines[{"/gone/copy.cu", 7}] = "cudaMemcpy(to, from, bytes, kind);";
    Bytes bytes;
    reader::write_with_section(
        reader::Source(s.path()), symbols::encode_packed(content),
        [&bytes](std::string_view piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
    return bytes;
}

/// Traces to start from: small, so that changes hit something.
std::vector<Bytes> seeds() {
    test::Scenario s;
    s.builder.make_small();
    const auto kernel = s.function("_Z5scalePfi");
    const auto a = s.allocate(8 * test::mib, trace::Memory::managed, s.stack());
    for (std::uint64_t i = 1; i <= 4; ++i) {
        s.residency(a, 8 * test::mib, 8 * test::mib, trace::SampleMoment::before_launch);
        s.launch(kernel, {a}, i);
        s.synchronize();
        s.device_time(i, test::ms);
        s.residency(a, 8 * test::mib, 0, trace::SampleMoment::after_synchronize);
        s.copy(test::mib, test::ms, {});
    }
    s.free(a);
    test::TraceBuilder all = test::every_record();
    all.make_small();
    return {s.builder.bytes(), contents(UMADVISOR_GOLDEN "/v1.0.umtrace"), all.bytes(), packed()};
}

} // namespace

BOOST_AUTO_TEST_CASE(seeds_are_readable) {
    for (const Bytes& seed : seeds())
        BOOST_TEST(fuzz::read_trace(seed.data(), seed.size()));
}

BOOST_AUTO_TEST_CASE(committed_corpus) {
    for (const auto& entry : std::filesystem::directory_iterator(UMADVISOR_CORPUS)) {
        const Bytes bytes = contents(entry.path());
        BOOST_TEST_CONTEXT(entry.path().filename()) {
            fuzz::read_trace(bytes.data(), bytes.size());
            BOOST_TEST(!bytes.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(write_seeds_for_the_fuzzer) {
    // `UMADVISOR_SEEDS=DIR fuzz_corpus` lays them down for trace_fuzz.
    const char* folder = std::getenv("UMADVISOR_SEEDS");
    const std::string path = folder != nullptr ? folder : test::temporary_path("seeds");
    std::filesystem::create_directories(path);
    int number = 0;
    for (const Bytes& seed : seeds()) {
        std::ofstream out(path + "/seed" + std::to_string(number++), std::ios::binary);
        out.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
        BOOST_TEST(bool(out.flush()));
    }
}
