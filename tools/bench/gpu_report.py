"""The Markdown table of what tools/bench/gpu measured.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
"""
import math
import statistics


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def number(value, pattern="{:.0f}"):
    return "" if value is None else pattern.format(value)


def size(count):
    """Bytes for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def speed(cell, name):
    row = cell["rows"].get(name)
    return row and row["tflop_per_s"]


def best_stick(cell):
    return max((row["tflop_per_s"] for row in cell["stick"].values()), default=None)


def ratio(value, other):
    return value / other if value and other else None


def comparisons(results):
    """(title, function of a cell that gives the ratio) of every comparison that is worth a mean."""
    peers = ["FA2", "cuDNN"]
    found = []
    for target in results["targets"]:
        for peer in peers:
            found.append((f"{target} : {peer}", lambda c, t=target, p=peer: ratio(speed(c, t), speed(c, p))))
        found.append((f"{target} : best of the other cubins",
                      lambda c, t=target: ratio(speed(c, t), best_stick(c))))
    return found


def forward(results):
    cells = results["cells"]["forward"]
    if not cells:
        return []
    targets = results["targets"]
    peers = [peer for peer in ("FA2", "cuDNN") if any(peer in cell["rows"] for cell in cells)]
    stick = any(cell["stick"] for cell in cells)
    lines = ["## Forward, bf16: TFLOP/s", "",
             "B*S = 16384 and H*D = 2048; 4*D operations per pair of query and key, half of that when causal. "
             "flashc reads [B,S,H,D], the others dense [B,H,S,D]."
             + (" The other cubins are those of --stick; the best of them in each cell is shown." if stick else ""), ""]
    header = ["mask", "D", "S", *peers, *targets, *[f"{t} : FA2" for t in targets]]
    header += ["best : cuDNN"] if "cuDNN" in peers else []
    header += ["best cubin", *[f"{t} : cubin" for t in targets]] if stick else []
    rows = []
    for cell in sorted(cells, key=lambda c: (c["causal"], c["d"], c["s"])):
        row = ["causal" if cell["causal"] else "full", str(cell["d"]), str(cell["s"])]
        row += [number(speed(cell, name)) for name in (*peers, *targets)]
        row += [number(ratio(speed(cell, t), speed(cell, "FA2")), "{:.2f}x") for t in targets]
        if "cuDNN" in peers:
            best = max((speed(cell, t) or 0 for t in targets), default=0)
            row.append(number(ratio(best, speed(cell, "cuDNN")), "{:.2f}x"))
        if stick:
            best = best_stick(cell)
            row.append(number(best))
            row += [number(ratio(speed(cell, t), best), "{:.2f}x") for t in targets]
        rows.append(row)
    lines += table(header, rows)

    groups = [("all", lambda c: True), ("full", lambda c: not c["causal"]), ("causal", lambda c: c["causal"])]
    groups += [(f"D = {d}", lambda c, d=d: c["d"] == d) for d in sorted({c["d"] for c in cells})]
    rows = []
    for title, compare in comparisons(results):
        values = {name: [r for r in map(compare, filter(keep, cells)) if r] for name, keep in groups}
        if values["all"]:
            rows.append([title, *[number(geometric_mean(v) if v else None, "{:.3f}x") for v in values.values()],
                         f"{min(values['all']):.2f}x"])
    lines += ["Geometric means of the ratios:", ""]
    return lines + table(["", *[name for name, _ in groups], "worst cell"], rows)


def decode(results):
    cells = results["cells"]["decode"]
    if not cells:
        return []
    copy = statistics.median(results["copy_gb_per_s"])
    names = [name for name in (*results["targets"], "FA2") if any(name in cell["rows"] for cell in cells)]
    lines = ["## Decode, bf16: GB/s", "",
             "One query, 64 heads on 8 heads of keys and values, D = 128: the bytes of K and V over the time, "
             f"launched by CUDA graphs on keys and values that no cache holds. A copy on the device reads and writes "
             f"{copy:.0f} GB/s.", ""]
    header = ["B", "Sk", "K and V"]
    for name in names:
        header += [f"{name}, us", "GB/s", "of copy"]
    rows = []
    for cell in sorted(cells, key=lambda c: (c["b"], c["sk"])):
        row = [str(cell["b"]), str(cell["sk"]), size(cell["bytes"])]
        for name in names:
            value = cell["rows"].get(name)
            row.append(number(value and 1e3 * value["ms"], "{:.1f}"))
            row.append(number(value and value["gb_per_s"]))
            row.append(number(value and 100 * value["gb_per_s"] / copy, "{:.0f}%"))
        rows.append(row)
    lines += table(header, rows)
    rows = []
    for target in results["targets"]:
        pairs = [[cell["rows"].get(name, {}).get("gb_per_s") for name in (target, "FA2")] for cell in cells]
        ratios = [ratio(*pair) for pair in pairs if all(pair)]
        if ratios:
            rows.append([f"{target} : FA2", f"{geometric_mean(ratios):.2f}x", f"{min(ratios):.2f}x"])
    return lines + (table(["", "geometric mean", "worst cell"], rows) if rows else [])


def memory(results):
    cells = results["cells"]["memory"]
    if not cells:
        return []
    lines = ["## Device memory beyond inputs and outputs, bf16, causal, D = 128", "",
             "Workspaces are what the kernel asks of its caller; \"taken by a run\" is the difference of the device's "
             "free memory (cuMemGetInfo) before and after a run, the code's first or a later one. The standard "
             "strategy writes scores to memory, here the baseline that is not run.", ""]
    rows = []
    for cell in (c for c in cells if not c.get("decode")):
        for target, row in cell["rows"].items():
            rows.append([str(cell["s"]), f"{cell['b']} x {cell['h']}", target, size(cell["tensor_bytes"]),
                         size(row["workspace_bytes"]), size(row["taken_by_run_bytes"]), size(row["standard_bytes"]),
                         size(cell["scores_bytes"])])
    if rows:
        lines += table(["S", "B x H", "target", "Q, K, V, O", "workspace", "taken by a run", "standard's workspace",
                        "scores, f32"], rows)
    rows = []
    for cell in (c for c in cells if c.get("decode")):
        for target, row in cell["rows"].items():
            rows.append([str(cell["b"]), str(cell["sk"]), target, size(cell["tensor_bytes"]),
                         size(row["workspace_bytes"])])
    if rows:
        lines += ["Decoding splits the keys, and keeps a partial result per part:", ""]
        lines += table(["B", "Sk", "target", "K and V", "workspace"], rows)
    return lines


COLD_STARTS = {
    "tool": (("context_s", "compile_s", "assemble_s", "load_s", "run_s", "process_s"),
             "`flashc bench --first-run`: from the description to the end of the first run, in a fresh process whose "
             "CUDA context exists. The total is of compiling (warm: reading the cache), assembling by ptxas (reading the "
             "cache), loading and the run; not of the context and the rest of the process, which stand beside it."),
    "library": (("open_s", "compile_s", "load_s"),
                "Through the C interface, in a fresh process whose CUDA context exists: opening the libraries, "
                "compiling, and loading with ptxas."),
    "process": ((), "The whole process of `flashc run` of a tiny size, from start to exit: it creates the CUDA context, "
                    "compiles, loads and runs."),
}


def cold_start_way(cell):
    """Results of before bench --first-run do not name it."""
    return cell.get("way") or ("library" if cell["library"] else "process")


def cold_start(results):
    cells = results["cells"]["cold-start"]
    if not cells:
        return []
    lines = ["## Cold start: ms", "", "Empty and warm are FLASHC_CACHE_DIR's; the driver's own cache is off. Medians; "
             "bf16, D = 128.", ""]
    for way in dict.fromkeys(map(cold_start_way, cells)):
        parts, text = COLD_STARTS[way]
        lines += [text, ""]
        rows = []
        for variant in dict.fromkeys(cell["variant"] for cell in cells):
            chosen = [cell for cell in cells if cell["variant"] == variant and cold_start_way(cell) == way]
            for state in ("cold", "warm") if chosen else ():
                medians = [statistics.median(cell[state][key] for cell in chosen) for key in ("total_s", *parts)]
                rows.append([variant, chosen[0][state]["target"], {"cold": "empty", "warm": "warm"}[state],
                             *[f"{1e3 * seconds:.1f}" for seconds in medians]])
        lines += table(["variant", "target", "cache", "total", *[part.removesuffix("_s") for part in parts]], rows)
    return lines


def kernels(results):
    rows = [
        [k["kernel"], k["target"], k["schedule"], str(k.get("registers", "")), str(k.get("local_bytes", k.get("spilled_bytes", ""))),
         size(k["shared_bytes"]), f"{1e3 * k['compile_s']:.0f}",
         number(k.get("assemble_s") and 1e3 * k["assemble_s"])]
        for k in results["kernels"]
    ]
    if not rows:
        return []
    header = ["kernel", "target", "schedule", "registers", "local bytes", "shared memory", "flashc, ms", "ptxas, ms"]
    text = ("Local memory is a thread's, with that of the function that computes tiles again. Times are those of whole "
            "processes, many of which ran at once.")
    return ["## Kernels", "", text, ""] + table(header, rows)


def markdown(results):
    machine = results["machine"]
    lines = [f"# flashc on {machine['card']}", ""]
    if results["quick"]:
        lines += ["**A quick run: few and small sizes.**", ""]
    lines += table(["", ""], [
        ["card", f"{machine['card']}, compute capability {machine['capability']}, {machine['processors']} "
                 f"multiprocessors, {size(machine['memory_bytes'])}"],
        ["clocks", machine["clocks"] + (" (SM, memory, power limit)" if machine["clocks"] else "unknown")],
        ["driver", machine["driver"]],
        ["CUDA", f"{machine['cuda']} (PyTorch), ptxas {machine['ptxas'] or 'none: the driver compiled the PTX'}"],
        ["beside", f"PyTorch {machine['torch']}, cuDNN {machine['cudnn'] or 'none'}"],
        ["date", results["date"]],
        ["command", f"`{results['command']}`"],
        ["flashc", results["commit"] or "unknown"],
        ["took", f"{results['seconds']:.0f} seconds"],
    ])
    lines += [f"Medians of {results['rounds']} rounds, in each of which all contenders of a cell take turns on the "
              "same random normal arrays; every result is compared with an evaluation in f32. PTX of an older target "
              "is assembled for this card, as the driver would do. FA2 and cuDNN are the backends of PyTorch's "
              "scaled_dot_product_attention.", ""]
    for part in (forward, decode, memory, cold_start, kernels):
        lines += part(results)
    worst = {}
    for section in ("forward", "decode"):
        for cell in results["cells"][section]:
            for name, row in cell["rows"].items():
                worst[name] = max(worst.get(name, 0), row["relative_rms"])
    if worst:
        lines += ["## Largest differences from the f32 result", ""]
        lines += table(["", "root mean square, relative"], [[name, f"{rms:.2g}"] for name, rms in worst.items()])
    if results["failures"]:
        lines += ["## Failures", ""] + ["- " + failure.replace("\n", " ") for failure in results["failures"]] + [""]
    return "\n".join(lines)
