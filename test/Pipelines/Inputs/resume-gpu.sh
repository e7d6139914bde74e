#!/bin/bash
# resume-gpu.sh TEMP FLAGS...: compiles the op that FLAGS describe for a GPU with every stage dumped, and compiles again
# from each dump. The PTX has to be the same to the bit.
set -eu
temp=$1
shift
rm -rf "$temp"
mkdir -p "$temp"
flashc compile "$@" --emit ptx -o "$temp/whole.ptx" --dump-stages "$temp/whole"
status=0
for stage in 00-flash 01-online 02-tiled 03-tile 04-scheduled 05-llvm; do
  flashc compile "$temp/whole/$stage.mlir" --from "${stage#*-}" --emit ptx -o "$temp/$stage.ptx"
  if ! cmp "$temp/whole.ptx" "$temp/$stage.ptx"; then
    echo "error: the PTX differs when compilation resumes from $stage"
    status=1
  fi
done
cmp "$temp/whole.ptx" "$temp/whole/07-ptx.ptx" || status=1
echo "stages: $(ls "$temp/whole" | tr '\n' ' ')"
exit $status
