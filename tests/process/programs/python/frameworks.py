"""Pageable copies of changing memory by way of a framework, of a package that is none, and of ctypes alone."""
import ctypes
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent / "site-packages"))
import torch
import torchless

import driver

size = ctypes.c_size_t(4 << 20)
host = ctypes.create_string_buffer(size.value)
driver.start()
driver.allocate(size.value)
for k in range(16): driver.released.cuMemsetD8_v2(driver.address, k, size); torch.copy_to(host, size)  # noqa: E701,E702
for k in range(16): driver.released.cuMemsetD8_v2(driver.address, k, size); torchless.copy_to(host, size)  # noqa: E701,E702
for k in range(16): driver.released.cuMemsetD8_v2(driver.address, k, size); driver.released.cuMemcpyDtoH_v2(host, driver.address, size)  # noqa: E701,E702
