/// Copies of rows, layers, arrays and batches, discards, prefetches and attachments: each entry point under the
/// shim on simcuda, held against what the program says it handed over.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>

BOOST_AUTO_TEST_SUITE(process_copies_test)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

const char* const settings[] = {"", "UMADVISOR_ACT=prefetch", "UMADVISOR_STACKS=off UMADVISOR_UM=pagemap"};

/// Bare and under the shim: nothing that the program sees may differ.
Outcome run_both(const Folder& folder, const std::string& program, const std::string& environment = "",
                 const std::string& variant = "") {
    fs::create_directory(folder.path / "bare");
    const std::string driver = "export LD_LIBRARY_PATH='" + simcuda + variant + "'; ";
    const Outcome bare = run(folder, driver + "cd bare; " + programs + "/" + program);
    const Outcome watched =
        run(folder, driver + environment + " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs +
                        "/" + program);
    BOOST_TEST(watched.status == 0, watched.err);
    BOOST_TEST(bare.status == 0, bare.out);
    BOOST_TEST(watched.out == bare.out);
    BOOST_TEST(report(folder, "x.umtrace").at("completeness").at("complete") == true);
    return watched;
}

std::vector<Json> expectations(const Folder& folder, const std::string& kind) {
    std::vector<Json> lines;
    std::ifstream file(folder / "expected");
    for (std::string line; std::getline(file, line);)
        if (Json one = Json::parse(line); one.at("record") == kind)
            lines.push_back(std::move(one));
    return lines;
}

/// What stood at each address, and from when on: handles and addresses are used again.
class Allocations {
public:
    explicit Allocations(const Folder& folder) {
        for (const Json& made : dump(folder, "x.umtrace", "Alloc"))
            made_[made.at("address")][made.at("start_ns")] = made.at("allocation");
    }
    /// The id of what is there at that time; 0: CUDA does not know it.
    std::uint64_t at(const std::string& address, std::int64_t time) const {
        const auto found = made_.find(address);
        if (found == made_.end() || found->second.begin()->first > time)
            return 0;
        return std::prev(found->second.upper_bound(time))->second;
    }

private:
    std::map<std::string, std::map<std::int64_t, std::uint64_t>> made_;
};

/// Every field that is expected, of every record in its order. `base` stands for the allocation there.
void check(const Folder& folder, const std::string& kind) {
    const Allocations known(folder);
    std::vector<Json> records;
    for (Json& record : dump(folder, "x.umtrace", kind))
        if (record.at("status") == 0)
            records.push_back(std::move(record));
    const auto wanted = expectations(folder, kind);
    BOOST_TEST(!wanted.empty());
    BOOST_TEST_REQUIRE(records.size() == wanted.size(), kind);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        for (const auto& [key, value] : wanted[i].items()) {
            const std::size_t base = key.rfind("base");
            if (base == std::string::npos)
                BOOST_TEST(records[i].at(key) == value, key << ": " << wanted[i] << "\n" << records[i]);
            else
                BOOST_TEST(records[i].at(key.substr(0, base) + "allocation") ==
                               known.at(value, records[i].at("start_ns")),
                           key << ": " << wanted[i] << "\n"
                               << records[i]);
        }
}

} // namespace

BOOST_DATA_TEST_CASE(records_are_what_was_handed_over, data::make(settings), setting) {
    const Folder folder;
    run_both(folder, "copies_program", setting);
    check(folder, "Copy");
    if (std::string(setting) != "UMADVISOR_ACT=prefetch") // else ours stand among them
        check(folder, "Prefetch");
    check(folder, "Discard");
    check(folder, "Attach");
    check(folder, "Set");
}

BOOST_AUTO_TEST_CASE(what_a_batch_prefetches_is_looked_at_as_a_single_prefetch_is) {
    const auto looks = [](const Folder& folder) {
        std::vector<Json> found;
        for (Json& look : dump(folder, "x.umtrace", "Residency"))
            if (look.at("moment") == "before_prefetch")
                found.push_back(std::move(look));
        return found;
    };
    const Folder folder;
    run_both(folder, "copies_program", "UMADVISOR_UM=pagemap");
    const Json first = dump(folder, "x.umtrace", "Prefetch").at(0);
    const auto found = looks(folder);
    BOOST_TEST_REQUIRE(!found.empty());
    BOOST_TEST(first.at("batch") == 1);
    BOOST_TEST(found[0].at("allocation") == first.at("allocation"));
    BOOST_TEST(found[0].at("start_ns").get<double>() <= first.at("start_ns").get<double>());
    run_both(folder, "copies_program", "UMADVISOR_FORCE=1");
    BOOST_TEST(!looks(folder).empty()); // no launch has had it
}

BOOST_AUTO_TEST_CASE(nothing_is_only_counted) {
    const Folder folder;
    run_both(folder, "copies_program");
    for (const Json& counter : dump(folder, "x.umtrace", "Counter"))
        for (const char* part : {"Memcpy", "Memset", "cuArray", "Mipmapped", "Batch", "Attach"})
            BOOST_TEST(counter.at("entry").get<std::string>().find(part) == std::string::npos, counter);
}

BOOST_AUTO_TEST_CASE(a_refused_call_has_one_record_with_its_status) {
    const Folder folder;
    run_both(folder, "copies_program");
    std::map<std::string, int> refused;
    for (const char* kind : {"Copy", "Prefetch", "Discard", "Alloc", "Free"})
        for (const Json& record : dump(folder, "x.umtrace", kind))
            if (record.at("status") != 0)
                ++refused[record.at("entry")];
    const std::map<std::string, int> wanted = {{"cuMemcpy2D_v2", 2},           {"cuMemcpy3DAsync_v2", 1},
                                               {"cuMemcpyBatchAsync", 1},      {"cuMemcpy3DBatchAsync_v2", 1},
                                               {"cuMemDiscardBatchAsync", 1},  {"cuArrayCreate_v2", 2},
                                               {"cuMemPrefetchBatchAsync", 1}, {"cuArrayDestroy", 2}};
    BOOST_TEST((refused == wanted), Json(refused));
}

BOOST_AUTO_TEST_CASE(a_batch_is_one_call) {
    const Folder folder;
    run_both(folder, "copies_program");
    for (const Json& copy : dump(folder, "x.umtrace", "Copy"))
        if (copy.at("batch") > 1)
            BOOST_TEST(copy.at("duration_ns") == 0, copy);
    std::map<std::string, std::uint64_t> calls;
    const Json whole = report(folder, "x.umtrace");
    for (const Json& call : whole.at("calls"))
        calls[call.at("entry")] = call.at("count");
    BOOST_TEST(calls["cuMemcpyBatchAsync_v2"] == 1u);
    BOOST_TEST(calls["cuMemcpyBatchAsync"] == 2u); // one of them refused
    BOOST_TEST(calls["cuMemPrefetchBatchAsync_ptsz"] == 1u);
    BOOST_TEST(calls["cuMemDiscardBatchAsync_ptsz"] == 1u);
}

BOOST_AUTO_TEST_CASE(arrays_are_allocations_that_end) {
    const Folder folder;
    run_both(folder, "copies_program");
    std::map<std::uint64_t, std::uint64_t> live;
    std::uint64_t boxes = 0;
    for (const Json& made : dump(folder, "x.umtrace", "Alloc"))
        if (made.at("memory") == "array" && made.at("status") == 0) {
            live[made.at("allocation")] = made.at("bytes");
            boxes += made.at("bytes") == 256 * 64 * 8;
            if (made.at("entry") == "cuMipmappedArrayCreate")
                BOOST_TEST(made.at("bytes") == 256 * 64 * 8 + 128 * 32 * 4);
            if (made.at("flags") == 0x40) // sparse
                BOOST_TEST(made.at("bytes") == 0);
        }
    BOOST_TEST(boxes == 1u);
    BOOST_TEST(live.size() == 5u);
    for (const Json& freed : dump(folder, "x.umtrace", "Free"))
        if (freed.at("status") == 0)
            live.erase(freed.at("allocation").get<std::uint64_t>());
    BOOST_TEST(live.empty());
    bool told = false;
    for (const Json& notice : dump(folder, "x.umtrace", "Notice"))
        told = told || notice.at("text").get<std::string>().find("sparse") != std::string::npos;
    BOOST_TEST(told);
}

BOOST_DATA_TEST_CASE(captures_stay_sound, data::make(settings), setting) {
    const Folder folder;
    const Outcome outcome = run_both(folder, "copies_program capture", setting);
    std::size_t sound = 0;
    for (std::size_t at = 0; (at = outcome.out.find("end: 0", at)) != std::string::npos; ++at)
        ++sound;
    BOOST_TEST(sound == 2u, outcome.out);
    check(folder, "Copy");
}

BOOST_AUTO_TEST_CASE(copies_between_devices) {
    const Folder folder;
    run_both(folder, "copies_program peer", "", "-2dev");
    check(folder, "Copy");
    std::map<std::uint64_t, std::uint64_t> device_of;
    for (const Json& made : dump(folder, "x.umtrace", "Alloc"))
        device_of[made.at("allocation")] = made.at("device");
    for (const Json& copy : dump(folder, "x.umtrace", "Copy")) {
        BOOST_TEST(device_of.at(copy.at("source_allocation")) == 0u);
        BOOST_TEST(device_of.at(copy.at("destination_allocation")) == 1u);
    }
    const Json whole = report(folder, "x.umtrace");
    for (const Json& copies : whole.at("copies"))
        BOOST_TEST(copies.at("direction") == "PtoP", copies);
}

BOOST_AUTO_TEST_CASE(what_a_copy_reached_is_prefetched_again) {
    const Folder folder;
    run_both(folder, "copies_program managed", "UMADVISOR_ACT=prefetch");
    const auto prefetches = dump(folder, "x.umtrace", "Prefetch");
    BOOST_TEST_REQUIRE(prefetches.size() == 2u);
    BOOST_TEST(prefetches[0].at("bytes") == 8 << 20);
    BOOST_TEST(prefetches[1].at("bytes") == 2 << 20);
    BOOST_TEST(prefetches[1].at("origin") == "umadvisor");
}

BOOST_AUTO_TEST_SUITE_END()
