#!/usr/bin/env python3
# ===- MinimaxCoefficients.py - derives the polynomials of ExpandMath.cpp -===#
#
# Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
#
# For each function: minimise the largest relative error of the whole expression
# over the reduced interval by Remez exchange (60 digits), then round the
# coefficients to f32 (all at once, or the lowest first and the rest fitted to
# it). Prints them as hexadecimal floats with the relative error that is left in
# exact arithmetic. Needs mpmath and numpy.
#
# ===----------------------------------------------------------------------===#
import mpmath as mp
import numpy as np

mp.mp.dps = 60
GRID = 3000


def remez(basis, target, lo, hi):
    """Coefficients c of the minimax fit sum c[k]*basis[k](x) to target(x) on [lo, hi]."""
    n = len(basis)
    xs = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * GRID)) for i in range(GRID)]
    xs.reverse()
    rows = [[b(x) for b in basis] for x in xs]
    values = [target(x) for x in xs]
    picks = [round((1 - mp.cos(mp.pi * i / n)) / 2 * (GRID - 1)) for i in range(n + 1)]
    for _ in range(30):
        system = mp.matrix(n + 1, n + 1)
        rhs = mp.matrix(n + 1, 1)
        for i, p in enumerate(picks):
            for k in range(n):
                system[i, k] = rows[p][k]
            system[i, n] = (-1) ** i
            rhs[i] = values[p]
        solution = mp.lu_solve(system, rhs)
        coefficients = [solution[k] for k in range(n)]
        error = [sum(c * r for c, r in zip(coefficients, row)) - v for row, v in zip(rows, values)]
        # One extremum per run of equal sign; keep n + 1 of them around the largest.
        extrema = []
        for i, e in enumerate(error):
            if extrema and (error[extrema[-1]] > 0) == (e > 0):
                if abs(e) > abs(error[extrema[-1]]):
                    extrema[-1] = i
            else:
                extrema.append(i)
        while len(extrema) > n + 1:
            extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
        if len(extrema) < n + 1 or extrema == picks:
            break
        picks = extrema
    return coefficients, max(abs(e) for e in error)


def toF32(x):
    return mp.mpf(float(np.float32(float(x))))


def derive(name, f, fixed, powers, lo, hi):
    """Fits f(x) ~ fixed(x) + sum c[k]*x^powers[k], relative to |f|; f may be 0 only at 0."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    xs = [lo + (hi - lo) * (i + mp.mpf(1) / 3) / 5000 for i in range(5000)]

    def fit(known, rest):
        target = lambda x: (f(x) - fixed(x) - sum(c * x**p for c, p in known)) / f(x)
        basis = [(lambda p: lambda x: x**p / f(x))(p) for p in rest]
        coefficients, error = remez(basis, target, lo, hi)
        return list(zip(coefficients, rest)), error

    def errorOf(terms):
        return max(abs((fixed(x) + sum(c * x**p for c, p in terms)) / f(x) - 1) for x in xs)

    first, ideal = fit([], powers)
    best = atOnce = [(toF32(c), p) for c, p in first]
    if errorOf(atOnce) > 2 * ideal:
        # The rounding of the lowest power weighs most: fit the others to it.
        rest = fit(atOnce[:1], powers[1:])[0]
        best = min(atOnce, atOnce[:1] + [(toF32(c), p) for c, p in rest], key=errorOf)
    print(f"{name}: relative error {float(errorOf(best)):.2g} (before rounding {float(ideal):.2g})")
    for c, p in best:
        print(f"  x^{p}: {float(c).hex()}f  // {float(c)!r}")


half = mp.mpf(1) / 2
derive("exp2", lambda x: mp.mpf(2) ** x, lambda x: 1, list(range(1, 7)), -half, half)
derive("exp2 of a fraction", lambda x: mp.mpf(2) ** x, lambda x: 1, list(range(1, 6)), mp.mpf("1e-6"), 1)
ln2 = mp.log(2)
# A little wider than ln(2)/2: the rounding of x*log2(e) can miss the nearest integer.
derive("exp", mp.exp, lambda x: 1 + x, list(range(2, 7)), -ln2 / 2 - mp.mpf("1e-4"), ln2 / 2 + mp.mpf("1e-4"))
derive("log1p", mp.log1p, lambda x: x - x * x / 2, list(range(3, 12)), mp.sqrt(half) - 1, mp.sqrt(2) - 1)
derive("tanh", mp.tanh, lambda x: x, list(range(3, 13, 2)), mp.mpf("1e-3"), "0.625")
print("ln2 hi", float(toF32(ln2)).hex(), "lo", float(toF32(ln2 - toF32(ln2))).hex())
