#include "tools/simcuda/runtime/runtime.hpp"

using namespace simcuda::runtime;

extern "C" cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
    return with_driver([&](const Driver& real) { return real.graph_destroy(graph); });
}

extern "C" cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                      unsigned long long flags) {
    return with_driver([&](const Driver& real) { return real.graph_instantiate(exec, graph, flags); });
}

extern "C" cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    return with_driver([&](const Driver& real) { return real.graph_launch(exec, stream); });
}

extern "C" cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                                     cudaGraphExecUpdateResultInfo* info) {
    return with_driver([&](const Driver& real) {
        CUgraphExecUpdateResultInfo told{};
        const CUresult answer = real.graph_update
                                    ? real.graph_update(exec, graph, &told)
                                    : real.graph_update_old(exec, graph, &told.errorNode, &told.result);
        if (info) {
            info->result = static_cast<cudaGraphExecUpdateResult>(told.result);
            info->errorNode = told.errorNode;
            info->errorFromNode = told.errorFromNode;
        }
        return answer;
    });
}

extern "C" cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t exec) {
    return with_driver([&](const Driver& real) { return real.graph_exec_destroy(exec); });
}
