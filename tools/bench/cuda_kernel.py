"""Kernels of `flashc compile` and other cubins on the GPU, launched through the driver on PyTorch's tensors.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

Nothing of flashc is needed but the PTX: its first line describes the arguments, the grids and the workspace
(compiler/Target/GPU). Launches are prepared once, so that repeating one costs a driver call per phase, can be
captured in a CUDA graph, and is no measure of Python.
"""
import ctypes
import dataclasses
import json
import math
import os

PREFIX = b"// flashc_kernel_info "

# CUfunction_attribute and CUjit_option of the driver's interface.
_LOCAL_BYTES, _REGISTERS, _MAX_DYNAMIC_SHARED = 3, 4, 8
_LOG_BUFFER, _LOG_SIZE = 5, 6
# CUlaunchAttributeID: programmatic stream serialization.
_EARLY_LAUNCH = 6

_driver = None


def driver():
    """The driver; its primary context must be current, as after PyTorch's first call."""
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL(os.environ.get("FLASHC_LIBCUDA", "libcuda.so.1"))
    return _driver


def check(result, call):
    if result:
        name = ctypes.c_char_p()
        driver().cuGetErrorName(result, ctypes.byref(name))
        raise RuntimeError(f"{call}: {(name.value or b'unknown error').decode()}")


def load(image):
    """A module of a cubin or of PTX."""
    module = ctypes.c_void_p()
    log = ctypes.create_string_buffer(8192)
    options = (ctypes.c_int * 2)(_LOG_BUFFER, _LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
    result = driver().cuModuleLoadDataEx(ctypes.byref(module), image + b"\0", 2, options, values)
    check(result, f"cuModuleLoadDataEx ({log.value.decode(errors='replace').strip()})")
    return module


def function(module, entry, shared_bytes):
    result = ctypes.c_void_p()
    check(driver().cuModuleGetFunction(ctypes.byref(result), module, entry.encode()), f"cuModuleGetFunction {entry}")
    check(driver().cuFuncSetAttribute(result, _MAX_DYNAMIC_SHARED, shared_bytes), f"cuFuncSetAttribute {entry}")
    return result


def registers(entry):
    """(registers, bytes of local memory) of a thread of a function, with what it calls."""
    values = []
    for attribute in (_REGISTERS, _LOCAL_BYTES):
        value = ctypes.c_int()
        check(driver().cuFuncGetAttribute(ctypes.byref(value), attribute, entry), "cuFuncGetAttribute")
        values.append(value.value)
    return tuple(values)


class _LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int), ("unused", ctypes.c_char * 60)]


class _LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_LaunchAttribute)), ("count", ctypes.c_uint)]


@dataclasses.dataclass
class Launch:
    """A function with its grid and the values of its parameters; dependent: it waits itself for the one before."""

    function: ctypes.c_void_p
    grid: int
    threads: int
    shared_bytes: int
    values: list
    dependent: bool = False

    def __post_init__(self):
        self.array = (ctypes.c_void_p * len(self.values))(*[ctypes.addressof(value) for value in self.values])
        self.early = _LaunchAttribute(_EARLY_LAUNCH, 0, 1)
        self.config = _LaunchConfig((self.grid, 1, 1), (self.threads, 1, 1), self.shared_bytes, None,
                                    ctypes.pointer(self.early), int(self.dependent))

    def queue(self, stream):
        self.config.stream = stream
        result = driver().cuLaunchKernelEx(ctypes.byref(self.config), self.function, self.array, None)
        if result:
            check(result, f"cuLaunchKernelEx with grid {self.grid}, {self.threads} threads, {self.shared_bytes} bytes "
                          "of shared memory")


def launcher(launches, keep, stream):
    """A function that queues all of `launches`."""

    def run(stream_handle=None, keep=keep):
        for launch in launches:  # none of which has an empty grid
            launch.queue(stream if stream_handle is None else stream_handle)

    return run


def evaluate(expression, shapes):
    """A grid or workspace of a description, for the shapes of all arguments."""
    if isinstance(expression, int):
        return expression
    kind, *operands = expression
    if kind == "dim":
        return shapes[operands[0]][operands[1]]
    x, y = (evaluate(operand, shapes) for operand in operands)
    return {
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "mul": lambda: x * y,
        "div": lambda: x // y if y else 0,
        "rem": lambda: x % y if y else 0,
        "max": lambda: max(x, y),
        "min": lambda: min(x, y),
    }[kind]()


def describe(ptx):
    """The description on the first line of a kernel's PTX."""
    line = ptx.partition(b"\n")[0]
    if not line.startswith(PREFIX):
        raise RuntimeError(f"expected PTX of flashc that begins with '{PREFIX.decode()}', got '{line[:40].decode()}'")
    return json.loads(line[len(PREFIX):])


class Kernel:
    """A kernel of flashc: its description from the PTX, its code from the cubin, else from the PTX."""

    def __init__(self, ptx, cubin=None):
        self.info = describe(ptx)
        self.module = load(cubin or ptx)
        self.functions = [function(self.module, k["entry"], k["shared_bytes"]) for k in self.info["kernels"]]

    def workspace_bytes(self, *shapes):
        return evaluate(self.info["workspace"], shapes)

    def prepare(self, tensors, stream=0, workspace=None):
        """A function that runs the kernel once on `tensors` (arguments in order); workspace: of PyTorch."""
        import torch

        shapes = [list(t.shape) for t in tensors]
        size = self.workspace_bytes(*shapes)
        if workspace is None:
            workspace = torch.empty(max(size, 1), dtype=torch.int8, device=tensors[0].device)
        values = []
        for t in (*tensors, workspace):
            values += [t.data_ptr(), *t.shape, *t.stride()]
        launches = [
            Launch(f, evaluate(k["grid"], shapes), k["threads"], k["shared_bytes"],
                   [ctypes.c_int64(v) for v in (*values, *(evaluate(fact, shapes) for fact in k["facts"]))],
                   k["dependent"])
            for f, k in zip(self.functions, self.info["kernels"])
        ]
        return launcher(launches, (tensors, workspace), stream)


class OtherKernel:
    """A line of a variants.txt: name, cubin, entry, D, queries per block, threads, shared bytes, causal.

    It reads dense [B,H,S,D] and gives the log of the denominators too; S is a multiple of the queries per block.
    """

    def __init__(self, folder, line):
        self.name, cubin, self.entry, *numbers = line.split()
        self.d, self.rows, self.threads, self.shared, self.causal = map(int, numbers[:5])
        with open(os.path.join(folder, cubin), "rb") as file:
            self.function = function(load(file.read()), self.entry, self.shared)

    def prepare(self, q, k, v, o, lse, stream=0):
        b, h, s, d = q.shape
        tiles, group = s // self.rows, 1
        if self.causal:  # heads whose tiles are visited together, so that the L2 cache holds their keys and values
            most = max(1, int(32e6 // (s * d * 4)))
            while group * 2 <= most and (b * h) % (group * 2) == 0:
                group *= 2
        values = [ctypes.c_void_p(x.data_ptr()) for x in (q, k, v, o, lse)]
        values += [ctypes.c_int(s), ctypes.c_float(math.log2(math.e) / math.sqrt(d)), ctypes.c_int(tiles),
                   ctypes.c_int(group)]
        return launcher([Launch(self.function, tiles * b * h, self.threads, self.shared, values)], (q, k, v, o, lse),
                        stream)
