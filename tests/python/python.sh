#!/usr/bin/env bash
# python.sh PYTHON SOURCE BUILD: the module of the build tree in a virtual environment.
set -euo pipefail
source "$(dirname -- "$0")/environment.sh"
python=$1 source=$2 build=$3
mapfile -t packages <"$source/tests/python/requirements.txt"
environment "$python" "$build/tests/python/venv" "${packages[@]}"
unset TANDEM_ROOT
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python TANDEM_SOURCE=$source TANDEM_PROGRAM=$build/bin/tandem
cd -- "$build/tests/python"
exec venv/bin/python -m pytest -q -p no:cacheprovider "$source/tests/python"
