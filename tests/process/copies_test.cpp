/// Copies of rows, layers, arrays and batches, discards, prefetches and attachments: each entry point under the
/// shim on simcuda, held against what the program says it handed over.
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>

BOOST_FIXTURE_TEST_SUITE(process_copies_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const char* const settings[] = {"", "UMADVISOR_ACT=prefetch", "UMADVISOR_STACKS=off UMADVISOR_UM=pagemap"};

Outcome run_both(const Folder& folder, const std::string& program, const std::string& environment = "",
                 const std::string& variant = "") {
    Outcome watched = check_unnoticed(folder, program, environment, variant);
    BOOST_TEST(watched.status == 0, watched.err);
    BOOST_TEST(report(folder).at("completeness").at("complete") == true);
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
        for (const Json& made : dump(folder, "Alloc"))
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
    const auto records = dump(folder, kind, {{"status", 0}});
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
    run_both(folder, "copies_program", setting);
    check(folder, "Copy");
    if (std::string(setting) != "UMADVISOR_ACT=prefetch") // else ours stand among them
        check(folder, "Prefetch");
    check(folder, "Discard");
    check(folder, "Attach");
    check(folder, "Set");
}

BOOST_AUTO_TEST_CASE(what_a_batch_prefetches_is_looked_at_as_a_single_prefetch_is) {
    const auto looks = [&] { return dump(folder, "Residency", {{"moment", "before_prefetch"}}); };
    run_both(folder, "copies_program", "UMADVISOR_UM=pagemap");
    const Json first = dump(folder, "Prefetch").at(0);
    const auto found = looks();
    BOOST_TEST_REQUIRE(!found.empty());
    BOOST_TEST(first.at("batch") == 1);
    BOOST_TEST(found[0].at("allocation") == first.at("allocation"));
    BOOST_TEST(found[0].at("start_ns").get<double>() <= first.at("start_ns").get<double>());
    run_both(folder, "copies_program", "UMADVISOR_FORCE=1");
    BOOST_TEST(!looks().empty()); // no launch has had it
}

BOOST_AUTO_TEST_CASE(nothing_is_only_counted) {
    run_both(folder, "copies_program");
    for (const Json& counter : dump(folder, "Counter"))
        for (const char* part : {"Memcpy", "Memset", "cuArray", "Mipmapped", "Batch", "Attach"})
            BOOST_TEST(lacks(counter.at("entry"), part), counter);
}

BOOST_AUTO_TEST_CASE(a_refused_call_has_one_record_with_its_status) {
    run_both(folder, "copies_program");
    std::map<std::string, int> refused;
    for (const char* kind : {"Copy", "Prefetch", "Discard", "Alloc", "Free"})
        for (const Json& record : dump(folder, kind))
            if (record.at("status") != 0)
                ++refused[record.at("entry")];
    const std::map<std::string, int> wanted = {{"cuMemcpy2D_v2", 2},           {"cuMemcpy3DAsync_v2", 1},
                                               {"cuMemcpyBatchAsync", 1},      {"cuMemcpy3DBatchAsync_v2", 1},
                                               {"cuMemDiscardBatchAsync", 1},  {"cuArrayCreate_v2", 2},
                                               {"cuMemPrefetchBatchAsync", 1}, {"cuArrayDestroy", 2}};
    BOOST_TEST((refused == wanted), Json(refused));
}

BOOST_AUTO_TEST_CASE(a_batch_is_one_call) {
    run_both(folder, "copies_program");
    for (const Json& copy : dump(folder, "Copy"))
        if (copy.at("batch") > 1)
            BOOST_TEST(copy.at("duration_ns") == 0, copy);
    const Json whole = report(folder);
    for (const auto& [entry, count] : {std::pair{"cuMemcpyBatchAsync_v2", 1},
                                       {"cuMemcpyBatchAsync", 2}, // one of them refused
                                       {"cuMemPrefetchBatchAsync_ptsz", 1},
                                       {"cuMemDiscardBatchAsync_ptsz", 1}})
        BOOST_TEST(calls_of(whole, entry).at("count") == count, entry);
}

BOOST_AUTO_TEST_CASE(arrays_are_allocations_that_end) {
    run_both(folder, "copies_program");
    std::map<std::uint64_t, std::uint64_t> live;
    std::uint64_t boxes = 0;
    for (const Json& made : dump(folder, "Alloc", {{"memory", "array"}, {"status", 0}})) {
        live[made.at("allocation")] = made.at("bytes");
        boxes += made.at("bytes") == 256 * 64 * 8;
        if (made.at("entry") == "cuMipmappedArrayCreate")
            BOOST_TEST(made.at("bytes") == 256 * 64 * 8 + 128 * 32 * 4);
        if (made.at("flags") == 0x40) // sparse
            BOOST_TEST(made.at("bytes") == 0);
    }
    BOOST_TEST(boxes == 1u);
    BOOST_TEST(live.size() == 5u);
    for (const Json& freed : dump(folder, "Free", {{"status", 0}}))
        live.erase(freed.at("allocation").get<std::uint64_t>());
    BOOST_TEST(live.empty());
    BOOST_TEST(notices(report(folder), "sparse"));
}

BOOST_DATA_TEST_CASE(captures_stay_sound, data::make(settings), setting) {
    const Outcome outcome = run_both(folder, "copies_program capture", setting);
    BOOST_TEST(times(outcome.out, "end: 0") == 2u, outcome.out);
    check(folder, "Copy");
}

BOOST_AUTO_TEST_CASE(copies_between_devices) {
    run_both(folder, "copies_program peer", "", "-2dev");
    check(folder, "Copy");
    std::map<std::uint64_t, std::uint64_t> device_of;
    for (const Json& made : dump(folder, "Alloc"))
        device_of[made.at("allocation")] = made.at("device");
    for (const Json& copy : dump(folder, "Copy")) {
        BOOST_TEST(device_of.at(copy.at("source_allocation")) == 0u);
        BOOST_TEST(device_of.at(copy.at("destination_allocation")) == 1u);
    }
    const Json whole = report(folder);
    for (const Json& copies : whole.at("copies"))
        BOOST_TEST(copies.at("direction") == "PtoP", copies);
}

BOOST_AUTO_TEST_CASE(what_a_copy_reached_is_prefetched_again) {
    run_both(folder, "copies_program managed", "UMADVISOR_ACT=prefetch");
    BOOST_TEST(
        hold(dump(folder, "Prefetch"), {{{"bytes", 8 << 20}}, {{"bytes", 2 << 20}, {"origin", "umadvisor"}}}));
}

BOOST_AUTO_TEST_SUITE_END()
