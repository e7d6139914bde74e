# check_ptx.py PTX: the first line of PTX is a JSON description, and its kernels are the entries of the text.
import json
import re
import sys

text = open(sys.argv[1]).read()
first, rest = text.split("\n", 1)
prefix = "// flashc_kernel_info "
assert first.startswith(prefix), f"expected a description, got {first[:60]}"
info = json.loads(first[len(prefix):])
described = [kernel["entry"] for kernel in info["kernels"]]
entries = re.findall(r"^\s*\.visible \.entry (\w+)\(", rest, re.M)
assert sorted(described) == sorted(entries), f"expected {described}, got {entries}"
for kernel in info["kernels"]:
    body = rest[rest.index(f".entry {kernel['entry']}("):]
    threads = re.search(r"\.maxntid (\d+)", body)[1]
    assert int(threads) == kernel["threads"], f"expected {kernel['threads']} threads, got {threads}"
assert f".target {info['target']}" in rest
print("kernels:", *described, "phases:", info["phases"], "split:", info["split"],
      "arguments:", *[argument["name"] for argument in info["arguments"]])
