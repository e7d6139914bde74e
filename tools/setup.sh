# setup.sh - what the scripts in this folder share. Sourced, not run.
#
# Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
#
# Installs what is missing (apt-get, on Debian 12), configures and builds. Everything asks first whether it
# is needed, so that a second run neither takes time nor needs a network.
#
#   flashc_install WHAT...      packages for: build, test
#   flashc_configure DIR ARGS   cmake, with clang, ninja, ccache and lld; again only where ARGS changed
#   flashc_build DIR TARGETS    ninja
#   flashc_python DIR           a virtual environment with NumPy in DIR/venv; sets FLASHC_PYTHON
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
llvm=/usr/lib/llvm-22

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

buildPackages=(
  ca-certificates ccache clang-22 cmake lld-22 libmlir-22-dev llvm-22-dev llvm-22-tools mlir-22-tools
  ninja-build make libboost-dev libboost-program-options-dev libdlpack-dev libminizip-dev libstdc++-12-dev libtbb-dev libxml2-dev libxxhash-dev
  libzstd-dev nlohmann-json3-dev zlib1g-dev)
testPackages=(
  clang-format-22 libclang-rt-22-dev libgmock-dev libgtest-dev librapidcheck-dev python3 python3-venv)

flashc_install() {
  local packages=() missing=() package
  for kind in "$@"; do
    case $kind in
      build) packages+=("${buildPackages[@]}") ;;
      test) packages+=("${testPackages[@]}") ;;
      *) die "expected build or test, got $kind" ;;
    esac
  done
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  [[ ${#missing[@]} == 0 ]] && return
  say "Installing ${missing[*]}"
  local sudo=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || die "expected root or sudo to install packages; run as root: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  # Package lists may be absent (a fresh container) or older than the mirror.
  "${sudo[@]}" apt-get update -q
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# Objects are shared between build folders and clones, whatever their path.
export CCACHE_BASEDIR=$root CCACHE_SLOPPINESS=pch_defines,time_macros
export CCACHE_NOHASHDIR=1

flashc_configure() {
  local build=$1
  shift
  local arguments=(
    -G Ninja -S "$root" -B "$build" -DCMAKE_C_COMPILER=$llvm/bin/clang
    -DCMAKE_CXX_COMPILER=$llvm/bin/clang++ -DCMAKE_C_COMPILER_LAUNCHER=ccache
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@")
  local stamp=$build/.configured
  # ninja configures again by itself when a CMake file changes.
  if [[ ! -f $build/build.ninja || ! -f $stamp || $(<"$stamp") != "${arguments[*]}" ]]; then
    say "Configuring $build"
    mkdir -p "$build"
    cmake "${arguments[@]}" >"$build/configure.log" 2>&1 || {
      cat "$build/configure.log" >&2
      die "cmake failed"
    }
    printf '%s' "${arguments[*]}" >"$stamp"
  fi
}

flashc_build() {
  local build=$1
  shift
  # Linking a tool with all of MLIR takes about 2 GB, a large source file less than 1.
  ninja -C "$build" "$@"
}

flashc_python() {
  local venv=$1/venv
  FLASHC_PYTHON=$venv/bin/python
  if ! "$FLASHC_PYTHON" -c 'import numpy' 2>/dev/null; then
    say "Making $venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check numpy
  fi
}
