#!/usr/bin/env bash
# The formulas of the usage log as its format describes them, in bash and awk: a peer to compare with.
#   seed.sh hash DIR    for each DIR/*.vars (entries that end in NUL): the signature
#   seed.sh words DIR   for each DIR/*.out: words as awk counts them
#   seed.sh summary DIR for each DIR/*.jsonl: total sent true false null draft_gate ready_gate and the
#                       medians of duration_ms, prompt_words, output_words over sent rows
# Processes are started per call and not per file: a thousand files take a second.
set -euo pipefail
export LC_ALL=C

# sha256 of the sorted KEY=VALUE lines, 12 digits; "none" without any. All files' lines are sorted in one
# go, each behind the number of its file, which has a fixed width and so does not change their order.
hashes() {
  local work file number=1000000
  local -a VARS
  work=$(mktemp -d)
  for file in "$1"/*.vars; do
    number=$((number + 1))
    mapfile -d '' VARS < "$file"
    : > "$work/$number.sorted"
    if [ ${#VARS[@]} -gt 0 ]; then printf '%s\n' "${VARS[@]}" > "$work/$number.lines"; fi
  done
  touch "$work/$number.lines"
  awk -v work="$work/" '{ print substr(FILENAME, length(work) + 1, 7) $0 }' "$work"/*.lines | sort |
    awk -v work="$work/" '
      { file = work substr($0, 1, 7) ".sorted" }
      file != last { if (last) close(last); last = file }
      { print substr($0, 8) > file }'
  (cd "$work" && sha256sum -- *.sorted) | awk -v none="$(sha256sum < /dev/null)" '
    { print $1 == substr(none, 1, 64) ? "none" : substr($1, 1, 12) }'
  rm -rf "$work"
}

words() {
  awk 'BEGIN { for (i = 1; i < ARGC; i++) { n = 0; while ((getline < ARGV[i]) > 0) n += NF; print n + 0; close(ARGV[i]) } }' \
    "$1"/*.out
}

summaries() {
  awk '
    function field(name) { return match($0, "\"" name "\":[^,}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "" }
    function insert(list, count, value,   at) {
      for (at = count; at > 1 && list[at - 1] + 0 > value + 0; at--) list[at] = list[at - 1]
      list[at] = value
    }
    function median(list, count) {
      if (count == 0) return "-"
      if (count % 2) return list[(count + 1) / 2]
      return sprintf("%.1f", (list[count / 2] + list[count / 2 + 1]) / 2)
    }
    BEGIN {
      for (i = 1; i < ARGC; i++) {
        total = sent = yes = no = unknown = draft = ready = 0
        while ((getline < ARGV[i]) > 0) {
          total++
          if (field("sent") != "true") continue
          verified = field("verified")
          sent++
          if (verified == "true") yes++
          if (verified == "false") no++
          if (verified == "null") unknown++
          if (verified != "false") draft++
          if (verified == "true") ready++
          insert(duration, sent, field("duration_ms"))
          insert(prompt, sent, field("prompt_words"))
          insert(output, sent, field("output_words"))
        }
        close(ARGV[i])
        print total, sent, yes, no, unknown, draft, ready, median(duration, sent), median(prompt, sent), median(output, sent)
      }
    }' "$1"/*.jsonl
}

case "$1" in
  hash) hashes "$2" ;;
  words) words "$2" ;;
  summary) summaries "$2" ;;
esac
