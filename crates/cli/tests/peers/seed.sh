#!/usr/bin/env bash
# The formulas of the usage log as its format describes them, in bash and awk: a peer to compare with.
#   seed.sh hash DIR    for each DIR/*.vars (entries that end in NUL): the signature
#   seed.sh words DIR   for each DIR/*.out: words as awk counts them
#   seed.sh summary DIR for each DIR/*.jsonl: total sent true false null draft_gate ready_gate and the
#                       medians of duration_ms, prompt_words, output_words over sent rows
set -euo pipefail
export LC_ALL=C

vars_hash() {
  local -a VARS=()
  mapfile -d '' VARS < "$1"
  if [ ${#VARS[@]} -eq 0 ]; then echo none; return; fi
  printf '%s\n' "${VARS[@]}" | sort | sha256sum | cut -c1-12
}

median() {
  sort -n | awk '{ v[NR] = $1 } END { if (NR == 0) print "-"; else if (NR % 2) print v[(NR + 1) / 2];
    else printf "%.1f\n", (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

field() { sed -E "s/.*\"$2\":([^,}]*).*/\1/" "$1"; }

summary() {
  local sent
  sent=$(mktemp)
  grep '"sent":true' "$1" > "$sent" || true
  count() { grep -c "$1" "$2" || true; }
  printf '%s %s %s %s %s ' "$(wc -l < "$1")" "$(wc -l < "$sent")" "$(count '"verified":true' "$sent")" \
    "$(count '"verified":false' "$sent")" "$(count '"verified":null' "$sent")"
  awk '!/"verified":false/ { draft++ } /"verified":true/ { ready++ } END { printf "%d %d ", draft, ready }' "$sent"
  printf '%s %s %s\n' "$(field "$sent" duration_ms | median)" "$(field "$sent" prompt_words | median)" \
    "$(field "$sent" output_words | median)"
  rm -f "$sent"
}

case "$1" in
  hash) for file in "$2"/*.vars; do vars_hash "$file"; done ;;
  words) for file in "$2"/*.out; do awk '{ n += NF } END { print n + 0 }' "$file"; done ;;
  summary) for file in "$2"/*.jsonl; do summary "$file"; done ;;
esac
