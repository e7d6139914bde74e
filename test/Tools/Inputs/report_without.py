# report_without.py RESULTS OUT KEY...: the report of a CPU bench whose results lack keys, as "machine.targets" or, of
# every row of every cell, "cells.rows.gb_per_s".
import json
import os
import sys

sys.dont_write_bytecode = True
bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "bench")
sys.path.insert(0, bench)
import cpu_report


def remove(value, path):
    if isinstance(value, list):
        for each in value:
            remove(each, path)
    elif path[1:]:
        for each in value.values() if path[0] == "*" else [value[path[0]]] if path[0] in value else []:
            remove(each, path[1:])
    else:
        value.pop(path[0], None)


with open(sys.argv[1]) as file:
    results = json.load(file, object_hook=cpu_report.Known)
for key in sys.argv[3:]:
    remove(results, key.replace("rows.", "rows.*.").split("."))
cpu_report.write_markdown(results, cpu_report.judge(results), sys.argv[2])
