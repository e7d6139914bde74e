"""What tools/gpu-check --runtime adds: the runtime's use of the CUDA toolkit and of nothing else of it.

Part of flashc, under the Apache License v2.0 with LLVM Exceptions.

First the tests of templates, which NVRTC compiles and nvJitLink links with the compiler's PTX, run on the GPU, and
those of several GPUs in one process where there are two or more. Then NVRTC and nvJitLink are hidden: that hides them
is shown by the same tests, which then must miss them, and that no `flashc run` as much as asks for them by the dynamic
linker's record of every file that a process opens (LD_DEBUG).
"""
import glob
import os
import re
import shutil
import subprocess
import sys

TEMPLATE_TEST = "GPUTemplatesTest"
DEVICES_TEST = "GPUDevicesTest"
TOOLKIT_TESTS = ("NVRTCTest", "NVJitLinkTest", "PtxasTest", "CubinLoaderTest", "TemplatesTest")
TOOLKIT_LIBRARIES = ("libnvrtc", "libnvJitLink")
TEST_SECONDS = 120


def find_ptxas():
    for path in ("/usr/local/cuda/bin/ptxas", shutil.which("ptxas")):
        if path and os.access(path, os.X_OK):
            return path
    return None


class HiddenToolkit:
    """Environments without NVRTC and nvJitLink, and the record of what processes there open."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = os.path.join(folder, "hidden-cache")
        self.toolkits = [os.path.join(folder, name) for name in ("ptxas-alone", "no-toolkit")]
        os.makedirs(os.path.join(self.toolkits[0], "bin"))
        os.makedirs(self.toolkits[1])
        if find_ptxas():
            os.symlink(find_ptxas(), os.path.join(self.toolkits[0], "bin", "ptxas"))
        self.driver = os.path.basename(os.environ.get("FLASHC_LIBCUDA", "libcuda.so"))

    def record(self, name):
        return os.path.join(self.folder, "files-" + name)

    def wrapper(self, name, with_ptxas=True):
        """The start of a command that runs hidden and is recorded under `name`; it has a cache of its own."""
        toolkit = self.toolkits[0 if with_ptxas else 1]
        return ["env", "-u", "CI", f"FLASHC_CUDA_PATH={toolkit}", f"FLASHC_CACHE_DIR={self.cache}", "LD_DEBUG=files",
                f"LD_DEBUG_OUTPUT={self.record(name)}"]

    def opened(self, name):
        """What the command's processes, ptxas too, asked the dynamic linker for."""
        text = ""
        for path in glob.glob(glob.escape(self.record(name)) + ".*"):
            with open(path, errors="replace") as file:
                text += file.read()
        return set(re.findall(r"file=(\S+)", text))

    def asked_for(self, name, libraries):
        return sorted(file for file in self.opened(name) if any(library in file for library in libraries))

    def judge(self, name, on_gpu):
        """What is wrong with a run that has succeeded; "" where nothing is. Its record is removed then."""
        if on_gpu and not self.asked_for(name, [self.driver]):
            return f"expected a record of the files it opens with {self.driver}, got none in {self.record(name)}.*"
        found = self.asked_for(name, TOOLKIT_LIBRARIES)
        if found:
            return f"expected a run without NVRTC and nvJitLink, got one that opens {', '.join(found)}"
        for path in glob.glob(glob.escape(self.record(name)) + ".*"):
            os.remove(path)
        return ""


def needs_programs(targets):
    return any(not target.startswith(("x86", "cpu")) for target in targets)


def check_programs(tests, targets):
    program = os.path.join(tests, TEMPLATE_TEST)
    if needs_programs(targets) and not os.access(program, os.X_OK):
        sys.exit(f"error: --tests: expected a folder with the program {TEMPLATE_TEST}, got '{tests}'; build it, or name "
                 "its folder")


def run_test(program, environment, wrapper=()):
    """(exit code, output, (passed, skipped))."""
    try:
        done = subprocess.run([*wrapper, program], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return 1, f"no end within {TEST_SECONDS} s", (0, 0)
    text = done.stdout.decode(errors="replace")
    counts = [re.search(rf"\[  {word} \] (\d+) test", text) for word in ("PASSED ", "SKIPPED")]
    return done.returncode, text, tuple(int(count.group(1)) if count else 0 for count in counts)


def report(name, passed, text):
    print(f"{'PASS' if passed else 'FAIL'} {name}")
    if not passed:
        print("  " + text.strip()[-4000:].replace("\n", "\n  "))
    return passed


def check_devices(program, environment):
    """The test of several GPUs; one that says that there are too few has passed."""
    if not os.path.exists(program):
        print(f"left out: {DEVICES_TEST}, which is not in {os.path.dirname(program)}")
        return True
    code, text, (passed, skipped) = run_test(program, environment)
    reason = re.search(r"this machine has \d+ GPUs.*two are needed", text)
    if code == 0 and skipped and not passed and reason:
        print(f"left out: {DEVICES_TEST}, since {reason.group(0)}")
        return True
    return report(f"{DEVICES_TEST}: {passed} passed, {skipped} left out", code == 0 and passed and not skipped, text)


def check_templates(flashc, tests, target, folder, hidden):
    """The tests of templates and of the toolkit on this machine; returns how many programs failed."""
    ptx, decode = (os.path.join(folder, name + ".ptx") for name in ("attention", "decode"))
    flags = ["--dtype", "bf16", "--head-dim", "64", "--causal", "bottom-right", "--target", target, "--emit", "ptx"]
    subprocess.run([flashc, "compile", *flags, "-o", ptx], check=True)
    subprocess.run([flashc, "compile", *flags, "--queries", "1", "-o", decode], check=True)
    # The libraries that come with the tool lie beside it.
    libraries = ":".join(filter(None, (os.path.dirname(flashc), os.environ.get("LD_LIBRARY_PATH"))))
    # With CI what is missing of the toolkit fails, and is not left out.
    environment = {"FLASHC_TEST_PTX": ptx, "FLASHC_TEST_DECODE_PTX": decode, "CI": "1", "LD_LIBRARY_PATH": libraries,
                   "FLASHC_CACHE_DIR": os.path.join(folder, "templates-cache")}
    verdicts = [check_devices(os.path.join(tests, DEVICES_TEST), environment)]
    for name in (TEMPLATE_TEST, *TOOLKIT_TESTS):
        program = os.path.join(tests, name)
        if name != TEMPLATE_TEST and not os.path.exists(program):
            continue
        code, text, (passed, skipped) = run_test(program, environment)
        verdicts.append(report(f"{name}: {passed} passed, {skipped} left out", code == 0 and passed and not skipped,
                               text))
    # The same with nothing to find: all is left out, after NVRTC was asked for.
    _, text, (passed, skipped) = run_test(os.path.join(tests, TEMPLATE_TEST), environment, hidden.wrapper("templates"))
    asked = hidden.asked_for("templates", ["libnvrtc"])
    verdicts.append(report(f"{TEMPLATE_TEST}, hidden: {passed} passed, {skipped} left out, asked for "
                           f"{len(asked)} files of NVRTC", not passed and skipped and asked and "libnvrtc" in text, text))
    return verdicts.count(False)
