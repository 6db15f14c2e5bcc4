#!/usr/bin/env bash
# Checks the rules that a compiler does not: source_rules.sh [ROOT]. Prints `file:line: what is wrong`
# for each violation; exit status 1 if there is one.
set -euo pipefail
cd -- "${1:-$(dirname -- "$0")/../..}"

# sources EXTENSION FOLDER...: the files there; a folder without files is none in a clone.
sources() {
  local extension=$1 folder
  for folder in "${@:2}"; do
    [[ -d $folder ]] && find "$folder" -regextype posix-extended -regex ".*\.($extension)"
  done | sort
}

# What files of a folder may include. Dependencies go one way: core <- trace <- engine <- metrics <-
# predict <- check, advise <- report <- diff, sweep <- cli <- python. Models of hardware and work (arch, ops, kernel, memory, collective,
# energy) see of sim only core; step, runtime and whatif, which read and rewrite steps, see the trace and the
# engine's plan as well. whatif/x never sees whatif/y.
allowed_includes() {
  local plan='sim/engine/(plan|timeline)\.h'
  case $1 in
    sim/core/*)       echo 'sim/core/' ;;
    sim/trace/*)      echo 'sim/(core|trace)/' ;;
    sim/counters/*)   echo 'sim/(core|trace|counters)/' ;;
    sim/engine/*)     echo 'sim/(core|trace|engine)/' ;;
    sim/metrics/*)    echo 'sim/(core|trace|engine|metrics)/' ;;
    sim/predict/*)    echo '(sim/(core|trace|counters|engine|metrics|predict)|models|workloads)/' ;;
    sim/check/*)      echo '(sim/(core|trace|counters|predict|check)|models)/' ;;
    sim/advise/*)     echo '(sim/(core|predict|advise)|models/(arch|runtime|whatif))/' ;;
    sim/report/*)     echo 'sim/(core|trace|counters|engine|metrics|predict|check|advise|report)/|models/whatif/reported\.h' ;;
    sim/diff/*)       echo 'sim/(core|trace|metrics|predict|report|diff)/' ;;
    sim/sweep/*)      echo '(sim/(core|trace|metrics|predict|report|sweep)|models)/' ;;
    sim/python/*)     echo '(sim|models|workloads)/' ;;
    sim/cli/*)        echo '(sim|models|workloads|validation/(compare|papers))/' ;;
    validation/compare/*) echo '(sim/(core|trace|counters|engine|metrics|predict|report/html)|models|validation/compare)/' ;;
    validation/papers/*) echo '(sim/(core|trace|metrics|predict|report|sweep)|models|workloads|validation/(compare|papers))/' ;;
    validation/fits/*) echo '(sim|models|workloads|validation)/' ;;
    models/arch/*)    echo '(sim/core|models/arch)/' ;;
    models/ops/*)     echo '(sim/core|models/ops)/' ;;
    models/kernel/*)  echo '(sim/core|models/(arch|ops|kernel))/' ;;
    models/memory/*)  echo '(sim/core|models/(arch|ops|kernel|memory))/' ;;
    models/collective/*) echo '(sim/core|models/(arch|collective))/' ;;
    models/energy/*)  echo '(sim/core|models/(arch|ops|kernel|energy))/' ;;
    models/runtime/*) echo "(sim/(core|trace)|models/(ops|runtime))/|$plan" ;;
    models/step/*)    echo "(sim/(core|trace)|models/(arch|ops|kernel|memory|energy|runtime|step))/|$plan" ;;
    # Kernels of a fused group are made of the plan that the folder above makes.
    models/whatif/compile/kernels/*) allowed_includes models/whatif/compile/groups.h ;;
    models/whatif/*/*) echo "(sim/(core|trace)|models/(arch|ops|kernel|memory|collective|energy|runtime|step|whatif/edit)|${1%/*})/|$plan|models/whatif/(transform|reported)\.h" ;;
    models/whatif/*)  echo "(sim/(core|trace)|models)/|$plan" ;;
    workloads/*)      echo '(sim/(core|trace)|models|workloads)/' ;;
    *)                echo 'nothing, for source_rules.sh does not know this folder' ;;
  esac
}

# Our headers are included in quotes, by their path from the root.
check_includes() {
  local file allowed
  sources 'h|cpp' sim models workloads validation | while IFS= read -r file; do
    allowed=$(allowed_includes "$file")
    awk -v allowed="^[ \t]*#[ \t]*include[ \t]*\"($allowed)" \
      '/^[ \t]*#[ \t]*include[ \t]*("|<(sim|models|workloads|validation)\/)/ && $0 !~ allowed {
         print FILENAME ":" FNR ": breaks the dependency rule (source_rules.sh): " $0 }' "$file"
  done
}

# GPUs are data in configs/gpus. Comments may name one, code may not, however it is spelled; a recording has its GPU in its path.
check_gpu_names() {
  sources 'h|cpp' sim models workloads | while IFS= read -r file; do
    awk '{ line = $0 }
      block { if (!sub(/^.*\*\//, "")) next; block = 0 }
      { gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, ""); sub(/\/\/.*/, "") }
      sub(/\/\*.*/, "") { block = 1 }
      { gsub(/validation\/captures\/[^"]*/, "") }
      tolower($0) ~ /[vah]100|[hb]200|(^|[^[:alnum:]])(a10|l4|l40s?|rtx[_ ]a?[0-9]+)([^[:alnum:]]|$)/ {
        print FILENAME ":" FNR ": names a GPU; that belongs into configs/gpus: " line }' \
      "$file"
  done
}

# What libraries call their kernels is data in configs/kernels/libraries.json; names in traces are read
# by the patterns of models/kernel/classify and by importers. Nobody else writes or reads one, save the table of
# operations: compilers name the ranges around their kernels after them.
check_kernel_names() {
  sources 'h|cpp' sim models | { grep -vE '^(models/(kernel/(classify/|library_names)|ops/op_table)|sim/trace/)' || true; } |
    while IFS= read -r file; do
      awk '{ line = $0; sub(/^[ \t]*\/\/.*/, ""); sub(/[ \t]\/\/ .*/, "") }
        /"[^"]*(at::native|cudnn::|nvjet|triton_|s(884|1688|16816)gemm|xmma_|fmha_cutlass|volta_|ampere_|cutlass_|elementwise_kernel)/ {
          print FILENAME ":" FNR ": names a kernel of a library; that belongs into configs/kernels/libraries.json: " line }' \
        "$file"
    done
}

# A folder holds few ideas: NAME.h and NAME.cpp are one.
check_folders() {
  sources 'h|cpp' sim models workloads | sed -E 's/\.[a-z]+$//' | sort -u |
    awk -F/ '{ sub("/[^/]*$", ""); ++ideas[$0] }
      END { for (folder in ideas)
        if (ideas[folder] > 15) print folder ": has " ideas[folder] " ideas, more than 15; make folders of it" }'
  sources 'h' sim models | { grep '_parts\.h$' || true; } |
    sed 's/$/: is named after a cut; name it after what it holds/'
}

# No class has a body of more than 150 lines, no function one of more than 80. The layout is
# clang-format's: bodies end where a line begins with the brace.
check_shapes() {
  sources 'h|cpp' sim models workloads validation tests | tr '\n' '\0' | xargs -0 -r awk '
    function check(what, from, most) {
      if (from && FNR - from > most)
        print FILENAME ":" from ": has a " what " of more than " most " lines; cut it by ideas"
    }
    FNR == 1 { type = outer = inner = 0 }
    /^(class|struct) [^;]*\{$/ { type = FNR }
    /^};/ { check("class", type, 150); type = 0 }
    /^[A-Za-z].*[({,]$/ && !/^(namespace|class|struct|enum|extern|using|constexpr|template)/ && !outer { outer = FNR }
    /^}/ { check("function", outer, 80); outer = 0 }
    type && /^  [A-Za-z].*[({,]$/ && !inner { inner = FNR }
    /^  }/ { check("function", inner, 80); inner = 0 }'
}

# Measured data keep what the profiler wrote; everything else must work on any machine.
check_machine_paths() {
  find . -name .git -prune -o -path './build*' -prune -o -path './out*' -prune \
    -o -path ./validation/captures -prune -o -type f -print | sort | tr '\n' '\0' |
    { xargs -0 grep -HInE '(^|[^[:alnum:]_.~*/-])/(work|home|root|Users)/' || true; } |
    sed 's|^\./||; s|$| <- a path of one machine|'
}

# A comment sends its reader to documents that are there: by their path from the root or from the
# folder of the file, or by a name that stands somewhere.
check_documents() {
  sources 'h|cpp|cu|py|sh' sim models workloads validation tests bench | tr '\n' '\0' |
    { xargs -0 -r grep -HnoE '[[:alnum:]_/.-]+\.md\b' || true; } |
    while IFS=: read -r file line document; do
      [[ -e $document || -e $(dirname -- "$file")/$document ]] ||
        { [[ $document != */* ]] && [[ -n $(find . -name .git -prune -o -name "$document" -print -quit) ]]; } ||
        echo "$file:$line: names $document, which is not in the repository"
    done
}

# What is published leaves through documents.cpp, which checks it; configs and schemas are no results.
check_published() {
  sources 'h|cpp' sim/python sim/cli | { grep -vE '^sim/cli/(schema/documents|calibrate/calibrate|cmd_describe)\.cpp$' || true; } |
    while IFS= read -r file; do
      awk '/\.dump\(|error_handler_t/ {
        print FILENAME ":" FNR ": writes JSON by itself; results leave through write_document() (documents.h): " $0 }' "$file"
    done
}

# Loops on several threads are those of one function, whose nesting, limits and errors are thought through once.
check_parallel() {
  sources 'h|cpp' sim models workloads validation | { grep -v '^sim/core/parallel/' || true; } |
    while IFS= read -r file; do
      awk '/<tbb\/|tbb::|<omp\.h>|std::async|<execution>/ {
        print FILENAME ":" FNR ": does things at once by itself; for_each_index() (sim/core/parallel) does: " $0 }' "$file"
    done
}

violations=$(check_includes; check_gpu_names; check_kernel_names; check_folders; check_shapes; check_machine_paths; check_documents; check_parallel; check_published)
[[ -z $violations ]] || { printf '%s\n' "$violations"; exit 1; }
echo "source rules: no violation"
