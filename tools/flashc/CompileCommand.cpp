//===- CompileCommand.cpp - flashc compile --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compile.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/Bundle/Bundle.h"
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/CUDA/NVJitLink.h"
#include "runtime/IO/AtomicFile.h"
#include "runtime/IO/ByteSource.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Inputs.h"
#include "tools/flashc/Outputs.h"
#include "tools/flashc/Report.h"
#include "tools/flashc/Suggest.h"

#include <functional>
#include <iostream>
#include <iterator>
#include <unistd.h>

namespace flashc::tool {
namespace {

/// MLIR files beyond this are refused unread, as the compiler refuses the text.
constexpr uint64_t mostTextBytes = uint64_t(64) << 20;

Stage parseStageFlag(const Arguments &arguments, const char *flag, Stage otherwise, bool onlyMLIR) {
  const std::optional<std::string> text = arguments.find(flag);
  if (!text)
    return otherwise;
  const std::optional<Stage> stage = parseStage(*text);
  if (stage && (isMLIR(*stage) || !onlyMLIR))
    return *stage;
  const std::vector<std::string> names(std::begin(kStageNames), std::end(kStageNames));
  throw UsageError(concat("--", flag, ": expected a stage out of ", listStages(onlyMLIR), ", got '",
                          *text, "'", stage ? "" : didYouMean(*text, names)));
}

std::string readText(const std::string &path) {
  std::string text;
  if (path == "-") {
    char buffer[65536];
    while (std::cin.read(buffer, sizeof(buffer)), std::cin.gcount() > 0) {
      text.append(buffer, static_cast<size_t>(std::cin.gcount()));
      if (text.size() > mostTextBytes)
        fail("standard input: expected at most ", mostTextBytes, " bytes of MLIR, got more");
    }
    return text;
  }
  const auto file = ByteSource::openFile(path, {mostTextBytes});
  text.resize(file->size());
  file->readAt(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// The targets of --target T1,T2; one, perhaps "", where it is not a list.
std::vector<std::string> targetsOf(const Arguments &arguments) {
  std::vector<std::string> targets = {""};
  for (const char letter : arguments.find("target").value_or(""))
    if (letter == ',')
      targets.emplace_back();
    else
      targets.back() += letter;
  for (const std::string &target : targets)
    if (target.empty() && targets.size() > 1)
      throw UsageError("--target: expected a target between commas, got none");
  return targets;
}

/// What is compiled: its type, which chooses among the host's targets (of a file where it becomes a bundle; else
/// compileText chooses), and how it is compiled to a stage for a target ("": the default).
struct Source {
  DType type = DType::F32;
  std::function<std::string(const std::string &target, const CompileOptions &)> compile;
};

/// Of a file, for `numTargets` targets in a bundle, or one by itself.
Source prepareFile(const Arguments &arguments, size_t numTargets, bool isBundle) {
  const std::string &path = arguments.positional()[0];
  for (const std::string &flag : arguments.given())
    if (flag != "target" && flag != "emit" && flag != "from" && flag != "dump-stages" &&
        flag != "output" && flag != "cubins" && flag != "assemble")
      fail("expected either a file or flags of attention, got '", path, "' and --", flag,
           "; the file says what is computed");
  const Stage from = parseStageFlag(arguments, "from", Stage::Flash, true);
  if (numTargets > 1 && from != Stage::Flash)
    fail("--from: expected flash for several targets, got ", nameOf(from),
         "; from there on a module is for one target");
  const std::string text = readText(path), name = path == "-" ? "standard input" : path;
  return {isBundle ? inputTypeOf(text, name) : DType::F32,
          [=](const std::string &target, const CompileOptions &options) {
            return compileText(text, name, from, target, options);
          }};
}

/// Of what the flags describe.
Source prepareFlags(const Arguments &arguments) {
  if (arguments.has("from"))
    fail("--from: expected a file to start from, got none; give FILE.mlir");
  Inputs inputs = loadInputs(arguments, Need::Types);
  printNotes(inputs);
  return {inputs.desc.dtype,
          [desc = inputs.desc](const std::string &target, const CompileOptions &options) mutable {
            desc.target = target;
            return compileAttention(desc, options);
          }};
}

/// The machine code of `ptx` for `arch`, which `flag` asks for.
std::vector<std::byte> makeCubin(const std::string &ptx, const std::string &arch,
                                 std::string_view flag) {
  std::string reason;
  if (!canMakeCubins(reason))
    fail(flag, ": ", reason, "; without ", flag, " no toolkit is needed");
  return cubinFor(ptx, arch, /*driverVersion=*/0);
}

/// What a first run on a device of architecture `arch` makes of PTX.
std::string assemble(const std::string &ptx, const std::string &arch) {
  const std::vector<std::byte> cubin = makeCubin(ptx, arch, "--assemble");
  return {reinterpret_cast<const char *>(cubin.data()), cubin.size()};
}

/// The bundle of the objects for all `targets`.
std::string compileBundle(const Source &source, const std::vector<std::string> &targets,
                          bool wantCubins, const CompileOptions &options) {
  if (options.emit != Stage::Obj)
    fail("--emit: expected obj for a bundle, got ", nameOf(options.emit),
         "; give one target, and a file that is no .bundle");
  std::vector<std::string> objects;
  std::vector<BundleImage> images;
  for (const std::string &target : targets) {
    const std::string name = resolveTarget(target, source.type);
    CompileOptions own = options;
    if (!own.dumpStages.empty())
      own.dumpStages += "/" + name; // the stages of each target in a folder
    objects.push_back(source.compile(name, own));
    const bool isCPU = lookupTarget(name)->kind == TargetKind::CPU;
    images.push_back({name, isCPU ? BundleImage::Kind::Object : BundleImage::Kind::PTX, {}});
  }
  std::vector<std::vector<std::byte>> cubins;
  for (size_t n = 0; n < objects.size(); ++n) {
    images[n].bytes = std::as_bytes(std::span(objects[n]));
    if (wantCubins && images[n].kind == BundleImage::Kind::PTX)
      cubins.push_back(makeCubin(objects[n], images[n].target, "--cubins"));
  }
  for (size_t n = 0, next = 0; next < cubins.size(); ++n)
    if (images[n].kind == BundleImage::Kind::PTX)
      images.push_back({images[n].target, BundleImage::Kind::Cubin, cubins[next++]});
  const std::vector<std::byte> file = writeBundle(images);
  return {reinterpret_cast<const char *>(file.data()), file.size()};
}

void compile(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  CompileOptions options;
  options.emit = parseStageFlag(arguments, "emit", Stage::Obj, false);
  options.dumpStages = arguments.find("dump-stages").value_or("");
  const std::string output = arguments.find("output").value_or("");
  const bool toStandardOutput = output.empty() || output == "-";
  if (options.emit == Stage::Obj && output.empty() && options.dumpStages.empty())
    throw UsageError("expected a file for the object, got none; give -o FILE.o (-o - for standard "
                     "output), or --emit STAGE for text (" +
                     listStages() + ")");
  if (options.emit == Stage::Obj && output == "-" && isatty(STDOUT_FILENO))
    fail("expected a file or a pipe for the object, got a terminal; give -o FILE.o");
  if (!toStandardOutput)
    checkWritable("output", output);
  const std::vector<std::string> targets = targetsOf(arguments);
  const bool isBundle = targets.size() > 1 || output.ends_with(".bundle");
  const bool isFile = !arguments.positional().empty();
  if (arguments.has("cubins") && !isBundle)
    fail("--cubins: expected a bundle, got one object; name the output FILE.bundle");
  const std::optional<std::string> arch = arguments.find("assemble");
  if (arch && (isBundle || options.emit != Stage::Obj))
    fail("--assemble: expected one kernel for a GPU, got ",
         isBundle ? "a bundle" : "--emit; machine code is what comes after all stages");
  if (arch && !isArchitecture(*arch))
    fail("--assemble: expected an architecture such as sm_90 or sm_90a, got '",
         arch->substr(0, 100), "'");
  if (isBundle && isFile && !arguments.has("target"))
    fail("expected the targets of a bundle, got none; give --target T1,T2");
  const Source source =
      isFile ? prepareFile(arguments, targets.size(), isBundle) : prepareFlags(arguments);
  if (!isFile && !arguments.has("target"))
    invocation.settled = {"--target", resolveTarget("", source.type)};
  std::string result = isBundle ? compileBundle(source, targets, arguments.has("cubins"), options)
                                : source.compile(targets[0], options);
  if (arch && result.starts_with("\x7f"
                                 "ELF"))
    fail("--assemble: expected a kernel for a GPU, got one for a CPU; give --target");
  if (arch)
    result = assemble(result, *arch);
  if (!toStandardOutput)
    writeFileAtomically(output, {std::as_bytes(std::span(result))});
  else if (options.emit != Stage::Obj || output == "-")
    std::cout << result;
}

} // namespace

Command compileCommand() {
  Command command;
  command.name = "compile";
  command.summary = "Compile attention, or MLIR of any stage, to any later stage.";
  command.usage = "(FILE.mlir | FLAGS...) [--target T[,T...]] [--emit STAGE] [-o OUT]";
  command.description = R"(
The stages are flash, online, tiled, tile, vector, llvm (MLIR), llvm-ir, asm (text) and obj: an
x86-64 ELF object that needs nothing else, for 'flashc run --object' and the runtime. Sizes of batches,
sequences and heads stay open; D and Dv come from --head-dim and --value-dim, from --random or from files.

Several targets, or a file named .bundle, give a bundle: the objects for all of them in one file, of which
a run takes the best that its machine can. It has the format of LLVM's offload binaries.

  flashc compile --head-dim 64 --dtype bf16 --causal bottom-right --emit tiled
  flashc compile --head-dim 128 --target x86-64-v3 -o attention.o
  flashc compile --head-dim 128 --target x86-64-v3,x86-64-v4 -o attention.bundle
  flashc compile --from tiled --emit asm dumps/02-tiled.mlir -o attention.s
)";
  command.ownFlags = {
      {"Compiling",
       {{"emit", "STAGE", "Stop at this stage (default obj)."},
        {"from", "STAGE", "The stage that FILE.mlir is at (default flash)."},
        {"cubins", "",
         "Put machine code beside the PTX of a bundle, which spares compiling at the first run. "
         "Needs ptxas of the CUDA toolkit."},
        {"assemble", "ARCH",
         "Machine code for an architecture, such as sm_90, that runs the target: what a first run "
         "there makes of PTX. Needs ptxas of the CUDA toolkit."},
        {"output", "OUT", "Write here; - is standard output, the default for text.", false, 'o'},
        {"dump-stages", "DIR", "Write every stage on the way to this folder."}}}};
  command.maxPositional = 1;
  command.run = compile;
  return command;
}

} // namespace flashc::tool
