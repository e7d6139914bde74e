#!/bin/bash
# roundtrip.sh FOLDER TEMP: prints every valid .mlir file below FOLDER twice and compares.
set -eu
files=$(find "$1" -name '*.mlir' -not -path '*/data/*' -exec grep -L 'expected-error\|roundtrip: no' {} + | sort)
failures=0
for file in $files; do
  if ! flash-opt --split-input-file "$file" >"$2.once" 2>"$2.log" ||
    ! flash-opt --split-input-file "$2.once" >"$2.twice" 2>>"$2.log"; then
    echo "error: $file does not parse:"
    cat "$2.log"
    failures=1
  elif ! cmp -s "$2.once" "$2.twice"; then
    echo "error: $file prints differently the second time:"
    diff "$2.once" "$2.twice" || true
    failures=1
  fi
done
exit $failures
