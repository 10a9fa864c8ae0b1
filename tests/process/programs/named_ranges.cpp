/// A program that names its parts by NVTX, before and after it enters CUDA, in every form there is.
#include <cstdio>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <thread>

namespace {

nvtxEventAttributes_t event_of(nvtxMessageType_t type) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = type;
    return event;
}

/// More labels than umadvisor keeps.
int name_too_many() {
    void* memory = nullptr;
    if (cudaMalloc(&memory, 4096) != cudaSuccess)
        return 1;
    for (int i = 0; i < 65536 + 1000; ++i) {
        nvtxRangePushA(("label " + std::to_string(i)).c_str());
        nvtxRangePop();
    }
    return cudaFree(memory) == cudaSuccess ? 0 : 1;
}

} // namespace

int main(int argc, char**) {
    if (argc > 1)
        return name_too_many();
    // No trace yet: nothing of these is recorded, and what they make holds later.
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    nvtxStringHandle_t inner = nvtxDomainRegisterStringA(domain, "inner");
    std::printf("%d\n", nvtxRangePushA("too early"));
    std::printf("%d\n", nvtxRangePop());

    void* memory = nullptr;
    std::printf("%d\n", static_cast<int>(cudaMalloc(&memory, 4096)));
    nvtxRangePushA("step");
    nvtxEventAttributes_t event = event_of(NVTX_MESSAGE_TYPE_REGISTERED);
    event.message.registered = inner;
    nvtxDomainRangePushEx(domain, &event);
    nvtxMarkA("here");
    event = event_of(NVTX_MESSAGE_TYPE_ASCII);
    char text[] = "once";
    event.message.ascii = text;
    nvtxDomainRangePushEx(domain, &event);
    text[0] = 'O'; // the caller's again
    nvtxDomainRangePop(domain);
    nvtxDomainRangePop(domain);
    const nvtxRangeId_t one = nvtxRangeStartA("one");
    event.message.ascii = "other";
    const nvtxRangeId_t other = nvtxDomainRangeStartEx(domain, &event);
    nvtxRangeEnd(one);
    nvtxDomainRangeEnd(domain, other);
    event.size = 8; // of a version that nobody knows
    nvtxRangePushEx(&event);
    nvtxRangePop();
    nvtxRangePop();
    std::thread([] {
        nvtxRangePushA("thread");
        nvtxRangePop();
    }).join();
    nvtxDomainDestroy(domain);
    std::printf("%d\n", static_cast<int>(cudaFree(memory)));
    return 0;
}
