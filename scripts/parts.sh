# Sourced by test and .ci/run: runs the parts of a check one after the other, whether or not an earlier one failed, and says at
# the end which did. Runs under bash 3.2.

parts_failed=0
parts_table=$(mktemp)

# part NAME COMMAND...: a part that fails is noted, and the next one runs.
part() {
  local name=$1 begun=$SECONDS code=0
  shift
  printf '\033[1m==>\033[0m %s\n' "$name" >&2
  # In a process of its own, so that `exit` and a failing line end the part and nothing else.
  "$@" || code=$?
  printf '%s\t%s\t%s s\n' "$name" "$([ "$code" = 0 ] && echo ok || echo "FAILED ($code)")" "$((SECONDS - begun))" >>"$parts_table"
  [ "$code" = 0 ] || parts_failed=1
  return 0
}

# parts_end TITLE: prints the table; its status is 1 if a part failed.
parts_end() {
  printf '\n%s\n' "$1" >&2
  awk -F '\t' '{ printf "  %-28s %-14s %8s\n", $1, $2, $3 }' "$parts_table" >&2
  rm -f -- "$parts_table"
  return "$parts_failed"
}
