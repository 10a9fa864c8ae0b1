/// What is looked at again behind an upload: its source may have changed.
#include "observed_copies.hpp"

BOOST_FIXTURE_TEST_SUITE(observe_sources, umadvisor::observe::Copies)

using namespace umadvisor;
using namespace umadvisor::observe;

BOOST_AUTO_TEST_CASE(a_source_that_has_changed_is_told_before_the_wait) {
    using trace::SyncKind;
    allocate(Memory::pinned, true);
    const trace::Copy record = upload_async(17);
    BOOST_TEST(record.content.part_hash != 0u);
    BOOST_TEST(record.content_follows == 0u);
    BOOST_TEST(told_before(SyncKind::stream, stream) == 0u); // it is as it was
    host[0] ^= 1;
    BOOST_TEST(told_before(SyncKind::stream, stream) == 0u); // it was waited for
    for (const auto& [kind, object] : {std::pair(SyncKind::stream, stream), std::pair(SyncKind::context, 0ul),
                                       std::pair(SyncKind::event, 0x99ul)}) {
        recorder().clear();
        upload_async(18);
        BOOST_TEST(told_before(SyncKind::stream, stream + 1) == 0u); // it says nothing
        host[0] ^= 1;
        BOOST_TEST(told_before(kind, object) == 1u);
        const trace::Content& told = recorder().contents.front();
        BOOST_TEST(told.copy == 18u);
        BOOST_TEST(told.source_changed == 1u);
        BOOST_TEST(told.content.part_hash == upload(Memory::pinned).part_hash);
        BOOST_TEST(told_before(kind, object) == 1u); // once
    }
}

BOOST_AUTO_TEST_CASE(sources_that_the_program_may_change) {
    using trace::SyncKind;
    allocate(Memory::pinned, true);
    for (const auto& [kind, object] :
         {std::pair(SyncKind::stream_query, stream), std::pair(SyncKind::event_query, 0x99ul),
          std::pair(SyncKind::stream, stream), std::pair(SyncKind::context, 0ul)}) {
        upload_async(1);
        told_after(kind, object); // done
        host[0] ^= 1;
        BOOST_TEST(told_before(SyncKind::context) == 0u);
    }
    upload_async(2);
    host[0] ^= 1;
    std::thread([&] { BOOST_TEST(told_before(SyncKind::context) == 0u); }).join(); // another's upload
    BOOST_TEST(told_before(SyncKind::context) == 1u);
    upload(Memory::pinned); // synchronous
    host[0] ^= 1;
    BOOST_TEST(told_before(SyncKind::context) == 1u);
    upload_async(3);
    download(4); // which changes it
    host[0] ^= 1;
    BOOST_TEST(recorder().contents.size() == 1u);
    trace::Sync sync;
    contents->before_sync(sync);
    BOOST_TEST(recorder().contents.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_source_is_looked_at_twice_more_at_the_most) {
    allocate(Memory::pinned, true);
    upload_async(1);
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(told_before(trace::SyncKind::event) == 0u);
    host[0] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::event) == 0u);
    upload_async(2);
    BOOST_TEST(told_before(trace::SyncKind::event) == 0u); // of another buffer
    host[0] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::event) == 1u);
}

BOOST_AUTO_TEST_CASE(a_source_that_is_sent_again_in_other_bounds_is_looked_at) {
    allocate(Memory::pinned, true);
    upload_async(1, 0, bytes / 2);
    host[0] ^= 1;
    upload_async(2, bytes / 2, bytes / 2);
    BOOST_TEST(recorder().contents.empty());
    upload_async(3, page, page);
    BOOST_REQUIRE(recorder().contents.size() == 1u);
    BOOST_TEST(recorder().contents.front().copy == 1u);
    host[page] ^= 1;
    upload_async(4, page, page); // the same bytes: the records of both have hashes
    BOOST_TEST(recorder().contents.size() == 1u);
    host[page] ^= 1;
    upload(Memory::pinned); // a synchronous copy waits
    BOOST_TEST(recorder().contents.size() == 2u);
    BOOST_TEST(recorder().contents.back().copy == 4u);
}

BOOST_AUTO_TEST_CASE(the_latest_uploads_of_a_stream_are_looked_at) {
    allocate(Memory::pinned, true);
    for (std::uint64_t i = 0; i < 40; ++i)
        upload_async(100 + i, i * page, page, stream + i % 5);
    for (std::uint64_t i = 0; i < 40; ++i)
        host[i * page] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::context) == 32u);
    BOOST_TEST(recorder().contents.front().copy == 108u);
    recorder().clear();
    for (std::uint64_t i = 0; i < 40; ++i)
        upload_async(100 + i, i * page, page);
    for (std::uint64_t i = 0; i < 40; ++i)
        host[i * page] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::context) == 8u);
    BOOST_TEST(recorder().contents.front().copy == 132u);
}

BOOST_AUTO_TEST_CASE(a_source_that_is_gone_is_not_read) {
    const std::uint64_t first = allocate(Memory::pinned, true);
    upload_async(1);
    BOOST_REQUIRE(erase_allocation(address()));
    host[0] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::event) == 0u); // freed
    BOOST_TEST(allocate(Memory::pinned, true) != first);
    BOOST_TEST(told_before(trace::SyncKind::event) == 0u); // and another since
    upload_async(2);
    munmap(host, page);
    BOOST_TEST(told_before(trace::SyncKind::event) == 0u); // without a call
}

BOOST_AUTO_TEST_CASE(looking_again_keeps_to_its_share) {
    allocate(Memory::pinned, true);
    for (std::size_t i = 0; i < 2; ++i) // takes what only a millisecond of run time would bring again
        upload(Memory::pinned, bytes - i);
    upload_async(1);
    contents->set_allowance(0);
    host[0] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::event) == 0u);
    contents->set_allowance(1'000'000'000'000);
    BOOST_TEST(told_before(trace::SyncKind::event) == 1u);
}

BOOST_AUTO_TEST_CASE(uploads_that_are_measured_have_a_share_of_their_own) {
    allocate(Memory::pinned, true);
    upload(Memory::pinned);
    contents->set_allowance(1'300'000); // 20 looks at sources of others, by the model
    const auto change_each = [this](std::uint64_t rounds, std::uint64_t sample) {
        recorder().clear();
        for (std::uint64_t i = 0; i < rounds; ++i) {
            upload_async(100 + i, 0, bytes, stream, sample);
            host[0] ^= 1;
            told_before(trace::SyncKind::context);
        }
        return recorder().contents.size();
    };
    const std::size_t unmeasured = change_each(45, 0);
    BOOST_TEST(unmeasured >= 15u);
    BOOST_TEST(unmeasured <= 25u);
    BOOST_TEST(change_each(1, 7) == 1u);
    BOOST_TEST(change_each(1, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(all_of_a_source_is_looked_at_again_where_all_was) {
    hash("full");
    allocate(Memory::pinned, true);
    upload_async(1);
    host[bytes / 2 + page] ^= 1; // in no part
    BOOST_TEST(told_before(trace::SyncKind::event) == 1u);
    BOOST_TEST(recorder().contents.front().content.whole_hash != 0u);
    hash("sample");
    upload_async(2);
    upload_async(3);
    BOOST_TEST(upload_async(4).content.whole_hash != 0u);
    host[bytes / 2 + page] ^= 1;
    BOOST_TEST(told_before(trace::SyncKind::event) == 1u); // parts alone
}

BOOST_AUTO_TEST_SUITE_END()
