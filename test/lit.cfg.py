# The lit suite: one test per pass, dialect and tool, with its errors beside it.
#
# Run by CTest, or by hand with the lit of LLVM 22: lit -v build/test/lit --filter Dialect
import os
import platform
import shutil

import lit.formats

config.name = "flashc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "Fuzz", "Support", "Integration", "data"]
config.test_source_root = os.path.join(config.source_root, "test")
config.test_exec_root = os.path.join(config.build_root, "test", "lit")

bin_dir = os.path.join(config.build_root, "bin")
llvm_bin = os.path.dirname(config.filecheck)
config.environment["PATH"] = os.pathsep.join([bin_dir, llvm_bin, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-context=3"
# Tests see neither the caller's library nor a cache of kernels.
for name in [name for name in config.environment if name.startswith("FLASHC_")]:
    del config.environment[name]
for name in ("HOME", "XDG_CACHE_HOME"):
    config.environment.pop(name, None)

config.substitutions.append(("%{flashc}", os.path.join(bin_dir, "flashc")))
config.substitutions.append(("%data", os.path.join(config.test_source_root, "data")))
config.substitutions.append(("%{python}", config.python or "python3"))
# A driver without a GPU, and none at all whatever the machine has.
fake_cuda = os.path.join(config.build_root, "test", "unit", "libFlashcFakeCUDA.so")
config.substitutions.append(("%{fake-cuda-library}", fake_cuda))
config.substitutions.append(("%{fake-cuda}", "FLASHC_CUDA_PATH=/nowhere FLASHC_LIBCUDA=" + fake_cuda))
fake_ptxas = os.path.join(config.build_root, "test", "unit", "toolkit12", "bin", "ptxas")
config.substitutions.append(("%{fake-ptxas}", fake_ptxas))
link_test = os.path.join(config.build_root, "test", "unit", "GPUTemplatesTest")
config.substitutions.append(("%{link-test}", link_test + " --gtest_filter=GPULinkTest.*"))
config.substitutions.append(("%{no-cuda}", "FLASHC_LIBCUDA=libcuda-none.so.1"))

if os.path.exists(os.path.join(bin_dir, "flashc")):
    config.available_features.add("flashc")
if config.python:
    config.available_features.add("python")
# Where flashc looks for the CUDA toolkit's assembler.
if os.path.exists("/usr/local/cuda/bin/ptxas") or shutil.which("ptxas"):
    config.available_features.add("ptxas")
# What this processor can run; the least that is asked of a machine is AVX2 and FMA.
try:
    with open("/proc/cpuinfo") as info:
        flags = next(line for line in info if line.startswith("flags")).split()
    for flag in ("avx512f", "avx512_bf16", "amx_tile"):
        if flag in flags:
            config.available_features.add(flag)
    with open("/proc/cpuinfo") as info:
        if "avx512f" in flags and any("GenuineIntel" in line for line in info):
            config.available_features.add("intel-avx512")
except (OSError, StopIteration):
    pass
