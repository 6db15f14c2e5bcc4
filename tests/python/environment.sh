# Sourced: environment PYTHON FOLDER PACKAGE...: a virtual environment with these packages, kept while they are the same.
# Without a network the test that asks is skipped (77).
environment() {
  local python=$1 folder=$2 wanted
  wanted="$("$python" --version) ${*:3}"
  [[ $(cat "$folder/wanted" 2>/dev/null) == "$wanted" ]] && return
  rm -rf -- "$folder"
  "$python" -m venv "$folder"
  if ! "$folder/bin/pip" install --quiet --no-compile "${@:3}" 2>"$folder/log"; then
    tail -n 3 -- "$folder/log"
    if grep -qE 'NewConnectionError|Name or service|Temporary failure|timed out' "$folder/log"; then
      echo "skipped: packages for the virtual environment cannot be had without a network"
      exit 77
    fi
    exit 1
  fi
  printf '%s\n' "$wanted" >"$folder/wanted"
}
