"""Measures one cell of the CPU bench: one problem, every library, the same arrays, turn by turn.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

cpu.py runs it once per cell, in a fresh process: `cell.py BUILD SPEC`, where SPEC is a JSON object with the
fields of `Problem` below; it prints one JSON object. Every result is compared with PyTorch's, computed in f32,
so that a wrong one cannot be fast.
"""
import dataclasses
import json
import math
import sys
import tempfile
import time

import flashc_abi

# Root mean square of the difference, relative to the result's own: rounding only.
TOLERANCE = {"f32": 2e-5, "bf16": 2e-2}


@dataclasses.dataclass
class Problem:
    """[b, h, sq, d] queries, [b, h_kv, sk, d] keys and values, dense in this order."""

    b: int
    h: int
    h_kv: int
    sq: int
    sk: int
    d: int
    dtype: str = "f32"
    causal: bool = False
    targets: tuple = ("",)
    strategies: tuple = ("online",)
    peers: tuple = ("torch", "ort")
    threads: int = 2
    turns: int = 7  # of every library, one after the other
    turn_s: float = 0.03  # the least time of a turn, if a call is shorter
    copies: int = 1  # of keys and values, used in turn, so that no cache holds them

    def pairs(self):
        """Kept pairs of a query and a key; causal masks are square here."""
        return self.b * self.h * (self.sq * (self.sq + 1) // 2 if self.causal else self.sq * self.sk)

    def flops(self):
        return 4 * self.d * self.pairs()

    def bytes(self):
        """Every input and result once."""
        size = 4 if self.dtype == "f32" else 2
        return size * self.b * self.d * (2 * self.h * self.sq + 2 * self.h_kv * self.sk)


class Arrays:
    def __init__(self, torch, problem):
        p = problem
        torch.manual_seed(0)
        self.dtype = torch.float32 if p.dtype == "f32" else torch.bfloat16

        def normal(*shape):
            return torch.randn(*shape, dtype=torch.float32).to(self.dtype)

        self.q = normal(p.b, p.h, p.sq, p.d)
        k, v = normal(p.b, p.h_kv, p.sk, p.d), normal(p.b, p.h_kv, p.sk, p.d)
        self.kv = [(k, v)] + [(k.clone(), v.clone()) for _ in range(p.copies - 1)]

    @staticmethod
    def view(tensor, dtype):
        """[b, s, h, d] of flashc, by strides."""
        b, h, s, d = tensor.shape
        strides = [tensor.stride(n) for n in (0, 2, 1, 3)]
        return flashc_abi.tensor(tensor.data_ptr(), dtype, [b, s, h, d], strides)


class Contender:
    """`call(n)` computes with the n-th copy; `result()` is the last call's, [b, h, s, d]."""

    def __init__(self, name, call, result, about=None):
        self.name, self.call, self.result, self.about = name, call, result, about or {}
        self.samples = []


def torch_contender(torch, p, arrays):
    attention = torch.nn.functional.scaled_dot_product_attention
    options = {"is_causal": p.causal}
    if p.h != p.h_kv:
        options["enable_gqa"] = True
    box = [None]

    def call(n):
        k, v = arrays.kv[n]
        box[0] = attention(arrays.q, k, v, **options)

    return Contender("torch", call, lambda: box[0], {"version": torch.__version__})


def ort_contender(torch, p, arrays, rank):
    """com.microsoft.MultiHeadAttention; keys and values [b, s, h*d] (rank 3) or [b, h, s, d] (rank 4)."""
    import onnxruntime
    from onnx import TensorProto, helper

    def info(name, rank):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank)

    node = helper.make_node(
        "MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=p.h,
        unidirectional=int(p.causal),
    )
    graph = helper.make_graph([node], "g", [info("q", 3), info("k", rank), info("v", rank)], [info("o", 3)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = p.threads
    # Its threads spin within a call as ever, but not into the turns of the others.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def merged(tensor):
        b, h, s, d = tensor.shape
        return tensor.transpose(1, 2).reshape(b, s, h * d).contiguous()

    k, v = arrays.kv[0]
    inputs = {"q": merged(arrays.q), "k": k if rank == 4 else merged(k), "v": v if rank == 4 else merged(v)}
    output = torch.empty(p.b, p.sq, p.h * p.d)
    binding = session.io_binding()
    for name, tensor in inputs.items():
        binding.bind_cpu_input(name, tensor.numpy())
    value = onnxruntime.OrtValue.ortvalue_from_numpy(output.numpy())
    binding.bind_ortvalue_output("o", value)

    def result():
        return torch.from_numpy(value.numpy()).reshape(p.b, p.sq, p.h, p.d).transpose(1, 2)

    def call(_, keep=inputs):
        session.run_with_iobinding(binding)

    return Contender("ort", call, result, {"version": onnxruntime.__version__, "rank": rank})


def faster(first, second):
    """The faster of two, by the better of three calls each."""
    best = {}
    for contender in (first, second):
        contender.call(0)
        best[contender] = min(timed(contender, 0) for _ in range(3))
    return min(best, key=best.get)


def flashc_contender(torch, p, arrays, library, target, strategy):
    desc = library.describe(
        dtype=p.dtype, head_dim=p.d, causal="bottom-right" if p.causal else None, target=target,
        strategy=strategy, queries=1 if p.sq == 1 and library.has_field("queries") else None,
    )
    kernel = library.compile(desc)
    output = torch.full((p.b, p.h, p.sq, p.d), math.nan, dtype=arrays.dtype)
    runs = []
    for k, v in arrays.kv:
        views = [Arrays.view(tensor, p.dtype) for tensor in (arrays.q, k, v, output)]
        runs.append(library.prepare(kernel, views, p.threads))
    info = library.info(kernel)
    name = f"flashc {info['target']}" + ("" if strategy == "online" else " " + strategy)
    about = {"target": info["target"], "schedule": info["schedule"], "strategy": strategy}
    return Contender(name, lambda n: runs[n](), lambda: output, about)


def timed(contender, n):
    begin = time.perf_counter()
    contender.call(n)
    return time.perf_counter() - begin


def measure(contenders, p):
    copy = 0
    calls = {}
    for contender in contenders:
        first = timed(contender, 0)
        second = timed(contender, 0)
        least = min(first, second)
        calls[contender] = max(1, min(20, math.ceil(p.turn_s / least)), p.copies if least < 0.02 else 1)
        contender.untimed = least < 0.1  # long calls warm up by themselves
    for _ in range(p.turns):
        for contender in contenders:
            time.sleep(0.02)  # the last one's threads go to sleep
            if contender.untimed:
                contender.call(copy % p.copies)
                copy += 1
            for _ in range(calls[contender]):
                contender.samples.append(timed(contender, copy % p.copies))
                copy += 1


def compare(torch, result, reference):
    difference = (result.to(torch.float32) - reference).double()
    rms = reference.double().pow(2).mean().sqrt()
    return {
        "max_abs": difference.abs().max().item(),
        "relative_rms": (difference.pow(2).mean().sqrt() / rms).item(),
    }


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def run(build, p):
    import torch

    torch.set_num_threads(p.threads)
    torch.set_grad_enabled(False)
    arrays = Arrays(torch, p)
    library = flashc_abi.Library(build)
    contenders, skipped = [], {}
    for target in p.targets:
        for strategy in p.strategies:
            try:
                contenders.append(flashc_contender(torch, p, arrays, library, target, strategy))
            except flashc_abi.FlashcError as error:
                if error.status != flashc_abi.UNSUPPORTED:
                    raise
                skipped[target] = str(error)
    if "torch" in p.peers:
        contenders.append(torch_contender(torch, p, arrays))
    if "ort" in p.peers:
        contenders.append(faster(*[ort_contender(torch, p, arrays, rank) for rank in (3, 4)]))

    k, v = (tensor.to(torch.float32) for tensor in arrays.kv[0])
    reference = torch.nn.functional.scaled_dot_product_attention(
        arrays.q.to(torch.float32), k, v, is_causal=p.causal, enable_gqa=p.h != p.h_kv
    )
    measure(contenders, p)
    rows = {}
    for contender in contenders:
        seconds = median(contender.samples)
        error = compare(torch, contender.result(), reference)
        rows[contender.name] = {
            **contender.about,
            "median_s": seconds,
            "min_s": min(contender.samples),
            "samples": len(contender.samples),
            "gflop_per_s": p.flops() / seconds * 1e-9,
            "gb_per_s": p.bytes() / seconds * 1e-9,
            **error,
            "correct": error["relative_rms"] <= TOLERANCE[p.dtype],  # false for NaN
        }
    return {"problem": dataclasses.asdict(p), "rows": rows, "skipped": skipped}


def run_compile(build, spec):
    """Compile time of one variant: the first call in a process, others like it, and the same again."""
    # Nothing compiled earlier may answer, so the kernels on disk are in a folder that begins empty.
    with tempfile.TemporaryDirectory(prefix="flashc-bench-") as cache:
        return time_compiling(flashc_abi.Library(build, cache), spec)


def time_compiling(library, spec):
    desc = library.describe(**spec["fields"])

    def call(desc):
        begin = time.perf_counter()
        kernel = library.compile(desc)
        return time.perf_counter() - begin, kernel

    cold, kernel = call(desc)
    again = median([call(desc)[0] for _ in range(spec["turns"])])
    loaded = []
    for n in range(spec["turns"]):  # another name is another kernel
        loaded.append(call(library.describe(**spec["fields"], name=f"kernel{n}"))[0])
    return {"fields": spec["fields"], "target": library.info(kernel)["target"], "cold_s": cold,
            "compile_s": median(loaded), "again_s": again}


def main():
    build, spec = sys.argv[1], json.loads(sys.argv[2])
    if "fields" in spec:
        result = run_compile(build, spec)
    else:
        result = run(build, Problem(**spec))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
