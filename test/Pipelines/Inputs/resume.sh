#!/bin/bash
# resume.sh TEMP FLAGS...: compiles the op that FLAGS describe with every stage dumped, and compiles again from
# each dump. What comes out has to be the same to the bit: the last MLIR stage from each of them, and the object
# from the first and the last (in between lies only what is equal).
set -eu
temp=$1
shift
rm -rf "$temp"
mkdir -p "$temp"
flashc compile "$@" --emit obj -o "$temp/whole.o" --dump-stages "$temp/whole"
status=0
# resume INDEX STAGE EMIT EXPECTED
resume() {
  flashc compile "$temp/whole/0$1-$2.mlir" --from "$2" --emit "$3" -o "$temp/$2.$3"
  if ! cmp "$4" "$temp/$2.$3"; then
    echo "error: $3 differs when compilation resumes from $2"
    status=1
  fi
}
resume 0 flash obj "$temp/whole.o"
resume 1 online llvm "$temp/whole/05-llvm.mlir"
resume 2 tiled llvm "$temp/whole/05-llvm.mlir"
resume 3 tile llvm "$temp/whole/05-llvm.mlir"
resume 4 vector llvm "$temp/whole/05-llvm.mlir"
resume 5 llvm obj "$temp/whole.o"
echo "stages: $(ls "$temp/whole" | tr '\n' ' ')"
exit $status
