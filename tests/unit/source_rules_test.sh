#!/usr/bin/env bash
# The checker must find each kind of violation in a made-up tree, and nothing in a clean one.
set -euo pipefail
checker=$(cd -- "$(dirname -- "$0")" && pwd)/source_rules.sh
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
failed=0

reset() {
  rm -rf -- "${tree:?}"/*
  mkdir -p "$tree"/{sim/{core,trace,engine,metrics,cli,unknown},models/{kernel,runtime,whatif/{batch,gpu}},workloads,tests,bench}
}

# finds TEXT FILE LINE: LINE in FILE must be reported with TEXT. accepts FILE LINE: it must not.
finds() {
  reset
  printf '%s\n' "$3" >"$tree/$2"
  local out
  if out=$(bash "$checker" "$tree") || [[ $out != "$2:"*"$1"* ]]; then
    printf 'not found in %s: %s\n  output: %s\n' "$2" "$3" "$out"
    failed=1
  fi
}
accepts() {
  reset
  printf '%s\n' "$2" >"$tree/$1"
  local out
  out=$(bash "$checker" "$tree") || { printf 'wrongly reported: %s\n' "$out"; failed=1; }
}

finds   'dependency rule' sim/core/a.h        '#include "sim/trace/trace.h"'
finds   'dependency rule' sim/core/a.h        '  #  include <models/arch/arch.h>'
finds   'dependency rule' sim/trace/a.cpp     '#include "trace.h"'
finds   'dependency rule' sim/trace/a.cpp     '#include "../core/time.h"'
finds   'dependency rule' sim/engine/a.cpp    '#include "models/arch/arch.h"'
finds   'dependency rule' sim/metrics/a.cpp   '#include "sim/report/text.h"'
finds   'dependency rule' models/kernel/a.cpp '#include "sim/engine/plan.h"'
finds   'dependency rule' models/runtime/a.h  '#include "sim/engine/engine.h"'
finds   'dependency rule' models/kernel/a.h   '#include "sim/trace/trace.h"'
finds   'dependency rule' models/kernel/a.h   '#include "models/energy/energy_model.h"'
finds   'dependency rule' models/whatif/batch/a.h '#include "models/whatif/gpu/retarget.h"'
accepts models/whatif/batch/a.h '#include "models/whatif/edit/step_edit.h"'
finds   'dependency rule' workloads/a.cpp     '#include "sim/engine/plan.h"'
finds   'dependency rule' sim/unknown/a.cpp   '#include "sim/core/time.h"'
accepts sim/metrics/a.cpp   '#include "sim/engine/plan.h"'
accepts sim/cli/a.cpp       '#include "workloads/nets.h"'
accepts models/runtime/a.h  '#include "sim/engine/plan.h"'
accepts models/kernel/a.cpp '#include <vector>  // as in "sim/engine/plan.h"'

finds   'names a GPU' models/kernel/a.cpp 'if (name == "H100") return 2;  // special'
finds   'names a GPU' sim/cli/a.cpp       'text_value(gpu_value, "a100_sxm4_40gb")'
finds   'names a GPU' workloads/a.cpp     'if (gpu.name == "l40s") return 2;'
finds   'names a GPU' sim/core/a.cpp      $'/* about\n the V100 */ int A100 = 1;'
ending=md  # not spelt out, for this file is checked too
finds   'not in the repository' sim/core/a.h "/// See no_such_plan.$ending section 5."
accepts models/kernel/a.cpp '// measured on an H200'
accepts models/kernel/a.cpp $'/* as on\n * the V100 */ int a = 1; /* A100 */ int b;'

finds   'writes JSON by itself' sim/cli/a.cpp 'out << json.dump(2);'
accepts sim/cli/cmd_describe.cpp 'out << json.dump(2);'
accepts sim/core/a.cpp 'out << json.dump(2);'

finds   'at once by itself' sim/engine/a.cpp '#include <tbb/parallel_for.h>'
accepts sim/core/a.cpp '// TBB would do'

finds   'names a kernel' models/whatif/a.cpp 'k.name = "void at::native::fill_kernel()";'
accepts models/kernel/library_names.cpp 'return "nvjet_sm90";'
accepts models/whatif/a.cpp '// such as "nvjet_sm90"'

lines() { for ((i = 0; i < $1; ++i)); do echo "$2"; done; }
finds   'function of more' sim/core/a.cpp "int f() {
$(lines 81 '  ++n;')
}"
accepts sim/core/a.cpp "int f() {
$(lines 79 '  ++n;')
}"
finds   'function of more' sim/core/a.h "struct S {
  int f() {
$(lines 81 '    ++n;')
  }
};"
finds   'class of more' sim/core/a.h "class C {
$(lines 151 '  int n;')
};"
accepts sim/core/a.h "class C {
$(lines 149 '  int n;')
};"
finds   'named after a cut' models/kernel/a_parts.h '#pragma once'
reset
for i in {1..16}; do touch "$tree/sim/engine/file_$i".{h,cpp}; done
out=$(bash "$checker" "$tree") && { echo 'sixteen ideas in a folder were not found'; failed=1; }
[[ $out == *'sim/engine: has 16 ideas'* ]] || { echo "not found: sixteen ideas; output: $out"; failed=1; }

machine=home  # not spelt out below, for this file is checked too
finds   'path of one machine' sim/core/a.cpp "open(\"/$machine/me/trace.json\");"
finds   'path of one machine' tests/a.sh     "cd /$machine/me"
accepts sim/core/a.cpp "// see docs/$machine/index and https://example.org/$machine/"

((failed == 0)) && echo "the checker finds what it should"
