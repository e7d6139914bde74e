#!/bin/bash
# readme.sh ROOT: compares README.md with the tool's help and with the example program.
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
sed -n '/^```cpp$/,/^```$/p' "$readme" | sed '1d;$d' >"${TMPDIR:-/tmp}/readme.$$.cpp"
diff "${TMPDIR:-/tmp}/readme.$$.cpp" "$1/test/Integration/Consumer/main.cpp" || {
  echo "error: the README's program is not test/Integration/Consumer/main.cpp"
  status=1
}
rm -f "${TMPDIR:-/tmp}/readme.$$.cpp"
exit $status
