#!/usr/bin/env bash
# What action.yml runs. Its inputs are variables of the environment, so that no text of theirs is code.
set -euo pipefail
mapfile -t files < <(printf '%s\n' "$FILES" | sed '/^[[:space:]]*$/d')
doctor=(npx --yes "turnlock@${VERSION:-latest}" doctor --fail-on "$FAIL_ON")
if [[ -n "${DIALECT:-}" ]]; then doctor+=(--dialect "$DIALECT"); fi
if [[ -n "${SARIF:-}" ]]; then
  # The annotations below decide about the job: the log alone fails nothing.
  "${doctor[@]}" --format sarif -- "${files[@]}" > "$SARIF" || [[ $? -le 2 ]]
fi
"${doctor[@]}" --format github -- "${files[@]}"
