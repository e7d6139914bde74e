"""What cpu.py's numbers mean: the bars that the CPU path has to meet, the tables and the plot.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
"""
import statistics


class Missing(KeyError):
    """Results that lack something, as those of an older cpu.py may."""

    def __str__(self):
        return f"`{self.args[0]}` is not in the results"


class Known(dict):
    """An object of the results: what a report asks of it in vain is told in the report."""

    def __missing__(self, key):
        raise Missing(key)


SQUARE = ("f32", "f32-causal", "bf16", "bf16-causal")
# The peak that bounds a target's products, by its name in peak.c's output.
PEAK_F32 = {"x86-64-v3": "avx2", "x86-64-v4": "avx512", "x86-64-v4-bf16": "avx512", "x86-64-amx": "avx512"}
PEAK_BF16 = dict(PEAK_F32, **{"x86-64-v4-bf16": "vdpbf16ps", "x86-64-amx": "tdpbf16ps"})
# The factor that tiles should have over the unfused evaluation.
STANDARD_TIMES = 3


def summarize(cell):
    """A cell in one line."""
    if "rows" not in cell:
        cold, then, again = (1e3 * cell[key] for key in ("cold_s", "compile_s", "again_s"))
        return f"cold {cold:.0f} ms, then {then:.0f} ms, again {again:.4f} ms"
    unit, key = ("GB/s", "gb_per_s") if cell["section"] == "decode" else ("GFLOP/s", "gflop_per_s")
    return ", ".join(f"{name} {row[key]:.4g}" for name, row in cell["rows"].items()) + " " + unit


def median_peaks(results):
    names = [name for name in results["peaks"][0] if name != "threads"]
    return {name: statistics.median(peaks[name] for peaks in results["peaks"]) for name in names}


class Cells:
    """The cells of one section, by their labels."""

    def __init__(self, results, section):
        self.cells = [cell for cell in results["cells"] if cell["section"] == section]

    def __iter__(self):
        return iter(self.cells)

    def find(self, **labels):
        for cell in self.cells:
            if all(cell.get(key) == value for key, value in labels.items()):
                return cell
        return None


def rate(cell, name):
    """GFLOP/s of a row, or None."""
    row = cell and cell["rows"].get(name)
    return row["gflop_per_s"] if row else None


def best_f32(cell):
    """The row of the widest vectors that the machine has."""
    for target in ("x86-64-v4", "x86-64-v3"):
        if "flashc " + target in cell["rows"]:
            return target
    return None


class Bar:
    """A demand on some cells: value >= bound (or <= with `at_most`) in every one."""

    def __init__(self, text, unit="", at_most=False):
        self.text, self.unit, self.at_most, self.checks = text, unit, at_most, []
        self.missing = set()

    def __enter__(self):
        """Around what is computed for the bar: what the results lack for it is noted in its verdict."""
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Missing):
            self.missing.add(str(error))
        return isinstance(error, Missing)

    def add(self, where, value, bound):
        met = value <= bound if self.at_most else value >= bound
        self.checks.append((where, value, bound, met))

    def verdict(self):
        lacks = "".join(f"; {what}" for what in sorted(self.missing))
        if not self.checks:
            return "not measured" + lacks
        missed = sum(not check[3] for check in self.checks)
        return ("PASS" if not missed else f"MISS ({missed} of {len(self.checks)})") + lacks

    def worst(self):
        if not self.checks:
            return ""
        sign = -1 if self.at_most else 1
        where, value, bound, _ = min(self.checks, key=lambda check: sign * check[1] / check[2])
        return f"{value:.3g}{self.unit} of {bound:g}{self.unit} at {where}"


def judge_f32(results, peaks):
    intel = results["machine"]["vendor"] == "GenuineIntel"
    full, causal = Cells(results, "f32"), Cells(results, "f32-causal")
    better = Bar("f32: the better of PyTorch and ONNX Runtime, times 1.05", "x")
    bound = {64: 65, 128: 65} if intel else {64: 85, 128: 87}
    text = "65% (Intel)" if intel else "85% at D = 64, 87% at D = 128"
    share = Bar("f32, S >= 2k: share of the FMA peak, " + text, "%")
    for cell in full:
        with better:
            target, where = best_f32(cell), f"D={cell['d']} S={cell['s']}"
            own = rate(cell, "flashc " + target)
            better.add(where, own / max(rate(cell, "torch"), rate(cell, "ort")), 1.05)
        with share:
            if cell["s"] >= 2048:
                share.add(where, 100 * own / peaks[PEAK_F32[target]], bound[cell["d"]])
    kept = Bar("f32 causal, S >= 2k: of the full rate, 0.85", "x")
    long = Bar("f32 causal, S >= 2k: the better of the two, times 1.15", "x")
    short = Bar("f32 causal, S <= 1k: the better of the two, times 1.5", "x")
    for cell in causal:
        with short if cell["s"] < 2048 else long as bar:
            name, where = "flashc " + best_f32(cell), f"D={cell['d']} S={cell['s']}"
            own = rate(cell, name)
            bar.add(where, own / max(rate(cell, "torch"), rate(cell, "ort")), 1.5 if bar is short else 1.15)
        with kept:
            whole = rate(full.find(d=cell["d"], s=cell["s"]), name)
            if whole and bar is long:
                kept.add(where, own / whole, 0.85)
    return [better, share, kept, long, short]


def judge_bf16(results, peaks):
    share = Bar("bf16 dot products: share of their peak, 60% at D = 64, 65% at D = 128", "%")
    torch, chosen = Bar("bf16: PyTorch (without AMX), times 1.6", "x"), None
    with torch:
        # What flashc takes for bf16 on a machine like this one without AMX.
        chosen = [name for name in results["machine"]["bf16_targets"] if name != "x86-64-amx"][-1]
        torch.text = f"bf16, {chosen}: PyTorch (without AMX), times 1.6"
    amx = Bar("bf16 AMX: flashc's f32, times 4 at D = 64, 5 at D = 128", "x")
    full = Cells(results, "f32")
    for cell in Cells(results, "bf16"):
        where = f"D={cell['d']} S={cell['s']}"
        plain, dots, tiles = (rate(cell, f"flashc {name}") for name in (chosen, "x86-64-v4-bf16", "x86-64-amx"))
        with share:
            if dots:
                share.add(where, 100 * dots / peaks["vdpbf16ps"], {64: 60, 128: 65}[cell["d"]])
        with torch:
            if plain and not cell["amx"]:
                torch.add(where, plain / rate(cell, "torch"), 1.6)
        with amx:
            single = full.find(d=cell["d"], s=cell["s"])
            if tiles and single:
                amx.add(where, tiles / rate(single, "flashc " + best_f32(single)), {64: 4, 128: 5}[cell["d"]])
    return [share, torch, amx]


def judge(results):
    """All bars, met or not."""
    peaks = median_peaks(results)
    decode = Bar("decode: share of the read bandwidth, 85%", "%")
    for cell in Cells(results, "decode"):
        for name, row in cell["rows"].items():
            with decode:
                if name.startswith("flashc"):
                    where = f"{cell['dtype']} GQA {cell['gqa']} Sk={cell['sk']}"
                    decode.add(where, 100 * row["gb_per_s"] / peaks["read"], 85)
    standard = {name: Bar(f"{name}, S = 8k: the standard strategy, times {STANDARD_TIMES}", "x")
                for name in ("f32", "bf16")}
    for cell in Cells(results, "standard"):
        online, unfused = cell["rows"].values()
        with standard[cell["problem"]["dtype"]] as bar:
            bar.add(f"D={cell['d']} S={cell['s']}", unfused["median_s"] / online["median_s"], STANDARD_TIMES)
    cold = Bar("compile time of one variant, at most 300 ms", " ms", at_most=True)
    again = Bar("a warm second call, at most 1 ms", " ms", at_most=True)
    for cell in Cells(results, "compile"):
        with cold:
            where = f"{cell['target']} {cell['dtype']} D={cell['d']} {cell['variant']}"
            cold.add(where, 1e3 * cell["cold_s"], 300)
        with again:
            again.add(where, 1e3 * cell["again_s"], 1)
    return judge_f32(results, peaks) + judge_bf16(results, peaks) + [decode, *standard.values(), cold, again]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def number(value, pattern="{:.0f}"):
    return "" if value is None else pattern.format(value)


def or_missing(compute):
    """What `compute` gives, or that the results lack something for it."""
    try:
        return compute()
    except Missing as missing:
        return str(missing)


def section(title, compute):
    """The lines of a section, or, under its title, what the results lack for it."""
    lines = or_missing(compute)
    return [f"## {title}", "", f"Not shown: {lines}.", ""] if isinstance(lines, str) else lines


def square_title(section):
    return section.replace("-", ", ") + ": GFLOP/s"


def square_table(results, section, peaks):
    cells = Cells(results, section)
    if not cells.cells:
        return []
    dtype = section.partition("-")[0]
    of_target = PEAK_F32 if dtype == "f32" else PEAK_BF16
    merged = {}  # one line for the cells of one size
    for cell in cells:
        columns = merged.setdefault((cell["d"], cell["s"]), {})
        for name, row in cell["rows"].items():
            if name == "torch" and cell.get("amx") is False and "x86-64-amx" in results["machine"]["targets"]:
                name = "torch without AMX"
            columns[name] = row
    names = {name for columns in merged.values() for name in columns}
    names = sorted(names, key=lambda name: (not name.startswith("flashc"), name))
    titles = {"torch": "PyTorch", "ort": "ONNX Runtime", "torch without AMX": "PyTorch without AMX"}
    header = ["D", "S"]
    for name in names:
        header.append(titles.get(name, name.removeprefix("flashc ")))
        if name.startswith("flashc"):
            header.append("of peak")
    peers = [name for name in names if not name.startswith("flashc")]
    header.append("best : better peer")
    rows = []
    for (d, s), columns in sorted(merged.items()):
        line = [str(d), str(s)]
        for name in names:
            value = columns[name]["gflop_per_s"] if name in columns else None
            line.append(number(value))
            if name.startswith("flashc"):
                peak = peaks.get(of_target[name.removeprefix("flashc ")])
                line.append(number(value and peak and 100 * value / peak, "{:.0f}%"))
        best = max((columns[n]["gflop_per_s"] for n in names if n.startswith("flashc") and n in columns), default=0)
        rival = max((columns[n]["gflop_per_s"] for n in peers if n in columns), default=0)
        line.append(number(rival and best / rival, "{:.2f}x"))
        rows.append(line)
    return [f"## {square_title(section)}", ""] + table(header, rows)


def decode_table(results, peaks):
    rows = []
    for cell in Cells(results, "decode"):
        own = next(row for name, row in cell["rows"].items() if name.startswith("flashc"))
        peer = cell["rows"]["torch"]
        rows.append([
            cell["dtype"], cell["gqa"], str(cell["sk"]), own["target"], f"{own['gb_per_s']:.1f}",
            f"{100 * own['gb_per_s'] / peaks['read']:.0f}%", f"{peer['gb_per_s']:.1f}",
            f"{own['gb_per_s'] / peer['gb_per_s']:.1f}x",
        ])
    if not rows:
        return []
    header = ["type", "GQA", "Sk", "target", "flashc", "of read", "PyTorch", "flashc : PyTorch"]
    text = "One query, 8 heads of keys and values, D = 128, batch 1; keys and values are in no cache."
    return ["## Decode: GB/s", "", text, ""] + table(header, rows)


def standard_table(results, peaks):
    rows, bounded = [], []
    for cell in Cells(results, "standard"):
        online, standard = cell["rows"].values()
        dtype, d = cell["problem"]["dtype"], cell["d"]
        rows.append([dtype, str(d), str(cell["s"]), online["target"], f"{online['gflop_per_s']:.0f}",
                     f"{standard['gflop_per_s']:.0f}", f"{standard['median_s'] / online['median_s']:.2f}x"])
        share = standard["gflop_per_s"] / peaks[(PEAK_F32 if dtype == "f32" else PEAK_BF16)[online["target"]]]
        # No tiles can be that much faster: their exponentials take time too.
        if STANDARD_TIMES * share > 0.9:
            bounded.append(f"For {dtype} and D = {d} the standard strategy runs at {100 * share:.0f}% of the peak of "
                           f"multiply-adds already, so {STANDARD_TIMES} times as fast is out of reach.")
    if not rows:
        return []
    lines = ["## Tiled against standard: GFLOP/s", ""]
    lines += table(["type", "D", "S", "target", "online", "standard", "ratio"], rows)
    return lines + (bounded + [""] if bounded else [])


def compile_table(results):
    rows = []
    for cell in Cells(results, "compile"):
        rows.append([cell["target"], cell["dtype"], str(cell["d"]), cell["variant"], f"{1e3 * cell['cold_s']:.0f}",
                     f"{1e3 * cell['compile_s']:.0f}", f"{1e3 * cell['again_s']:.4f}"])
    if not rows:
        return []
    text = ("Cold is the first call of a process, with the loading of the compiler and no kernels kept on disk; "
            "next are other variants in the same process; again is the same description once more.")
    lines = ["## Compile time: ms", "", text, ""]
    return lines + table(["target", "type", "D", "variant", "cold", "next", "again"], rows)


DIFFERENCES = "Differences from PyTorch's f32 result"


def differences_table(results):
    worst = {}
    for cell in results["cells"]:
        for name, row in cell.get("rows", {}).items():
            dtype = cell["problem"]["dtype"]
            if name.startswith("flashc"):
                worst[dtype] = max(worst.get(dtype, (0, 0)), (row["relative_rms"], row["max_abs"]))
    if not worst:
        return []
    return [f"## {DIFFERENCES}", ""] + table(["type", "largest root mean square, relative", "largest, absolute, there"],
                                             [[dtype, f"{rms:.2g}", f"{most:.2g}"]
                                              for dtype, (rms, most) in worst.items()])


def write_markdown(results, bars, path):
    machine, peaks = results["machine"], median_peaks(results)
    versions = {name: row["version"] for cell in results["cells"] for name, row in cell.get("rows", {}).items()
                if "version" in row}
    peers = {"torch": "PyTorch", "ort": "ONNX Runtime"}
    lines = [f"# flashc on {machine['cpu']}", ""]

    def describe():
        caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
        return f"{machine['cpu']}, {machine['model']}; {caches}"

    if results.get("quick"):
        lines += ["**A quick run: the sizes are tiny, and the numbers mean nothing.**", ""]
    lines += table(["", ""], [
        ["CPU", or_missing(describe)],
        ["threads", or_missing(lambda: str(results["threads"]))],
        ["date", or_missing(lambda: results["date"])],
        ["command", or_missing(lambda: f"`{results['command']}`")],
        ["flashc", or_missing(lambda: f"{results['commit']}; the machine's best target is {machine['best_target']}")],
        ["beside", ", ".join(f"{peers[name]} {version}" for name, version in versions.items()) or "none"],
        ["took", or_missing(lambda: f"{results['minutes']:.0f} minutes")],
    ])
    lines += ["Medians of at least seven turns; in each cell the libraries take turns on the same arrays, in layout "
              "[B,H,S,D] with B = 1 and H*S fixed (PyTorch's scaled_dot_product_attention, ONNX Runtime's "
              "MultiHeadAttention, which reads [B,S,H*D]). Every result is compared with PyTorch's in f32. "
              "Operations are 4*D per kept pair of query and key.", ""]
    count = len(results["peaks"])
    lines += ["## Peaks", "", f"Medians of {count} measurements throughout the run, with their range.", ""]
    units = {"read": "GB/s"}
    rows = []
    for name, value in peaks.items():
        all_values = [p[name] for p in results["peaks"]]
        spread = f"{min(all_values):.4g} to {max(all_values):.4g}"
        rows.append([name, f"{value:.4g} {units.get(name, 'GFLOP/s')}", spread])
    lines += table(["what", "peak", "range"], rows)
    lines += ["## Bars", ""] + table(["bar", "verdict", "nearest or worst"],
                                     [[bar.text, bar.verdict(), bar.worst()] for bar in bars])
    for name in SQUARE:
        lines += section(square_title(name), lambda name=name: square_table(results, name, peaks))
    lines += section("Decode: GB/s", lambda: decode_table(results, peaks))
    lines += section("Tiled against standard: GFLOP/s", lambda: standard_table(results, peaks))
    lines += section("Compile time: ms", lambda: compile_table(results))
    lines += section(DIFFERENCES, lambda: differences_table(results))
    if results.get("failures"):
        lines += ["## Failures", ""] + ["- " + failure for failure in results["failures"]] + [""]
    text = "\n".join(lines)
    with open(path, "w") as file:
        file.write(text)
    return text


def plot(results, path):
    """GFLOP/s against S: a row per head dim, f32 and bf16 beside each other."""
    panels = [(section, d) for d in (64, 128) for section in ("f32", "bf16") if Cells(results, section).cells]
    if not panels:
        return
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    peaks = median_peaks(results)
    styles = {
        "flashc x86-64-amx": ("flashc, AMX", "tab:red", "o-"),
        "flashc x86-64-v4-bf16": ("flashc, AVX-512 BF16", "tab:purple", "o-"),
        "flashc x86-64-v4": ("flashc, AVX-512", "tab:blue", "o-"),
        "flashc x86-64-v3": ("flashc, AVX2", "tab:cyan", "o-"),
        "torch": ("PyTorch", "tab:orange", "s--"),
        "torch without AMX": ("PyTorch without AMX", "tab:brown", "s:"),
        "ort": ("ONNX Runtime", "tab:green", "^--"),
    }
    columns = len(panels) // 2
    has_amx = "x86-64-amx" in results["machine"].get("targets", ())
    figure, axes = plt.subplots(2, columns, figsize=(5.5 * columns, 7.5), sharex=True, squeeze=False)
    for (section, d), axis in zip(panels, axes.flat):
        series = {}
        for cell in Cells(results, section):
            if cell["d"] != d:
                continue
            for name, row in cell["rows"].items():
                if name == "torch" and cell.get("amx") is False and has_amx:
                    name = "torch without AMX"
                series.setdefault(name, []).append((cell["s"], row["gflop_per_s"]))
        for name, (label, color, style) in styles.items():
            if name in series:
                xs, ys = zip(*sorted(series[name]))
                axis.plot(xs, ys, style, color=color, label=label, markersize=5)
        of_target = PEAK_F32 if section == "f32" else PEAK_BF16
        drawn = set()
        for name in series:
            peak = of_target.get(name.removeprefix("flashc "))
            if name.startswith("flashc") and peak in peaks and peak not in drawn:
                drawn.add(peak)
                axis.axhline(peaks[peak], color=styles[name][1], linewidth=0.8, linestyle=(0, (1, 2)))
                axis.annotate(f"peak {peak}", (1, peaks[peak]), xycoords=("axes fraction", "data"), fontsize=7,
                              ha="right", va="bottom", color=styles[name][1])
        axis.set_xscale("log", base=2)
        axis.set_xticks(sorted({x for points in series.values() for x, _ in points}))
        axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1024:g}k" if x >= 1024 else f"{x:g}")
        if section == "bf16" and "tdpbf16ps" in drawn:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
        axis.set_title(f"{section}, D = {d}", fontsize=10)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
        axis.set_ylabel("GFLOP/s")
    for axis in axes[-1]:
        axis.set_xlabel("S (queries = keys)")
    threads = results.get("threads", "?")
    figure.suptitle(f"Attention without a mask: {results['machine']['cpu']}, {threads} threads", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
