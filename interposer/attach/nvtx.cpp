/// The program's own names for its parts. NVTX, which is a header in the program, loads the library named by
/// NVTX_INJECTION64_PATH at the program's first NVTX call and asks it to replace the empty functions with its
/// own. `umadvisor run` sets that variable to this library, unless it is set already.
#include "interposer/base/pages.hpp"
#include "interposer/control/steps.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/wrappers/hook.hpp"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstring>
#include <string_view>

namespace umadvisor::attach {

namespace {

constinit record::Mutex mutex{record::Lock::lists};
constinit base::Arena arena;
constinit std::size_t names_kept = 0; ///< a program may register strings in a loop; no call frees them

constinit std::atomic<nvtxRangeId_t> last_range{0};

/// The name of a domain or of a registered string is its handle: a text that stays.
template <class Handle>
Handle keep(const char* text) {
    const record::Guard guard(mutex);
    if (text == nullptr)
        return nullptr;
    if (names_kept == record::most(record::Bound::nvtx_handles)) {
        record::reached(record::Bound::nvtx_handles);
        return nullptr;
    }
    const std::size_t bytes = strnlen(text, trace::max_text);
    char* const copy = static_cast<char*>(arena.take(bytes + 1, 1)); // zeroed: ends by itself
    if (copy == nullptr)
        return nullptr;
    ++names_kept;
    std::memcpy(copy, text, bytes);
    return reinterpret_cast<Handle>(copy);
}

std::string_view name_of(const void* handle) {
    return handle != nullptr ? static_cast<const char*>(handle) : std::string_view();
}

/// Only texts of bytes; a wide one is a range without a name.
std::string_view message_of(const nvtxEventAttributes_t* event) {
    if (event == nullptr || event->size < sizeof *event)
        return {};
    if (event->messageType == NVTX_MESSAGE_TYPE_ASCII && event->message.ascii != nullptr)
        return event->message.ascii;
    return event->messageType == NVTX_MESSAGE_TYPE_REGISTERED ? name_of(event->message.registered)
                                                              : std::string_view();
}

void write(trace::RangeAction action, const void* domain, std::string_view text,
           nvtxRangeId_t id = 0) noexcept {
    if (!record::takes(record::Taking::everything))
        return;
    const wrappers::KeepErrno keep_errno;
    control::note_range(action, text, id);
    trace::Range record;
    record.start = record::now();
    record.action = action;
    record.text = text.empty() ? 0 : record::string_id(text);
    record.domain = domain == nullptr ? 0 : record::string_id(name_of(domain));
    record.id = id;
    record::write(record);
}

std::string_view text_of(const char* text) {
    return text != nullptr ? text : std::string_view();
}

using trace::RangeAction;

// The program gets the same answers as without a tool, except for handles and ids.

void NVTX_API mark_ex(const nvtxEventAttributes_t* event) noexcept {
    write(RangeAction::mark, nullptr, message_of(event));
}
void NVTX_API mark_a(const char* text) noexcept {
    write(RangeAction::mark, nullptr, text_of(text));
}
void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) noexcept {
    write(RangeAction::mark, domain, message_of(event));
}

int NVTX_API push_ex(const nvtxEventAttributes_t* event) noexcept {
    write(RangeAction::push, nullptr, message_of(event));
    return NVTX_NO_PUSH_POP_TRACKING;
}
int NVTX_API push_a(const char* text) noexcept {
    write(RangeAction::push, nullptr, text_of(text));
    return NVTX_NO_PUSH_POP_TRACKING;
}
int NVTX_API push_w(const wchar_t*) noexcept {
    write(RangeAction::push, nullptr, {});
    return NVTX_NO_PUSH_POP_TRACKING;
}
int NVTX_API domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) noexcept {
    write(RangeAction::push, domain, message_of(event));
    return NVTX_NO_PUSH_POP_TRACKING;
}
int NVTX_API pop() noexcept {
    write(RangeAction::pop, nullptr, {});
    return NVTX_NO_PUSH_POP_TRACKING;
}
int NVTX_API domain_pop(nvtxDomainHandle_t domain) noexcept {
    write(RangeAction::pop, domain, {});
    return NVTX_NO_PUSH_POP_TRACKING;
}

nvtxRangeId_t start(const void* domain, std::string_view text) noexcept {
    const nvtxRangeId_t id = last_range.fetch_add(1, std::memory_order_relaxed) + 1;
    write(RangeAction::start, domain, text, id);
    return id;
}
nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t* event) noexcept {
    return start(nullptr, message_of(event));
}
nvtxRangeId_t NVTX_API start_a(const char* text) noexcept {
    return start(nullptr, text_of(text));
}
nvtxRangeId_t NVTX_API start_w(const wchar_t*) noexcept {
    return start(nullptr, {});
}
nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) noexcept {
    return start(domain, message_of(event));
}
void NVTX_API end(nvtxRangeId_t id) noexcept {
    write(RangeAction::end, nullptr, {}, id);
}
void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) noexcept {
    write(RangeAction::end, domain, {}, id);
}

nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, const char* text) noexcept {
    return keep<nvtxStringHandle_t>(text);
}
nvtxDomainHandle_t NVTX_API create_domain(const char* text) noexcept {
    return keep<nvtxDomainHandle_t>(text);
}

/// Puts functions into one of the tables of the program's NVTX; a shorter one is of an older NVTX.
class Table {
public:
    Table(const NvtxExportTableCallbacks& tables, NvtxCallbackModule module) {
        if (tables.GetModuleFunctionTable(module, &functions_, &size_) == 0)
            size_ = 0;
    }
    /// `Type` is what NVTX says the function must be.
    template <class Type>
    void set(unsigned id, Type function) {
        if (id < size_ && functions_[id] != nullptr)
            *functions_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
    }

private:
    NvtxFunctionTable functions_ = nullptr;
    unsigned size_ = 0;
};

void fill(const NvtxExportTableCallbacks& tables) {
    Table core(tables, NVTX_CB_MODULE_CORE), domains(tables, NVTX_CB_MODULE_CORE2);
    core.set<nvtxMarkEx_impl_fntype>(NVTX_CBID_CORE_MarkEx, mark_ex);
    core.set<nvtxMarkA_impl_fntype>(NVTX_CBID_CORE_MarkA, mark_a);
    core.set<nvtxRangeStartEx_impl_fntype>(NVTX_CBID_CORE_RangeStartEx, start_ex);
    core.set<nvtxRangeStartA_impl_fntype>(NVTX_CBID_CORE_RangeStartA, start_a);
    core.set<nvtxRangeStartW_impl_fntype>(NVTX_CBID_CORE_RangeStartW, start_w);
    core.set<nvtxRangeEnd_impl_fntype>(NVTX_CBID_CORE_RangeEnd, end);
    core.set<nvtxRangePushEx_impl_fntype>(NVTX_CBID_CORE_RangePushEx, push_ex);
    core.set<nvtxRangePushA_impl_fntype>(NVTX_CBID_CORE_RangePushA, push_a);
    core.set<nvtxRangePushW_impl_fntype>(NVTX_CBID_CORE_RangePushW, push_w);
    core.set<nvtxRangePop_impl_fntype>(NVTX_CBID_CORE_RangePop, pop);
    domains.set<nvtxDomainMarkEx_impl_fntype>(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex);
    domains.set<nvtxDomainRangeStartEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start_ex);
    domains.set<nvtxDomainRangeEnd_impl_fntype>(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
    domains.set<nvtxDomainRangePushEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangePushEx, domain_push_ex);
    domains.set<nvtxDomainRangePop_impl_fntype>(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
    domains.set<nvtxDomainRegisterStringA_impl_fntype>(NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
    domains.set<nvtxDomainCreateA_impl_fntype>(NVTX_CBID_CORE2_DomainCreateA, create_domain);
}

} // namespace

/// Called once by each object of the program that has NVTX in it. Zero: no tool, and its calls stay empty.
extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    if (!runtime::options().nvtx || get_table == nullptr)
        return 0;
    const auto* const tables = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    if (tables == nullptr || tables->struct_size < sizeof *tables)
        return 0;
    fill(*tables);
    return 1;
}

} // namespace umadvisor::attach
