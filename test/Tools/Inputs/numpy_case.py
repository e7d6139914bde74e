"""Inputs for numpy.test, and NumPy's own answer to compare with.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
"""
import sys

import numpy as np

B, SQ, SK, HQ, HKV, D, DV = 2, 33, 50, 4, 2, 16, 24
CU_Q, CU_K = [0, 20, 20, 33], [0, 31, 40, 50]


def make():
    r = np.random.default_rng(7)
    draw = lambda *shape: r.standard_normal(shape).astype(np.float32)
    return dict(
        q=draw(B, SQ, HQ, D), k=draw(B, SK, HKV, D), v=draw(B, SK, HKV, DV),
        bias=draw(HQ, 1, SK).astype(np.float16), sinks=draw(HQ),
        doc=r.integers(0, 3, SK).astype(np.int16))


def attention(q, k, v, bias=0.0, sinks=None, keep_key=None):
    """One batch, [S,H,D], bottom-right causal, in float64; returns o, lse [H,Sq], row max."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    s = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[2]) + bias
    keep = np.arange(k.shape[0])[None] <= np.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    if keep_key is not None:
        keep = keep & keep_key[None]
    s = np.where(keep, s, -np.inf)
    m = s.max(axis=2, initial=-np.inf)
    reference = np.where(np.isfinite(m), m, 0)
    p = np.exp(s - reference[..., None])
    l = p.sum(axis=2) + (0 if sinks is None else np.exp(sinks[:, None] - reference))
    with np.errstate(divide="ignore"):
        lse = reference + np.log(l)
    return np.einsum("hij,jhd->ihd", p / np.where(l > 0, l, 1)[..., None], v), lse, m


def write(folder):
    c = make()
    np.save(folder + "/q.npy", c["q"].astype(">f4"))  # the other byte order
    np.save(folder + "/k-fortran.npy", np.asfortranarray(c["k"].astype(np.float64).astype(np.float32)))
    np.savez_compressed(folder + "/all.npz", values=c["v"], doc=c["doc"])
    np.save(folder + "/bias.npy", c["bias"])
    np.save(folder + "/sinks.npy", c["sinks"].astype(np.float64))
    swap = lambda x: np.swapaxes(x, 1, 2).copy()
    np.savez(folder + "/bhsd.npz", q=swap(c["q"]), k=swap(c["k"]), v=swap(c["v"]), bias=c["bias"],
             sinks=c["sinks"], doc=c["doc"])
    np.savez(folder + "/packed.npz", q=c["q"][0], k=c["k"][0], v=c["v"][0],
             cu_seqlens_q=np.array(CU_Q, np.int32), cu_seqlens_k=np.array(CU_K, np.int64))


def close(name, actual, expected):
    assert actual.shape == expected.shape, (name, actual.shape, expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=3e-6, err_msg=name)


def compare(folder, o, lse, row_max, layout="bshd"):
    c = make()
    results = [attention(c["q"][b], c["k"][b], c["v"][b], c["bias"].astype(np.float64), c["sinks"],
                         c["doc"] != 1) for b in range(B)]
    expected = [np.stack(x) for x in zip(*results)]
    if layout == "bhsd":
        expected[0] = np.swapaxes(expected[0], 1, 2)
    for name, want in zip((o, lse, row_max), expected):
        close(name, np.load(folder + "/" + name), want)


def compare_packed(folder, o, lse):
    c = make()
    results = [attention(c["q"][0][q0:q1], c["k"][0][k0:k1], c["v"][0][k0:k1])
               for q0, q1, k0, k1 in zip(CU_Q, CU_Q[1:], CU_K, CU_K[1:])]
    close(o, np.load(folder + "/" + o), np.concatenate([x[0] for x in results], axis=0))
    close(lse, np.load(folder + "/" + lse), np.concatenate([x[1] for x in results], axis=1))


command, *arguments = sys.argv[1:]
if command == "write":
    write(*arguments)
elif command == "compare":
    compare(*arguments)
elif command == "compare-packed":
    compare_packed(*arguments)
elif command == "dtype":
    assert np.load(arguments[0]).dtype == arguments[1], np.load(arguments[0]).dtype
else:
    sys.exit("unknown command " + command)
