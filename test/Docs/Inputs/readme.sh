#!/bin/bash
# readme.sh ROOT: compares README.md with the tool's help and with the example programs.
set -eu
readme=$1/README.md
status=0
for command in run compile explain bench targets cache; do
  for flag in $(flashc "$command" --help | grep -oE '^  (-[a-z] \[ )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    [[ $flag == --help ]] && continue
    if ! grep -qE -- "$flag([^a-z-]|$)" "$readme"; then
      echo "error: README.md does not mention $flag of flashc $command"
      status=1
    fi
  done
done
# The README's programs, in order.
for program in main attend; do
  awk -v wanted="$program" '
    /^```cpp$/ { inside = 1; block = block == "" ? "main" : "attend"; next }
    /^```$/ { inside = 0 }
    inside && block == wanted' "$readme" >"${TMPDIR:-/tmp}/readme.$$.cpp"
  diff "${TMPDIR:-/tmp}/readme.$$.cpp" "$1/test/Integration/Consumer/$program.cpp" || {
    echo "error: the README's program is not test/Integration/Consumer/$program.cpp"
    status=1
  }
done
rm -f "${TMPDIR:-/tmp}/readme.$$.cpp"
exit $status
