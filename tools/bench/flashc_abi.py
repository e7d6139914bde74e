"""flashc's C interface (runtime/API/flashc.h) through ctypes.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

Needs nothing but Python: tensors are a pointer, a shape, strides and a type, so that other libraries can run on
the very same arrays.
"""
import ctypes
import json
import os

_FLOAT, _BFLOAT, _CPU, _CUDA = 2, 4, 1, 2
_TYPES = {"f32": (_FLOAT, 32), "f16": (_FLOAT, 16), "bf16": (_BFLOAT, 16)}


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class FlashcError(RuntimeError):
    """What flashc_last_error says; `status` is the flashc_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


UNSUPPORTED = 2


def tensor(pointer, dtype, shape, strides):
    """A view of memory that the caller keeps alive. Strides count elements."""
    n = len(shape)
    code, bits = _TYPES[dtype]
    view = _Tensor(pointer, _Device(_CPU, 0), n, _DataType(code, bits, 1), None, None, 0)
    view.shape = (ctypes.c_int64 * n)(*shape)
    view.strides = (ctypes.c_int64 * n)(*strides)
    return view


class Library:
    """libflashc-rt.so of a build folder; the compiler is the libflashc.so beside it.

    `cache` is the folder of kernels on disk; without it, the user's.
    """

    def __init__(self, build, cache=None):
        folder = os.path.join(build, "lib")
        for name in [name for name in os.environ if name.startswith("FLASHC_")]:
            del os.environ[name]
        os.environ["FLASHC_LIBRARY"] = os.path.join(folder, "libflashc.so")
        if cache:
            os.environ["FLASHC_CACHE_DIR"] = cache
        self._c = ctypes.CDLL(os.path.join(folder, "libflashc-rt.so"))
        for name in ("flashc_version", "flashc_last_error", "flashc_attention_help", "flashc_kernel_json"):
            getattr(self._c, name).restype = ctypes.c_char_p
        self.version = self._c.flashc_version().decode()

    def _check(self, status):
        if status:
            raise FlashcError(status, self._c.flashc_last_error().decode())

    def has_field(self, key):
        """Whether this version's descriptions have the field."""
        table = self._c.flashc_attention_help().decode()
        return any(line.split()[:1] == [key] for line in table.splitlines())

    def describe(self, **fields):
        """A description from its fields, dashes as underscores; None leaves a field out."""
        desc = ctypes.c_void_p()
        self._check(self._c.flashc_attention_create(ctypes.byref(desc)))
        for key, value in fields.items():
            if value is not None:
                self._check(
                    self._c.flashc_attention_set(
                        desc, key.replace("_", "-").encode(), str(value).encode()
                    )
                )
        return desc

    def compile(self, desc):
        """The kernel of a description, which stays the caller's."""
        kernel = ctypes.c_void_p()
        self._check(self._c.flashc_compile(desc, ctypes.byref(kernel)))
        return kernel

    def load_on_device(self, kernel, device):
        """Loads a GPU kernel's code on GPU `device`, as its first run would."""
        self._check(self._c.flashc_kernel_prepare(kernel, _Device(_CUDA, device)))

    def release(self, kernel):
        self._c.flashc_kernel_release(kernel)

    def info(self, kernel):
        """What the kernel says of itself: target, schedule, arguments, ..."""
        return json.loads(self._c.flashc_kernel_json(kernel))

    def prepare(self, kernel, tensors, threads):
        """A function that runs the kernel once on `tensors` (arguments in order), with its own workspace."""
        count = len(tensors)
        pointers = (ctypes.POINTER(_Tensor) * count)(*[ctypes.pointer(t) for t in tensors])
        size = ctypes.c_size_t()
        self._check(
            self._c.flashc_workspace_size(kernel, pointers, ctypes.c_size_t(count), ctypes.byref(size))
        )
        buffer = ctypes.create_string_buffer(size.value + 64) if size.value else None
        workspace = ctypes.c_void_p((ctypes.addressof(buffer) + 63) & ~63) if buffer else None
        arguments = (
            kernel, pointers, ctypes.c_size_t(count), workspace, ctypes.c_size_t(size.value),
            ctypes.c_int32(threads), None,
        )
        function = self._c.flashc_run

        def run(keep=(buffer, tensors, pointers)):
            if function(*arguments):
                raise FlashcError(0, self._c.flashc_last_error().decode())

        return run
