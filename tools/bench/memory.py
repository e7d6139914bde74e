"""Measures the memory that attention takes beyond its inputs and outputs: tiled against standard.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

Every point is a process of its own, `flashc run --object` on random f32 arrays of one head with D = 64; its
peak resident size comes from the kernel when it ends. Writes memory.md, .json and .png. Run it by
tools/bench/cpu, or `tools/bench/cpu --only memory`.
"""
import json
import os
import subprocess
import sys
import time

D = 64
TYPE_BYTES = 4


def peak_resident(words):
    """Runs a command; bytes of its largest resident size. Raises where it fails."""
    # The kernel counts what a child shared with its parent before it became the command. So the parent is a
    # small process, not this one, into which others may have loaded much.
    script = 'import os,sys;p=os.posix_spawn(sys.argv[1],sys.argv[1:],os.environ,' \
             'file_actions=[(os.POSIX_SPAWN_OPEN,1,"/dev/null",os.O_WRONLY,0)]);' \
             '_,s,u=os.wait4(p,0);print(os.waitstatus_to_exitcode(s),u.ru_maxrss)'
    parent = [sys.executable, "-I", "-S", "-c", script]
    done = subprocess.run([*parent, *words], check=True, stdout=subprocess.PIPE, text=True)
    code, kibibytes = map(int, done.stdout.split())
    if code:
        raise RuntimeError(f"{' '.join(words)} ended with code {code}")
    return kibibytes * 1024


def available_bytes():
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(build, work, quick):
    lengths = [256, 512] if quick else [1024 << n for n in range(7)]
    flashc = os.path.join(build, "bin", "flashc")
    os.makedirs(work, exist_ok=True)
    points = []
    for strategy in ("online", "standard"):
        code = os.path.join(work, strategy + ".o")
        words = [flashc, "compile", "--head-dim", str(D), "--strategy", strategy, "-o", code]
        subprocess.run(words, check=True)

        def resident(s):
            sizes = f"1,{s},{s},1,1,{D},{D}"
            return peak_resident([flashc, "run", "--object", code, "--random", sizes, "--threads", "2"])

        floor = resident(1)
        for s in lengths:
            if strategy == "standard" and 2 * TYPE_BYTES * s * s > 0.6 * available_bytes():
                print(f"memory      {strategy} S={s}: left out, too large for this machine", file=sys.stderr)
                continue
            begin = time.monotonic()
            size = resident(s)
            arrays = 4 * TYPE_BYTES * s * D
            points.append({"strategy": strategy, "s": s, "resident": size, "arrays": arrays,
                           "process": floor, "beyond": size - arrays})
            print(f"memory      {strategy} S={s}: {mebibytes(size)} MiB, {mebibytes(size - arrays)} beyond the arrays"
                  f"  ({time.monotonic() - begin:.1f} s)", file=sys.stderr)
    return points


def mebibytes(value):
    return f"{value / 2**20:.1f}" if value < 2**30 else f"{value / 2**20:,.0f}"


def write_markdown(points, path):
    by_length = {}
    for point in points:
        by_length.setdefault(point["s"], {})[point["strategy"]] = point
    floor = points[0]["process"]
    lines = ["# Memory beyond inputs and outputs", "",
             f"f32, one head, D = {D}, 2 threads: the peak resident size of `flashc run --object`, less q, k, v and o. "
             f"The process itself takes {mebibytes(floor)} MiB of it. Standard attention holds scores and "
             "probabilities, 8*S*S bytes; it is left out where the machine's memory does not hold them. "
             "From `tools/bench/cpu`.", "",
             "| S | q, k, v, o: MiB | tiled: MiB beyond | standard: MiB beyond | 8*S*S: MiB |",
             "| --- | --- | --- | --- | --- |"]
    for s, strategies in sorted(by_length.items()):
        cells = [mebibytes(strategies[n]["beyond"]) if n in strategies else "" for n in ("online", "standard")]
        arrays = next(iter(strategies.values()))["arrays"]
        lines.append(f"| {s} | {mebibytes(arrays)} | {cells[0]} | {cells[1]} | {mebibytes(8 * s * s)} |")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def plot(points, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 4.2))
    for strategy, label, style in (("standard", "standard", "s--"), ("online", "tiled (online)", "o-")):
        own = sorted((p["s"], p["beyond"] / 2**20) for p in points if p["strategy"] == strategy)
        if own:
            axis.plot(*zip(*own), style, color="tab:orange" if strategy == "standard" else "tab:blue", label=label)
    lengths = sorted({p["s"] for p in points})
    axis.plot(lengths, [8 * s * s / 2**20 for s in lengths], ":", color="gray", label="scores and probabilities, 8 S²")
    arrays = dict(sorted((p["s"], p["arrays"] / 2**20) for p in points))
    axis.plot(list(arrays), list(arrays.values()), "-.", color="tab:green", linewidth=1, label="q, k, v and o")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(lengths)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1024:g}k" if x >= 1024 else f"{x:g}")
    axis.set_xlabel("S (queries = keys)")
    axis.set_ylabel("MiB beyond inputs and outputs")
    axis.set_title(f"Peak resident size: f32, one head, D = {D}", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def run(build, output, quick=False):
    """Measures and writes the results; returns what is wrong, as texts."""
    points = measure(build, os.path.join(build, "bench"), quick)
    base = os.path.join(output, "memory")
    with open(base + ".json", "w") as file:
        json.dump(points, file, indent=1)
        file.write("\n")
    write_markdown(points, base + ".md")
    plot(points, base + ".png")
    tiled = sorted((p["s"], p["beyond"]) for p in points if p["strategy"] == "online")
    (least_s, least), (most_s, most) = tiled[0], tiled[-1]
    # O(N): a few words per position at most, beside the process itself.
    if most - least > 256 * (most_s - least_s) + (8 << 20):
        return [f"memory: tiled attention takes {mebibytes(most - least)} MiB more at S={most_s} than at S={least_s}"]
    return []
