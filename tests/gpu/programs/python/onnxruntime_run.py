"""A model of ONNX Runtime's on the device, whose inputs and outputs lie in pageable memory."""

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

SIZE = 512
weights = numpy.random.rand(SIZE, SIZE).astype(numpy.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4096, SIZE])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4096, SIZE])],
    [helper.make_tensor("w", TensorProto.FLOAT, [SIZE, SIZE], weights.tobytes(), raw=True)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
x = numpy.random.rand(4096, SIZE).astype(numpy.float32)
total = sum(float(session.run(None, {"x": x})[0][0, 0]) for _ in range(60))
print("positive", total > 0)
