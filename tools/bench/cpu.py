"""Measures flashc on this CPU beside PyTorch and ONNX Runtime, and says which bars it meets.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

Run it by tools/bench/cpu, which makes the virtual environment and builds flashc. Every cell of the tables is a
process of its own (cell.py), in which the libraries take turns on the same arrays; the peaks of the machine
(peak.c) are measured before, between and after the sections. The table, the plot and the numbers go to
tools/bench/results/.
"""
import argparse
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import time

import cpu_report
import memory

HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ("f32", "f32-causal", "bf16", "bf16-causal", "decode", "standard", "compile", "memory")

# PyTorch as on a machine that has AVX-512 BF16 but no AMX: what the dot products' target competes with.
WITHOUT_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "MKL_ENABLE_INSTRUCTIONS": "AVX512_E3"}


def say(text):
    print(text, file=sys.stderr, flush=True)


def command(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def choose_processors(count):
    """Processors of `count` different cores, as far as this process may use so many."""
    chosen, cores = [], set()
    for cpu in sorted(os.sched_getaffinity(0)):
        folder = f"/sys/devices/system/cpu/cpu{cpu}/topology/"
        try:
            core = tuple(open(folder + name).read() for name in ("physical_package_id", "core_id"))
        except OSError:
            core = (cpu,)
        if core not in cores:
            cores.add(core)
            chosen.append(cpu)
    if len(chosen) < count:
        sys.exit(f"error: expected {count} cores, got {len(chosen)}; choose fewer --threads")
    return chosen[:count]


def describe_machine(build):
    lines = [json.loads(line) for line in command(f"{build}/bin/flashc", "targets", "--json").splitlines()]
    info = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        info.setdefault(key.strip(), value.strip())
    machine = next(line for line in lines if line["kind"] == "machine")
    caches = {}
    for index in range(4):
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}/"
        try:
            level, kind, size = (open(folder + n).read().strip() for n in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            caches["L" + level] = size
    return {
        "cpu": machine["cpu"],
        "vendor": info.get("vendor_id", ""),
        "model": "family {cpu family}, model {model}, stepping {stepping}".format(**info),
        "caches": caches,
        "kernel": os.uname().release,
        "processors": machine["processors"],
        "best_target": machine["best_target"],
        "bf16_targets": machine["bf16_targets"],
        "targets": [line["target"] for line in lines if line.get("runs_here")],
    }


class Bench:
    def __init__(self, options):
        self.options = options
        self.build = options.build
        self.machine = describe_machine(self.build)
        self.targets = self.machine["targets"]
        self.peaks, self.cells, self.failures = [], [], []
        self.positions = 1024 if options.quick else 16384  # b * h * s of every cell but decode's
        self.lengths = [128, 256] if options.quick else [512, 1024, 2048, 4096, 8192]
        self.turns = 3 if options.quick else 7

    def measure_peaks(self):
        program = os.path.join(self.build, "bench", "peak")
        window = ("0.02", "32") if self.options.quick else ("0.1", "512")
        peaks = json.loads(command(program, str(self.options.threads), *window))
        self.peaks.append(peaks)
        say("peaks        " + ", ".join(f"{k} {v:.4g}" for k, v in peaks.items() if k != "threads"))

    def run_cell(self, section, spec, extra_environment=None, **labels):
        """Appends what cell.py measures, with the section and the labels; a failure is remembered."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "FLASHC_"))}
        environment.update(extra_environment or {})
        environment.update(OMP_NUM_THREADS=str(self.options.threads), CUDA_VISIBLE_DEVICES="")
        words = [sys.executable, os.path.join(HERE, "cell.py"), self.build, json.dumps(spec)]
        begin = time.monotonic()
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        name = f"{section:12}" + " ".join(f"{key}={value}" for key, value in labels.items())
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            say(f"{name}  FAILED: {last}")
            self.failures.append(f"{section} {labels}: {last}")
            return
        cell = {"section": section, **labels, **json.loads(done.stdout)}
        self.cells.append(cell)
        for row_name, row in cell.get("rows", {}).items():
            if not row["correct"]:
                self.failures.append(
                    f"{section} {labels}: {row_name} is off by {row['relative_rms']:.2g} of the result"
                )
        summary = cpu_report.summarize(cell)
        say(f"{name}  {summary}  ({time.monotonic() - begin:.1f} s)")

    def runnable(self, *names):
        return [name for name in names if name in self.targets]

    def square_cells(self, section):
        dtype, _, causal = section.partition("-")
        for d in (64, 128):
            for s in self.lengths:
                heads = self.positions // s
                spec = {
                    "b": 1, "h": heads, "h_kv": heads, "sq": s, "sk": s, "d": d, "dtype": dtype,
                    "causal": bool(causal), "threads": self.options.threads, "turns": self.turns,
                }
                if dtype == "f32":
                    spec["targets"] = self.runnable("x86-64-v3", "x86-64-v4")
                    self.run_cell(section, spec, d=d, s=s)
                    continue
                spec["peers"] = ["torch"]
                if "x86-64-amx" in self.targets:
                    amx = dict(spec, targets=["x86-64-amx"])
                    self.run_cell(section, amx, d=d, s=s, amx=True)
                spec["targets"] = self.runnable("x86-64-v4", "x86-64-v4-bf16") or ["x86-64-v3"]
                self.run_cell(section, spec, WITHOUT_AMX, d=d, s=s, amx=False)

    def decode_cells(self):
        footprint = (1 << 24) if self.options.quick else (1 << 30)
        lengths = [256, 1024] if self.options.quick else [4096 << n for n in range(6)]
        heads, d = 8, 128
        for dtype, size in (("f32", 4), ("bf16", 2)):
            for group in (4, 8):
                for sk in lengths:
                    spec = {
                        "b": 1, "h": heads * group, "h_kv": heads, "sq": 1, "sk": sk, "d": d, "dtype": dtype,
                        "peers": ["torch"], "threads": self.options.threads, "turns": self.turns,
                        "copies": max(1, footprint // (2 * heads * sk * d * size)),
                    }
                    self.run_cell("decode", spec, dtype=dtype, gqa=f"{group}:1", sk=sk)

    def standard_cells(self):
        s = self.lengths[-1]
        for dtype in ("f32", "bf16"):
            for d in (64, 128):
                heads = self.positions // s
                spec = {
                    "b": 1, "h": heads, "h_kv": heads, "sq": s, "sk": s, "d": d, "dtype": dtype, "peers": [],
                    "strategies": ["online", "standard"], "threads": self.options.threads, "turns": self.turns,
                }
                self.run_cell("standard", spec, dtype=dtype, d=d, s=s)

    def compile_cells(self):
        turns = 3 if self.options.quick else 5
        for target in self.targets[-1:] if self.options.quick else self.targets:
            for dtype in ("f32", "bf16"):
                for d in (64, 128):
                    for variant in ("full", "causal", "decode"):
                        fields = {"target": target, "dtype": dtype, "head_dim": d}
                        if variant == "causal":
                            fields["causal"] = "bottom-right"
                        if variant == "decode":
                            fields["queries"] = 1
                        spec = {"fields": fields, "turns": turns}
                        self.run_cell("compile", spec, target=target, dtype=dtype, d=d, variant=variant)

    def run(self, save):
        """Measures the sections; calls `save` with all results so far after each."""
        begin = time.monotonic()
        self.measure_peaks()
        for section in [s for s in SECTIONS if s in (self.options.only or SECTIONS)]:
            if section == "memory":
                self.measure_memory()
            elif section in cpu_report.SQUARE:
                self.square_cells(section)
            else:
                {"decode": self.decode_cells, "standard": self.standard_cells, "compile": self.compile_cells}[section]()
            if section not in ("compile", "memory"):
                self.measure_peaks()
            save(self.results(begin))
        return self.results(begin)

    def measure_memory(self):
        try:
            self.failures += memory.run(self.build, self.options.output, self.options.quick)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            self.failures.append(f"memory: {error}")

    def results(self, begin):
        return {
            "machine": self.machine,
            "threads": self.options.threads,
            "date": datetime.date.today().isoformat(),
            "command": shlex.join(["tools/bench/cpu", *sys.argv[1:]]),
            "commit": self.options.commit,
            "minutes": (time.monotonic() - begin) / 60,
            "quick": self.options.quick,
            "peaks": self.peaks,
            "cells": self.cells,
            "failures": self.failures,
        }


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/cpu", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true",
                        help="tiny sizes, to see that it works; the numbers mean nothing")
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="SECTION",
                        help="only this section, once for each: " + ", ".join(SECTIONS))
    parser.add_argument("--threads", type=int, default=2, help="threads of every library (default 2)")
    parser.add_argument("--output", metavar="DIR",
                        help="where the results go (default: tools/bench/results; with --quick or --only: BUILD/bench; "
                             "with --report: beside the file)")
    parser.add_argument("--build", default=os.environ.get("FLASHC_BUILD_DIR") or f"{HERE}/../../build",
                        help="flashc's build folder (default: build)")
    parser.add_argument("--report", metavar="FILE.json",
                        help="measure nothing: write the report of these results again")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    for name in ("bin/flashc", "lib/libflashc-rt.so", "lib/libflashc.so", "bench/peak"):
        if not options.report and not os.path.exists(os.path.join(options.build, name)):
            parser.error(f"expected {name} in {options.build}; run tools/bench/cpu, which builds it")
    partial = options.quick or options.only
    options.output = os.path.abspath(
        options.output
        or (os.path.dirname(os.path.abspath(options.report)) if options.report else
            f"{options.build}/bench" if partial else f"{HERE}/results")
    )
    git = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    options.commit = git.stdout.strip()
    return options


def slug(name):
    """A processor's name for a file's."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|@.*", "", name.lower())).strip("-")


def main():
    options = parse_arguments()
    os.makedirs(options.output, exist_ok=True)

    def save(results):
        base = os.path.join(options.output, "cpu-" + slug(results["machine"]["cpu"]))
        with open(base + ".json", "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
        return base

    if options.report:
        with open(options.report) as file:
            results = json.load(file, object_hook=cpu_report.Known)
    else:
        os.sched_setaffinity(0, choose_processors(options.threads))
        results = Bench(options).run(save)
    base = save(results)
    print(cpu_report.write_markdown(results, cpu_report.judge(results), base + ".md"))
    cpu_report.plot(results, base + ".png")
    if results.get("failures"):
        say(f"error: {len(results['failures'])} failures, listed at the end of {base}.md")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
