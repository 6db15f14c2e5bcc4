#!/usr/bin/env bash
# wheel.sh PYTHON SOURCE BUILD: `pip wheel`, and the same tests with what it holds, in a fresh virtual environment. pip compiles
# the libraries again: ccache knows them; without it TANDEM_TEST_WHEEL=1 must ask for that.
set -euo pipefail
if [[ ${TANDEM_TEST_WHEEL:-} != 1 ]] && ! command -v ccache >/dev/null; then
  echo "skipped: pip compiles the libraries again and there is no ccache; TANDEM_TEST_WHEEL=1 asks for it"
  exit 77
fi
source "$(dirname -- "$0")/environment.sh"
python=$1 source=$2 build=$3
folder=$build/tests/python/wheel
mapfile -t packages <"$source/tests/python/requirements.txt"
rm -rf -- "$folder"
mkdir -p -- "$folder"
if command -v ccache >/dev/null; then  # by the compiler's name of the build folder, not by that of Python's, ccache knows objects
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  CXX=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
  export CXX
fi
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$folder" \
  --config-settings=build-dir="$build-wheel" "$source"
wheels=("$folder"/*.whl)
environment "$python" "$folder/venv" "${packages[@]}" "${wheels[0]}"
unset TANDEM_ROOT PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1 TANDEM_SOURCE=$source TANDEM_PROGRAM=$build/bin/tandem
cd -- "$folder"
# The tests may read the source tree's traces, the module must find its configs in the wheel.
"$folder/venv/bin/python" -c 'import tandem; print(tandem.__file__, tandem._tandem.data_root())' |
  grep -F "$folder/venv/lib" | grep -F site-packages/tandem/share/tandem
exec "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider "$source/tests/python"
