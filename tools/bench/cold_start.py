"""Times one path from a description to code on the GPU: compile and load, in this process, after its context exists.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

`cold_start.py BUILD FIELDS`, where FIELDS is a JSON object of flashc_attention_set's; prints one JSON object. The
bench of GPUs runs it with an empty FLASHC_CACHE_DIR and again with what that left there.
"""
import ctypes
import json
import os
import sys
import time

import cuda_kernel
import flashc_abi


def main():
    build, fields = sys.argv[1], json.loads(sys.argv[2])
    environment = {key: value for key, value in os.environ.items() if key.startswith("FLASHC_")}
    cuda = cuda_kernel.driver()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    cuda_kernel.check(cuda.cuInit(0), "cuInit")
    cuda_kernel.check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    cuda_kernel.check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")

    begin = time.perf_counter()
    library = flashc_abi.Library(build)
    os.environ.update(environment)  # the cache's folder and the driver, which the bindings clear for the CPU's bench
    opened = time.perf_counter()
    kernel = library.compile(library.describe(**fields))
    compiled = time.perf_counter()
    library.load_on_device(kernel, 0)
    loaded = time.perf_counter()
    print(json.dumps({"open_s": opened - begin, "compile_s": compiled - opened, "load_s": loaded - compiled,
                      "total_s": loaded - begin, "target": library.info(kernel)["target"]}))


if __name__ == "__main__":
    main()
