//===- Ptxas.cpp - PTX compiled by the toolkit's assembler -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Ptxas.h"
#include "runtime/CUDA/PTXParts.h"
#include "runtime/Cache/ContentHash.h"
#include "runtime/Cache/DiskCache.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/InThread.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flashc {
namespace {

/// A fresh folder, removed with all in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char *base = secure_getenv("TMPDIR");
    root = concat(base && *base ? base : "/tmp", "/flashc-XXXXXX");
    if (!::mkdtemp(root.data()))
      fail(root, ": expected to make a folder for ptxas, got \"", std::strerror(errno),
           "\"; set TMPDIR to a folder that can be written to");
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  std::string file(const std::string &name) const { return root + '/' + name; }

private:
  std::string root;
};

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The environment for ptxas: it asks for much memory bit by bit, and takes a tenth less time where that comes in large
/// pages.
std::vector<std::string> environment() {
  constexpr std::string_view name = "GLIBC_TUNABLES=";
  std::vector<std::string> variables;
  bool isSet = false;
  for (char **variable = environ; variable && *variable; ++variable) {
    variables.emplace_back(*variable);
    isSet |= variables.back().starts_with(name);
  }
  if (!isSet)
    variables.push_back(concat(name, "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"));
  return variables;
}

/// For C: ends with a null pointer.
std::vector<char *> pointersTo(const std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs a program with its output in the file `log`; returns whether it succeeded.
bool run(const std::vector<std::string> &words, const std::string &log) {
  const std::vector<std::string> variables = environment();
  const std::vector<char *> arguments = pointersTo(words), variablePointers = pointersTo(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int code = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(),
                               variablePointers.data());
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR)
      continue;
    return true; // the program reaps its children itself: what was written has to tell
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Where ptxas may be.
std::vector<std::string> candidates() {
  // Not for programs with more rights than their caller.
  if (const char *named = secure_getenv("FLASHC_CUDA_PATH"); named && *named)
    return {std::string(named) + "/bin/ptxas"};
  std::vector<std::string> paths = {"/usr/local/cuda/bin/ptxas"};
  const char *search = secure_getenv("PATH");
  std::istringstream folders(search ? search : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (folder.starts_with('/'))
      paths.push_back(folder + "/ptxas");
  return paths;
}

std::string askVersion(const std::string &path) {
  const TemporaryFolder folder;
  const std::string text =
      run({path, "--version"}, folder.file("log")) ? readFile(folder.file("log")) : "";
  if (text.empty())
    fail(path, ": expected ptxas to say its version, got nothing; is the toolkit whole?");
  return text;
}

/// The version, which the user's cache has for the file as it stands: starting ptxas takes longer than all
/// else that a process does for a kernel that is kept.
std::string versionOf(const std::string &path) {
  struct stat status = {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (error || ::stat(file.c_str(), &status) != 0)
    return askVersion(path);
  ContentHash hash;
  hash.add("kind", "ptxas version").add("path", file.string());
  for (const auto number : {int64_t(status.st_dev), int64_t(status.st_ino), int64_t(status.st_size),
                            int64_t(status.st_mtim.tv_sec), int64_t(status.st_mtim.tv_nsec),
                            int64_t(status.st_ctim.tv_sec), int64_t(status.st_ctim.tv_nsec)})
    hash.add("state", std::to_string(number));
  const std::vector<std::byte> text =
      DiskCache::ofUser().get(hash.key(), "version of " + file.string(), [&] {
        const std::string version = askVersion(path);
        const auto bytes = std::as_bytes(std::span(version));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
      });
  return {reinterpret_cast<const char *>(text.data()), text.size()};
}

/// Whether this ptxas can be told to assemble functions side by side; the first whose help says so here.
bool knowsSplitCompile(std::string_view version) {
  return std::atoi(readRelease(version).c_str()) >= 13;
}

bool hasSeveralKernels(std::string_view ptx) {
  constexpr std::string_view mark = ".entry ";
  const size_t first = ptx.find(mark);
  return first != std::string_view::npos && ptx.find(mark, first + 1) != std::string_view::npos;
}

std::string readLog(const std::string &path) {
  std::string log = readFile(path);
  log.resize(log.find_last_not_of("\n ") + 1);
  return log;
}

std::vector<std::byte> readCubin(const std::string &path) {
  const std::string cubin = readFile(path);
  const auto *begin = reinterpret_cast<const std::byte *>(cubin.data());
  return {begin, begin + cubin.size()};
}

/// One run of ptxas, on files whose names begin with `stem`.
struct Assembling {
  std::string stem;
  std::vector<std::string> options;

  /// The name of the file with the code of `ptx`. Throws Error with ptxas's log.
  std::string run(const std::string &ptxas, std::string_view ptx, const std::string &arch) const {
    {
      std::ofstream out(stem + ".ptx", std::ios::binary);
      out.write(ptx.data(), static_cast<std::streamsize>(ptx.size()));
      if (!out.flush())
        fail(stem, ".ptx: expected to write PTX for ptxas, got a failure; check the free space, or "
                   "set TMPDIR to another folder");
    }
    std::vector<std::string> words = {ptxas, "-arch=" + arch, stem + ".ptx", "-o", stem + ".cubin"};
    words.insert(words.end(), options.begin(), options.end());
    std::error_code error;
    if (!flashc::run(words, stem + ".log") ||
        std::filesystem::file_size(stem + ".cubin", error) == 0 || error)
      fail("expected PTX that ptxas compiles for ", arch, ", got an error:\n",
           readLog(stem + ".log"));
    return stem + ".cubin";
  }
};

/// The file with the code of `parts`, which are assembled side by side and linked.
std::string assembleParts(const std::string &ptxas, const std::string &linker,
                          const std::vector<PTXPart> &parts, const std::string &arch,
                          const TemporaryFolder &folder) {
  std::vector<std::future<std::string>> objects;
  for (size_t n = 0; n < parts.size(); ++n) {
    Assembling assembling = {folder.file(concat("part", n)), {"-c"}};
    if (parts[n].mostRegisters)
      assembling.options.push_back(concat("-maxrregcount=", parts[n].mostRegisters));
    objects.push_back(inThread([&ptxas, &arch, &part = parts[n], assembling] {
      return assembling.run(ptxas, part.text, arch);
    }));
  }
  for (const std::future<std::string> &object : objects)
    object.wait(); // whichever fails: the folder is theirs
  std::vector<std::string> words = {linker, "-arch=" + arch};
  for (std::future<std::string> &object : objects)
    words.push_back(object.get());
  std::string cubin = folder.file("linked.cubin");
  words.insert(words.end(), {"-o", cubin});
  if (!run(words, folder.file("log")) || readFile(cubin).empty())
    fail("expected parts that nvlink links for ", arch, ", got an error:\n",
         readLog(folder.file("log")));
  return cubin;
}

} // namespace

std::string readRelease(std::string_view version) {
  constexpr std::string_view mark = "release ";
  const size_t at = version.find(mark);
  if (at == std::string_view::npos)
    return "";
  const std::string_view rest = version.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

Ptxas::Ptxas() {
  for (const std::string &candidate : candidates())
    if (::access(candidate.c_str(), X_OK) == 0) {
      path = candidate;
      linker = std::filesystem::path(candidate).replace_filename("nvlink").string();
      try {
        versionText = versionOf(path);
      } catch (const Error &error) {
        why = error.what();
      }
      return;
    }
  why = "expected the program ptxas of the CUDA toolkit, got none; install the toolkit, or set "
        "FLASHC_CUDA_PATH to its folder";
}

const Ptxas &Ptxas::get() {
  static const Ptxas &ptxas = *new Ptxas;
  return ptxas;
}

std::vector<std::byte> Ptxas::compile(std::string_view ptx, const std::string &arch) const {
  if (!isAvailable())
    throw Error(why);
  const TemporaryFolder folder;
  const std::vector<PTXPart> parts = divideAtFunctions(ptx, arch);
  if (!parts.empty() && canLink())
    try {
      return readCubin(assembleParts(path, linker, parts, arch, folder));
    } catch (const Error &) {
      // The whole says what is wrong with it, if it is more than the parts.
    }
  Assembling whole = {folder.file("kernel"), {}};
  // The code is the same, and somebody waits for it: a thread per kernel, up to the machine's.
  if (hasSeveralKernels(ptx) && knowsSplitCompile(versionText))
    whole.options = {"--split-compile", "0"};
  return readCubin(whole.run(path, ptx, arch));
}

bool Ptxas::canLink() const { return ::access(linker.c_str(), X_OK) == 0; }

} // namespace flashc
