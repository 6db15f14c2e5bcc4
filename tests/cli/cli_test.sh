#!/usr/bin/env bash
# The built program as its users see it: exit status, what goes to standard output and error, error
# texts. cli_test.sh PROGRAM; ctest sets TANDEM_ROOT.
set -uo pipefail
program=$(realpath -- "$1")
root=${TANDEM_ROOT:?the source tree}
trace=$root/tests/golden/replay/tiny.json
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cd -- "$scratch"
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  sed 's/^/    out: /' out | head -n 5
  sed 's/^/    err: /' err | head -n 5
  failures=$((failures + 1))
}

# expect STATUS ARGS...: runs the program; its output is then in out and err. It must never report a
# bug of its own.
expect() {
  local status=0
  "$program" "${@:2}" >out 2>err || status=$?
  last="tandem ${*:2}"
  ((status == $1)) || fail "$last: exit $status, expected $1"
  ((status == 70)) && fail "$last: reports a bug"
  return 0
}
has() { grep -qF -- "$2" "$1" || fail "$last: no \"$2\" in $1"; }
empty() { [[ ! -s $1 ]] || fail "$last: $1 is not empty"; }
# One Python reads all JSON: to start one for each takes a fifth of a second. It answers every line, a file and what must hold
# of its content `d` (or the schema that it must obey), with "ok" or the error.
if command -v python3 >/dev/null; then
  coproc READER {
    exec python3 -uc '
import json, sys
def valid(name, d):
    import jsonschema
    schema = json.load(open(sys.argv[1] + "/docs/schema/" + name + ".schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(d))
    assert not errors, " ".join(f"{list(e.path)}: {e.message[:200]}" for e in errors[:5])
for line in sys.stdin:
    path, code = line.rstrip("\n").split("\t", 1)
    try:
        with open(path) as file: exec(code, {"d": json.load(file), "valid": valid})
        print("ok")
    except BaseException as error: print(type(error).__name__, repr(str(error)))' "$root"
  }
  exec {ask}>&"${READER[1]}" {answers}<&"${READER[0]}"  # subshells have no coprocess
else
  echo 'no python3: JSON on standard output is not parsed'
fi
json() {
  local answer
  command -v python3 >/dev/null || return 0
  printf '%s\t%s\n' "$1" "$2" >&"$ask" && read -r answer <&"$answers" || answer='no answer'
  [[ $answer == ok ]] || fail "$last: $1: $2: $answer"
}
# An input error: exit 2, nothing on standard output, one line of a fixed form.
bad_input() {
  expect 2 "$@"
  empty out
  [[ $(wc -l <err) == 1 ]] || fail "$last: more than one line of error"
  grep -qE '^tandem: .+: found .+, expected .+' err || fail "$last: not \"file: found X, expected Y\""
}

# Help.
expect 2; has err 'usage: tandem COMMAND'; empty out
for flag in --help -h help; do expect 0 $flag; has out 'usage: tandem COMMAND'; empty err; done
expect 0 --version; grep -qE '^tandem [0-9.]+ \(commit [0-9a-z-]+, [A-Za-z]* build, ' out || fail '--version'
expect 0 replay --help; has out '--profiler'
expect 0 validate --help; has out '--data'; has out '--claims'
expect 0 demo --help; has out 'tandem demo'; has out 'resnet50'
expect 0 demo --out demo; has out 'tandem advise /'
bad_input demo --trace "$trace"; has err 'found "--trace"'
bad_input demo --each; has err 'unknown option "--each"'
expect 0 describe --help; has out 'what-if'; has out 'schema'
expect 0 calibrate --help; has out 'energy'; has out 'cache'
for command in replay run advise demo blocks square match check sweep validate; do
  expect 0 $command --help; has out "usage: tandem $command"; has out '--help'; empty err
done
for group in 'Trace:' 'What-ifs:' 'Host, profiler and counters:' 'Output:'; do expect 0 replay --help; has out "$group"; done
for what in gpu host network mode what-if metric check schema; do expect 0 describe $what --help; has out "usage: tandem describe $what"; done
for what in host energy cache; do expect 0 calibrate $what --help; has out "tandem calibrate $what"; done
expect 0 describe what-if; has out '--compile'; has out '--set'; has out 'precision'
expect 0 describe what-if batch; has out '--batch'
bad_input describe what-if nothing; has err 'precision, update, checkpoint, passes, batch, compile, ranks, gpu'
expect 0 describe mode; has out 'CUDA_LAUNCH_BLOCKING'
expect 0 describe mode eager-sync; has out 'CUDA_LAUNCH_BLOCKING'
bad_input describe mode fast; has err 'eager-sync'
bad_input frobnicate; has err 'unknown command "frobnicate"'

# What was probably meant, and other names for the same.
bad_input "$trace"; has err 'a command before the file, e.g. tandem replay'
bad_input replya; has err 'did you mean replay?'
bad_input compare "$trace" "$trace"; has err 'did you mean diff?'
bad_input calibrate hots; has err 'did you mean host?'
bad_input describe metrc; has err 'did you mean metric?'
bad_input replay "$trace" --precison amp; has err 'did you mean --precision?'
bad_input replay "$trace" --mode cuda-grph; has err 'did you mean cuda-graph?'
bad_input replay "$trace" --mode compyle; has err 'did you mean jit?'
bad_input replay "$trace" --precision tf23; has err 'did you mean tf32?'
bad_input replay "$trace" --gpu h20; has err 'did you mean h200_sxm?'
bad_input replay "$trace" --host defualt; has err 'did you mean default?'
bad_input run resnet5; has err 'did you mean resnet50?'
bad_input sweep "$trace" --mode as-tracd; has err 'did you mean as-traced?'
bad_input replay "$trace" --input 1e7; has err '--input: found "1e7", expected a positive number, 1e-06 to 1000000'
bad_input replay "$trace" --batch 64.5; has err '--batch: found "64.5"'
bad_input replay "$trace" --steps many; has err '--steps: found "many", expected a whole number'
bad_input replay "$trace" --measured-step; has err '--measured-step: found no value, expected a number'
bad_input replay "$trace" --quiet=yes; has err '--quiet: found a value'
bad_input replay "$trace" --shard; has err '--shard: found no --ranks, expected --ranks beside it'
bad_input replay "$trace" --ranks 1 --shard; has err '--shard: found --ranks 1, expected --ranks 2 or more'
bad_input replay "$trace" --ranks 2 --shard=yes; has err '--shard: found a value'
bad_input replay "$trace" --json a --json b; has err '--json: found it twice'
expect 0 replay "$trace" --mode CUDAGraph --gpu H200 --json -; json out 'assert d["scenario"]["mode"] == "cuda-graph" and d["scenario"]["gpu"] == "h200_sxm"'

# Standard input, and pipes.
"$program" replay - --quiet --json - <"$trace" >out 2>err || fail 'replay -: from a file'
json out 'assert d["trace"]["kernels"] == 6'
cat "$trace" | gzip | "$program" replay - --quiet --json - >out 2>err || fail 'replay -: from a pipe, compressed'
json out 'assert d["trace"]["kernels"] == 6 and d["trace"]["path"] == "-"'
expect 2 replay - </dev/null; has err 'standard input: found a device'
: | "$program" replay - >out 2>err; has err 'standard input:byte 0: found no content'
cat "$trace" | "$program" replay - "$trace" --quiet --json - >out 2>err || fail 'replay -: the first of two'
json out 'assert [r["trace"]["path"] for r in d][0] == "-" and len(d) == 2 and d[0]["step"] == d[1]["step"]'
echo no | "$program" replay - "$trace" --quiet --json - >out 2>err; (($? == 2)) || fail 'replay -: the first of two, unusable'
has err 'found `no'; json out 'assert len(d) == 1'
bad_input replay - "$trace" -; has err 'found twice'
# A result that unpacks to more than a document holds.
{ printf '{"schema": "tandem.result/1", "x": "'; head -c 70000000 /dev/zero | tr '\0' x; } | gzip -1 >bomb.json.gz
bad_input diff bomb.json.gz "$trace"; has err 'found more than 64 MiB'
# A variable that is not set is no option that is not given.
for option in --batch --gpu --json --compile --step; do bad_input replay "$trace" $option ''; has err "$option: found an empty text"; done
bad_input replay ''; bad_input sweep "$trace" --batch ''; bad_input run lenet5 --precision ''
bad_input replay "$trace" --threads -1; has err '0 to 4096'
for key in sm_count tpc_count max_blocks_per_sm fp32_lanes; do
  bad_input replay "$trace" --gpu h200 --set gpu.$key=1000000000; has err 'to 1048576 '
done

# Completion.
for shell in bash zsh; do expect 0 completion $shell; empty err; has out 'complete -o filenames -F _tandem tandem'; done
"$program" completion bash >completion.sh
completed() {
  bash -c 'source ./completion.sh; COMP_WORDS=("$@" ""); COMP_WORDS[$#-1]=${!#}; COMP_CWORD=$(($#-1)); _tandem; printf "%s\n" "${COMPREPLY[@]}"' _ tandem "$@"
}
[[ $(completed re) == replay ]] || fail "completion of a command: $(completed re)"
[[ $(completed replay x.json --pre) == --precision ]] || fail 'completion of an option'
[[ $(completed replay x.json --mode cu) == cuda-graph ]] || fail 'completion of a mode'
[[ $(completed replay x.json --gpu b2) == b200_sxm ]] || fail 'completion of a GPU'
[[ $(completed describe ne) == network ]] || fail 'completion of a part'
[[ $(completed run resnet5) == resnet50 ]] || fail 'completion of a network'
if command -v zsh >/dev/null; then
  "$program" completion zsh >completion.zsh
  # What a tab makes of a line in zsh; a file of its own is completed as well.
  tabbed() { HOME=$scratch ZDOTDIR=$scratch timeout 60 zsh -f "$root/tests/cli/zsh_tab.zsh" completion.zsh "$1" </dev/null; }
  : >a_trace.json
  while IFS='|' read -r line wanted; do
    got=$(tabbed "$line")
    [[ $got == "$wanted" ]] || fail "zsh: \"$line\" and a tab: \"$got\", expected \"$wanted\""
    tabs=$((${tabs:-0} + 1))
  done <<'END'
tandem re|tandem replay
tandem replay a_tr|tandem replay a_trace.json
tandem replay a_trace.json --preci|tandem replay a_trace.json --precision
tandem replay a_trace.json --mode cu|tandem replay a_trace.json --mode cuda-graph
tandem replay a_trace.json --gpu b2|tandem replay a_trace.json --gpu b200_sxm
tandem describe ne|tandem describe network
tandem describe gpu l40|tandem describe gpu l40s
tandem run resnet5|tandem run resnet50
END
  [[ ${tabs:-0} == 8 ]] || fail 'zsh: not every line was tried'
else
  echo 'no zsh: its completion is not tried'
fi

# A step without a trace.
expect 0 run --help; has out '--task'
for option in --base --traced-gpu --steps --traced-batch --peak-memory; do
  ! grep -qF -- "  $option " out || fail "$last: lists $option, which it refuses"
done
bad_input run lenet5 --steps 2; has err 'for they are of traces'
# More positions than the table of positions has rows (512); a rate below one is no zero.
expect 0 run bert_base --seq 100000; has out 'positions_beyond_table (1 x)'
! grep -qF ' 0.0 samples/s' out || fail "$last: no samples"
expect 0 run bert_base --seq 512; ! grep -qF positions_beyond_table out || fail "$last: 512 positions fit"
expect 0 run lenet5 --batch 64 --gpu v100_sxm2_16gb --json -; json out 'assert d["trace"]["batch"] == 64 and d["trace"]["format"] == "network"'
expect 0 run resnet18 --channels-last --gpu a100_sxm4_80gb --json last.json --quiet
expect 0 run resnet18 --layout channels-last --gpu a100_sxm4_80gb --json layout.json --quiet
cmp -s last.json layout.json || fail "$last: not what --channels-last says"
bad_input run bert_base --channels-last; has err 'no convolution of images'
expect 0 run lenet5 --task infer --mode cuda-graph --precision amp --gpu h200_sxm --json -; json out 'assert d["step"]["time_us"] > 0 and d["memory"]["peak_bytes"] > 0'
onnx=$root/tests/unit/workloads/onnx/models
expect 0 run "$onnx/lenet5-train.onnx" --batch 8 --optimizer adamw --gpu h200_sxm --json -; json out 'assert d["trace"]["batch"] == 8 and d["memory"]["peak_bytes"] > 0'
expect 0 run "$onnx/bert_base-infer.onnx" --task infer --batch 2 --seq 64 --precision amp --mode cuda-graph; has out 'step time'
head -c 1000 "$onnx/lenet5-train.onnx" >"$scratch/cut.onnx"; bad_input run "$scratch/cut.onnx"; has err 'no protobuf message'
bad_input run "$onnx/lenet5-train.onnx" --seq 8; has err 'fixed sizes'
bad_input run "$onnx/lenet5-train.onnx" --optimizer lion; has err 'sgd, adam, adamw'
bad_input run "$onnx/lenet5-train.onnx" --task infer --optimizer sgd; has err 'task train'
bad_input run lenet5 --optimizer adamw; has err 'recorded with'
bad_input run "$onnx/none.onnx"; has err 'No such file'
# The task of a file is what it was recorded with; of an ONNX file it is asked for. What says something of a trace is refused.
nets=$root/workloads/nets
expect 0 run "$nets/lenet5-infer.json" --json -; cp out infer.json
expect 0 run "$nets/lenet5-infer.json" --task infer --json -; cmp -s out infer.json || fail "$last: not what the file is"
for command in run advise 'sweep --batch 8,16 --out never'; do
  bad_input $command "$nets/lenet5-train.json" --task infer; has err '--task: found infer for a recorded training step'
done
bad_input run "$nets/lenet5-infer.json" --task train; has err 'expected --task infer'
for option in '--base none.json' '--traced-gpu v100' '--steps 3'; do bad_input run lenet5 $option; has err 'found a network'; done
bad_input advise "$trace" --task infer; has err '--task: found a trace'
bad_input sweep "$trace" --batch 8 --task infer; has err 'task: found "infer" beside a trace'
bad_input sweep "$trace" --batch 8 --optimizer sgd; has err 'optimizer: found "sgd" beside a trace'
bad_input sweep lenet5 --base "$trace" --batch 8; has err 'found a network'
bad_input run; bad_input run nothing; bad_input run lenet5 --batch 0; bad_input run lenet5 --seq 8; bad_input run lenet5 --task sleep

# A replay.
expect 0 replay "$trace"; has out 'step time'; empty err
expect 0 replay "$trace" --quiet; empty out; empty err
expect 0 replay "$trace" --json -; empty err
json out 'assert d["schema"] == "tandem.result/1" and d["step"]["time_us"] > 0'
expect 0 replay --json - "$trace"; json out 'assert d["scenario"]["mode"] == "as-traced"'
expect 0 replay "$trace" --json - --out here; json out 'assert d["trace"]["kernels"] == 6'
json here/timeline.json 'assert len(d["traceEvents"]) > 20'
[[ $(wc -l <here/kernels.csv) == 10 ]] || fail "$last: kernels.csv"
expect 0 replay "$trace" --report page.html --quiet; empty out; cmp -s page.html here/report.html || fail "$last: not the page of --out"
[[ $(head -n 1 page.html) == '<!doctype html>' ]] || fail "$last: no HTML"
bad_input replay "$trace" --report no/folder/page.html; bad_input validate --claims --report page.html
expect 0 replay "$trace" --out all --quiet; json all/result.json 'assert d["step"]["kernels"] == 3'
for mode in as-traced eager-async eager-sync cuda-graph jit; do
  expect 0 replay "$trace" --mode $mode --json -; json out "assert d['scenario']['mode'] == '$mode'"
done
measured=$root/validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst
expect 0 replay "$measured" --mode jit --json -; json out 'assert len(d["fusion"]["generated"]) > 100'
cp out jit.json
expect 0 replay "$measured" --compile inductor --json -; cmp -s out jit.json || fail "$last: not what --mode jit says"
expect 0 replay "$measured" --compile inductor --mode cuda-graph --json -
json out 'assert d["scenario"]["mode"] == "cuda-graph" and len(d["fusion"]["generated"]) > 100'
json out 'assert [w["name"] for w in d["what_ifs"]] == ["compile"]'
expect 0 replay "$trace" --profiler keep --json -; json out 'assert d["scenario"]["profiler"] == "keep"'
expect 0 replay "$trace" --gpu v100_sxm2_16gb --json -
json out 'assert d["scenario"]["gpu"] == "v100_sxm2_16gb"'
expect 0 replay "$trace" --set gpu.sm_count=66 --json -; json out 'assert d["scenario"]["gpu"] == "h200_sxm"'
expect 0 replay "$trace" --gpu h200_sxm --json -; json out 'assert d["scenario"]["gpu"] == "h200_sxm"'

# Options that name nothing list what there is.
bad_input replay "$measured" --layout channels-last; has err "expected a network"
bad_input replay; has err 'no TRACE'
bad_input replay "$trace" --mode fast; has err 'as-traced, eager-async, eager-sync, cuda-graph'
bad_input replay "$trace" --mode jit --compiler tvm; has err 'inductor, reduce-overhead, xla, torchscript'
bad_input replay "$trace" --mode jit --attention fast; has err 'auto, keep, masked, math'
bad_input replay "$trace" --profiler maybe; has err 'remove, keep'
# Options of which one says nothing beside the other, and numbers with a sign.
bad_input replay "$trace" --graph-scope forward-backward; has err '--graph-scope: found mode as-traced'
bad_input replay "$trace" --measured-step 0.01 --profiler keep; has err '--measured-step: found --profiler keep'
bad_input replay "$trace" --batch +7; has err '"+7"'; bad_input replay "$trace" --steps +7; has err '--steps: found "+7", expected a whole number'
bad_input replay "$trace" --peak-memory +7; has err 'expected a number'
# An option is no value of the one before it; a number is set once.
bad_input replay "$trace" --json --quiet; has err '--json: found the option "--quiet" in place of its value'
[[ ! -e ./--quiet ]] || fail "$last: wrote a file"
bad_input replay "$trace" --set gpu.sm_count=66 --set gpu.sm_count=100; has err 'gpu.sm_count twice'
bad_input sweep "$trace" --set gpu.sm_count=66 --set gpu.sm_count=100; has err 'gpu.sm_count twice'
bad_input replay "$trace" --set gpu.sm_count=1e9; has err 'without point and exponent'
bad_input replay "$trace" --batch 2147483648; has err 'at most 2147483647'
bad_input sweep "$trace" --clock 1000,nan; has err '"nan"'
bad_input replay "$measured" --gpu v100 --precision bf16; has err '--precision: found "bf16" on "v100_sxm2_16gb"'
expect 0 replay "$measured" --compile none --quiet --json -; json out 'assert not d["what_ifs"]'
bad_input replay "$trace" --graph-scope all; has err 'step, forward-backward, forward-backward-only'
bad_input replay "$trace" --gpu h201; has err 'h200_sxm'
bad_input replay "$trace" --set gpu.sm_count=many; has err 'gpu.sm_count: found text "many"'
bad_input replay "$trace" --set gpu.sm_count; has err 'gpu.KEY=VALUE'
bad_input replay "$root/validation/captures/h200_2026-11-20_fit/traces/resnet50-train-bf16-eager-b32.json.zst" --gpu v100_sxm2_16gb
has err 'has no bf16 tensor cores'
bad_input replay "$trace" --set gpu.no_such=1 --gpu h200_sxm; has err 'no_such'
bad_input replay "$trace" --host nobody; has err 'unknown host'
bad_input replay "$trace" --frobnicate; has err 'frobnicate'
expect 2 replay "$trace" second.json; has err 'second.json: found'; has out 'step time'  # the others are shown
bad_input validate --frobnicate
bad_input describe gpu h201; has err 'h200_sxm'
bad_input describe metric nosuch; has err 'which no metric holds'

# Checks of traces.
# Comparisons, of traces and of results, plain and compressed.
expect 0 diff --help; has out 'tandem diff A B'
expect 0 replay "$trace" --quiet --json one.json
bad_input diff one.json one.json --steps 2; has err '--steps: found two results'
expect 0 replay "$trace" --quiet --json result.json.gz
expect 0 diff "$trace" result.json.gz; has out 'attributed 100.0 %'; empty err
expect 0 diff result.json.gz "$trace" --json -
json out 'assert d["schema"] == "tandem.diff/1"; assert d["change_us"] == 0; assert d["parts"]'
expect 0 diff "$trace" "$trace" --timeline both.json.gz --quiet; empty out
[[ $(head -c 2 both.json.gz | od -An -tx1 | tr -d ' ') == 1f8b ]] || fail "$last: no gzip"
bad_input diff "$trace"; has err 'tandem diff A B'
bad_input diff "$trace" result.json.gz --timeline both.json; has err 'expected two traces'
# A kernel that runs partly outside operations, beside one that runs in one.
kernels() {
  local event=0 op; printf '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": ['
  for op in "$@"; do
    ((event++ == 0)) || printf ','
    [[ $op == none ]] || printf '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%s,"dur":40,"args":{}},' "$op" $((event * 50))
    printf '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%s,"dur":5,"args":{"correlation":%s}},' $((event * 50 + 5)) $event
    printf '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%s,"dur":10,"args":{"device":0,"stream":7,"correlation":%s,"grid":[64,1,1],"block":[128,1,1]}}' $((event * 50 + 20)) $event
  done
  printf ']}\n'
}
kernels none none aten::mul >partly.json; kernels aten::add aten::add aten::add >whole.json
expect 0 diff partly.json whole.json --steps 1 --json -; json out 'assert all(r["a_us"] >= 0 and r["count_a"] >= 0 for r in d["device"]["ops"]["rows"])'
bad_input diff "$trace" "$trace" --profiler off; has err 'one of: remove, keep'
echo '{"schema": "tandem.result/1"}' >half.json
bad_input diff half.json "$trace"; has err 'half.json:'; has err 'no key'
echo '{"schema": "tandem.diff/1"}' >other.json
bad_input diff "$trace" other.json; has err 'tandem.result/1'

expect 0 check --help; has out 'tandem check TRACE'
expect 0 describe check; has out 'clock_drift'
expect 0 describe check truncated; has out 'what to do'
bad_input describe check nosuch; has err 'faster_than_physics'
bad_input check; has err 'no TRACE'
bad_input check no/such/trace.json
bad_input check "$trace" no/such/report.csv
expect 0 check "$trace"; has out 'kernel times'; empty err
expect 0 check "$trace" --json -; json out 'assert d["schema"] == "tandem.check/1"; assert d["verdicts"]["energy"]["verdict"] in ("good", "doubtful")'
sed 's/ProfilerStep#2/ProfilerStep#5/' "$trace" >spoiled.json
expect 1 check spoiled.json; has out 'wrong  missing_steps'; has out 'step time      wrong'
bad_input validate --data "$scratch/nowhere"; has err 'no folder'
bad_input validate --figures "$scratch/figures"; has err '--claims'
# A limit that is missed is exit 1, wherever the rows go; what papers claim is theirs.
mkdir -p strict/validation/cases; ln -s "$root"/configs "$root"/workloads "$root"/models strict/
ln -s "$root"/validation/captures "$root"/validation/claims "$root"/validation/papers strict/validation/
cat >strict/validation/cases/strict.json <<'END'
{"question": "strict", "description": "a limit that nobody keeps", "kind": "gpu_time", "mode": "cuda-graph", "rests_on": ["hosts/default"],
 "sets": [{"set": "one", "folder": "h200_2026-11-22_compile_holdout/traces", "mean_limit": 1e-9,
           "pairs": [["densenet121-infer-fp32-eager-b8", "densenet121-infer-fp32-cudagraph-b8"]]}]}
END
TANDEM_ROOT=$scratch/strict expect 1 validate; has out 'strict'
TANDEM_ROOT=$scratch/strict expect 1 validate --json -; json out 'assert d["schema"] == "tandem.validation/1"'
bad_input replay "$trace" --compiler xla; has err '--mode jit'
bad_input replay "$trace" --attention math; has err '--mode jit'
bad_input replay "$trace" --batch many; has err 'a positive whole number'
bad_input replay "$trace" --mode jit --compiler xla --compile inductor; has err 'one compiler'
bad_input describe nothing; has err 'gpu, host, network, mode, what-if, metric'
bad_input describe

# Traces that cannot be read.
: >empty.json
mkdir folder
head -c 1000 "$trace" >cut.json
head -c 64 /dev/urandom >random.json
echo '{"schemaVersion": 1, "traceEvents": []}' >no_events.json
bad_input replay missing.json; has err 'missing.json: found No such file'
bad_input replay folder; has err 'folder: found a folder'
bad_input replay empty.json; has err 'empty.json:byte 0: found no content'
bad_input replay cut.json; has err 'cut.json:byte '
bad_input replay random.json

# What is no file, in the place of each file that is read: refused at once, for a device has no end and a pipe that nobody writes to
# no beginning.
mkdir folder.json folder.onnx; mkfifo pipe.json pipe.onnx; ln -s /dev/zero device.json; ln -s /dev/zero device.onnx
for what in folder device pipe; do
  for line in 'replay @' 'replay TRACE @' 'replay TRACE --counters @' 'replay TRACE --base @ --batch 64' 'replay TRACE --gpu @' 'replay TRACE --host @' \
    'run @' 'run @x' 'check @' 'check TRACE @' 'match TRACE @' 'diff @ TRACE' 'diff TRACE @' 'advise @' 'advise TRACE --host @' 'sweep @' 'sweep @ --batch 8,16' \
    'sweep TRACE --base @ --batch 8,16' 'sweep TRACE --host @' 'calibrate host @=0.01' 'describe host @'; do
    line=${line//@x/$what.onnx} line=${line//@/$what.json}
    status=0; timeout 20 "$program" ${line//TRACE/"$trace"} >out 2>err || status=$?
    last="tandem $line"; ((status == 2)) || fail "$last: exit $status"
    grep -qE "$what\.(json|onnx).*: found .*, expected " err || fail "$last: does not say what is there"
  done
done
# A pipe that somebody writes to is a file.
"$program" replay <(gzip <"$trace") --quiet --json - >out 2>err || fail 'replay <(...)'
json out 'assert d["trace"]["kernels"] == 6'
bad_input replay no_events.json
expect 2 replay ''

# Part of the trace is lost: exit 3 unless that is accepted; the result is written all the same.
sed 's/"dur":80,/"dur":-80,/' "$trace" >lossy.json
expect 3 replay lossy.json; has out 'negative_duration'; has err '--allow-data-loss'
expect 0 replay lossy.json --allow-data-loss; empty err
expect 3 replay lossy.json --json -
json out 'assert any(l["severity"] == "data_loss" for l in d["data_loss"])'
expect 3 advise lossy.json; has out 'negative_duration'; has err '--allow-data-loss'
expect 0 advise lossy.json --allow-data-loss; empty err
# report KERNEL...: what Nsight Compute prints of kernels with the grid and block of those of the trace.
report() {
  printf '%s\n' '"ID","Process ID","Kernel Name","Block Size","Grid Size","smsp__cycles_elapsed.sum"' '"","","","","","cycle"'
  local kernel; for kernel in "$@"; do printf '"0","1","%s","(128, 1, 1)","(64, 1, 1)","1000"\n' "$kernel"; done
}
report conv_fprop >counted.csv
for line in 'blocks lossy.json --kernel 0' 'sweep lossy.json --batch 8,16 --out lossy_sweep' 'match lossy.json counted.csv' "diff $trace lossy.json"; do
  expect 3 $line; has err 'part of lossy.json could not be used'; has err '--allow-data-loss'
  expect 0 $line --allow-data-loss
done
json lossy_sweep/sweep.json 'assert [l["code"] for l in d["data_loss"] if l["severity"] == "data_loss"] == ["negative_duration"]'
expect 0 sweep lossy.json --batch 8,16 --out lossy_sweep --allow-data-loss; has out 'data_loss  negative_duration'

# Counters of another workload: said by match and replay as check says it.
report conv_fprop winograd winograd >foreign.csv
for line in "replay $trace --counters foreign.csv" "match $trace foreign.csv"; do expect 0 $line; has out 'warning    counters_of_another_run (2 x)'; done
expect 1 check "$trace" foreign.csv; has out 'counters_of_another_run'; has out '2 of 3 rows'
# Of another GPU, with more traffic than there can be and cycles that contradict each other.
{
  printf '%s\n' '"ID","Process ID","Kernel Name","Block Size","Grid Size","CC","launch__sm_count","gpu__time_duration.sum","dram__sectors_read.sum","smsp__cycles_elapsed.sum","smsp__cycles_active.sum","smsp__issue_active.sum"'
  printf '%s\n' '"","","","","","","","ns","sector","cycle","cycle","cycle"' '"0","1","conv_fprop","(128, 1, 1)","(64, 1, 1)","7.0","80","80000","1000000000000","80000000","0","8000000"'
} >impossible.csv
for line in "replay $trace --counters impossible.csv" "match $trace impossible.csv"; do
  expect 3 $line; for loss in 'counters_of_another_gpu (1 x)' 'impossible_counters (1 x)' 'counters_contradict ('; do has out "$loss"; done
done
expect 1 check "$trace" impossible.csv; has out 'counters_of_another_gpu'; has out 'impossible_counters'
for line in "replay $trace --counters counted.csv" "match $trace counted.csv"; do
  expect 0 $line; ! grep -q counters_of_another_run out || fail "$last: counters of the same run"
done

# An output never takes the place of an input or of another output; nothing is written then.
cp "$trace" own.json; cp "$onnx/lenet5-train.onnx" own.onnx; cp "$root/configs/hosts/default.json" own_host.json; cp counted.csv own.csv
mkdir here_too; cp "$trace" here_too/result.json; ln -s own.json linked.json; cp "$trace" here_too/sweep.json
printf '{"schema": "tandem.experiment/1", "trace": "own.json", "axes": {"batch": [8]}}' >own_experiment.json
sha256sum own.* own_* here_too/* >before.sum
while IFS='|' read -r by line; do
  bad_input $line; has err "command line:$by: found"; has err 'expected another file'
  refused=$((${refused:-0} + 1))
done <<'END'
--json|replay own.json --json own.json
--json|replay own.json --json ./here/../own.json
--json|replay own.json --json linked.json
--kernels|replay own.json --kernels own.json
--timeline|replay own.json --timeline own.json
--report|replay own.json --report own.json
--sqlite|replay own.json --sqlite own.json
--out|replay here_too/result.json --out here_too
--json|replay own.json --host own_host.json --json own_host.json
--json|replay own.json --counters own.csv --json own.csv
--kernels|replay own.json --json new.json --kernels new.json
--kernels|replay own.json --json - --kernels -
--out|match own.json own.csv --out own.csv
--json|check own.json --json own.json
--json|advise own.json --json own.json
--json|diff own.json here_too/result.json --json here_too/result.json
--out|blocks own.json --kernel 0 --out own.json
--json|sweep own.json --batch 8,16 --json own.json
--json|sweep own_experiment.json --json own.json
--out|sweep here_too/sweep.json --batch 8,16 --out here_too
--out|calibrate host own.json=0.01 --out own.json
--json|run own.onnx --json own.onnx
--report|run lenet5 --json both --report both
END
[[ ${refused:-0} == 23 ]] || fail "not every output was tried: ${refused:-0}"
sha256sum --quiet -c before.sum || fail 'an output took the place of an input'
[[ ! -e new.json && ! -e both ]] || fail 'an output that was refused is there'
expect 0 replay own.json --quiet --json /dev/null --kernels /dev/null
expect 0 replay own.json --out here_too --json here_too/other.json --quiet

# A peak that would not even hold the parameters.
bad_input demo --out small --peak-memory 0.001; has err '--peak-memory: found 0.001 GB, expected at least 0.'

# Output that cannot be written.
bad_input replay "$trace" --json no/such/folder.json; has err 'no/such/folder.json: found No such file'
bad_input replay "$trace" --kernels folder
# Links that lead nowhere are left as they are, and nobody waits for a pipe that nobody reads.
ln -s circle_b.json circle_a.json; ln -s circle_a.json circle_b.json
bad_input replay "$trace" --quiet --json circle_a.json; has err 'circle_a.json: found Too many levels of symbolic links'
[[ -L circle_a.json ]] || fail "$last: the link was replaced"
mkfifo unread.json; last='replay --json unread.json'; status=0
timeout 60 "$program" replay "$trace" --quiet --json unread.json >out 2>err || status=$?
((status == 2)) || fail "$last: exit $status"; has err 'unread.json: found a pipe that nobody reads'
cat unread.json >read.json & expect 0 replay "$trace" --quiet --json unread.json; wait $!; json read.json 'assert d["schema"]'
# Where standard output is a file, nothing else goes there.
for option in --json --timeline; do expect 0 replay "$trace" $option -; json out 'assert len(d) > 1'; done
expect 0 replay "$trace" --kernels -; head -1 out | grep -q '^name,' || fail "$last: no table"; ! grep -q '^trace ' out || fail "$last: a summary too"
expect 0 replay "$trace" --report -; head -1 out | grep -qi '<!doctype' || fail "$last: no page"; tail -1 out | grep -q '</html>' || fail "$last: a summary too"
expect 0 blocks "$trace" --kernel 0 --out -; json out 'assert d["traceEvents"]'
expect 0 diff "$trace" "$trace" --timeline -; json out 'assert d["traceEvents"]'
# A file is written beside and renamed: who has the older one open keeps it whole.
echo old >kept.json
ln kept.json older.json
ln -s kept.json link.json
expect 0 replay "$trace" --quiet --json link.json; json kept.json 'assert d["schema"]'
[[ $(cat older.json) == old ]] || fail "$last: wrote into the older file"
[[ -L link.json ]] || fail "$last: the link was replaced"
compgen -G '*.part*' && fail "$last: leaves a part"
bad_input replay "$trace" --out "$trace"
bad_input replay "$trace" --quiet --timeline /dev/full; has err 'No space left'
status=0
"$program" replay "$trace" --json - >/dev/full 2>err || status=$?
((status == 2)) || fail "a full standard output: exit $status, expected 2"
# Texts that nobody can read, and streams that are closed, whose numbers files must not get.
for line in "replay $trace" 'describe metric' 'describe gpu h200_sxm' 'completion bash' '--help' '--version' "check $trace" \
            "diff $trace $trace" 'square --blocks 8 --threads 64'; do
  "$program" $line >/dev/full 2>err; (($? == 2)) || fail "$line: a full standard output is not said"
  grep -q '^tandem: standard output: found No space left on device' err || fail "$line: a full standard output"
  "$program" $line >&- 2>err; (($? == 2)) || fail "$line: a closed standard output is not said"
done
(exec >&- 2>&- <&-; "$program" replay "$trace" --quiet --json closed.json) || fail 'replay with all streams closed'
json closed.json 'assert d["schema"]'
"$program" replay "$trace" --json closed.json >&- 2>err; json closed.json 'assert d["schema"]'

# Blocks of one kernel.
expect 0 blocks "$trace" --kernel 0 --out blocks.json; has out 'waves'; empty err
json blocks.json 'assert any(e["name"].startswith("block ") for e in d["traceEvents"])'
expect 0 blocks "$trace" --kernel 0 --gpu v100_sxm2_16gb; has out 'on 80 SMs'
sed 's/"shared memory": *[0-9]*/"shared memory": 1000000/' "$trace" >large.json
bad_input blocks large.json --kernel 0; has err 'large.json:conv_fprop'; has err '1000000 B of shared memory, which no SM of'
expect 0 replay large.json; has out 'impossible_launches'
expect 1 check large.json; has out 'impossible_launches'
bad_input blocks "$trace"; has err 'no --kernel'
bad_input blocks "$trace" --kernel no_such_kernel
bad_input blocks "$trace" --kernel 99; has err 'a position in the step'

# calibrate host.
loop=$root/validation/captures/h200_2026-11-21_networks_holdout/traces/resnet50-infer-fp32-eager-b8.json.zst
expect 0 calibrate host "$loop" --out mine.json; has out 'gap scales x'; empty err
mkdir hosts; expect 0 calibrate host "$loop" --out hosts/mine.json
expect 0 replay "$loop" --host hosts/mine.json --json -; json out 'assert d["scenario"]["host"] == "mine"'
bad_input replay "$loop" --host hosts/none.json; has err 'hosts/none.json'
json mine.json 'assert d["name"] == "mine" and d["constants"]["gap_scale_aligned"]["kind"] == "fitted"'
expect 0 calibrate host "$loop=0.003"; has out '3000.0'; ! grep -q warning out || fail "$last: warns"
expect 0 calibrate host "$loop=3"; has out 'warning    measured_step_out_of_reach (1 x)'; has out 'another unit than seconds'
bad_input calibrate; has err 'host'
bad_input calibrate nothing
bad_input calibrate host; has err 'no TRACE'
bad_input calibrate host "$loop=fast"; has err 'TRACE=SECONDS'
bad_input calibrate host "$loop=-1"
bad_input calibrate host "$loop=0.0001"; has err 'no trace that the host limits'
bad_input calibrate host "$trace"; has err 'no iteration time'
bad_input calibrate host missing.json=1; has err 'missing.json: found No such file'

# calibrate energy and cache: the recordings of the repository.
recordings=$TANDEM_ROOT/validation/captures/h200_2026-11-20_fit
expect 0 calibrate energy "$recordings/energy/session1" "$recordings/energy/session2" --gpu h200_sxm --out energy.json
has out 'constants (95 %)'; has out 'dropped: l2_near_load'; empty err
mkdir cache; for rows in cache counted; do awk -F, 'NR % 6 == 1' "$recordings/cache/$rows.csv" >cache/$rows.csv; done
expect 0 calibrate cache cache --gpu h200_sxm; has out 'l2_all_sms'; empty err
bad_input calibrate energy "$recordings/energy/session1"; has err 'no --gpu'
bad_input calibrate energy missing --gpu h200_sxm; has err 'missing/samples.csv'
bad_input calibrate cache missing --gpu h200_sxm; has err 'missing/cache.csv'

# sweep: an experiment beside its trace; failed points; a run that is killed goes on.
expect 0 sweep --help; has out '--threads'
expect 0 sweep --keys; has out 'energy_per_sample_j'
experiment() { printf '{"schema": "tandem.experiment/1", "trace": "%s", "axes": %s}' "$2" "$3" >"$1"; }
experiment modes.json "$trace" '{"mode": ["as-traced", "cuda-graph"]}'
expect 0 sweep modes.json --out modes; has out 'cuda-graph'; empty err
json modes/sweep.json 'assert len(d["points"]) == 2'
expect 0 sweep modes.json --out modes --quiet; empty out
[[ $(wc -l <modes/points.jsonl) == 2 ]] || fail 'a finished sweep ran again'
experiment some.json "$trace" '{"batch": [8, 100000000], "gpu": ["h200_sxm", "a100_sxm4_80gb"]}'
expect 1 sweep some.json --out some; has out 'failed points: 2'; empty err
printf '{"schema": "tandem.experiment/1", "trace": "%s", "task": "infer", "axes": {"batch": [1, 2]}}' "$onnx/lenet5-train.onnx" >onnx.json
expect 0 sweep onnx.json --out onnx_sweep; json onnx_sweep/sweep.json 'assert len(d["points"]) == 2'
sed -i 's/infer/sleep/' onnx.json; bad_input sweep onnx.json --out never; has err 'train or infer'
bad_input sweep; has err 'no EXPERIMENT.json, TRACE or NETWORK'
# Axes on the command line, without a file.
expect 0 sweep "$trace" --mode as-traced,cudagraph --gpu h200,a100 --host default,hosts/mine.json --out axes --json -
json out 'assert d["schema"] == "tandem.sweep/2" and len(d["points"]) == 8 and isinstance(d["points"][0]["metrics"]["extrapolated"], bool)'
json out 'assert {p["settings"]["mode"] for p in d["points"]} == {"as-traced", "cuda-graph"}'
[[ $(wc -l <axes/sweep.csv) == 9 ]] || fail 'sweep.csv: not one header row'
head -n 1 axes/sweep.csv | grep -q '^mode,host,.*energy_per_sample_j' || fail "sweep.csv: $(head -c 200 axes/sweep.csv)"
expect 0 sweep lenet5 --batch 8,16 --gpu h200_sxm --precision fp32,fp16 --clock 1200 --out nets; has out 'amp'
head -n 1 nets/sweep.csv | grep -q ',clock_mhz,' || fail 'sweep.csv: no unit behind clock'
expect 0 sweep "$trace" --set gpu.sm_count=66,132 --pareto time_us,throughput_per_s --out numbers --quiet; empty out
cat "$trace" | "$program" sweep - --mode as-traced,eager-sync --out piped --quiet >out 2>err || fail 'sweep -'
bad_input sweep "$trace" --batch 8,,16; has err 'an empty value'
bad_input sweep "$trace" --batch 8,many; has err 'axes.batch.1'
bad_input sweep "$trace" --gpu h200,none; has err 'command line:axes.gpu'
bad_input sweep "$trace" --gpu h200,h200_sxm; has err 'axes.gpu: found h200 and h200_sxm, which are one GPU'
# What is said of a traced run is checked alike wherever it is said.
for line in "replay $trace" "sweep $trace --batch 8,16" "check $trace" "advise $trace" "blocks $trace --kernel 0"; do
  bad_input $line --steps 2 --step x; has err '--steps: found --step beside it'
  bad_input $line --steps 0; has err '--steps: found 0, expected 1 to'
done
for line in "replay $trace" "sweep $trace --batch 8,16"; do
  bad_input $line --peak-memory 1e7; has err '--peak-memory: found 10000000, expected gigabytes'
  bad_input $line --measured-step nan; has err '--measured-step: found nan, expected seconds'
  bad_input $line --traced-batch -1; has err '--traced-batch: found -1, expected 1 to'
done
bad_input sweep "$trace" --host nobody; has err 'unknown host'
bad_input sweep "$trace" --attention auto,math; has err 'axes: found no --compile'
bad_input sweep lenet5 --attention math --compile none; has err 'axes: found no --compile'
expect 0 sweep lenet5 --compile none,inductor --attention math --gpu h200 --out compiled --quiet
json compiled/sweep.json 'assert [p["settings"]["compile"] for p in d["points"]] == ["as-traced", "inductor"] and d["points"][0]["metrics"]["time_us"] != d["points"][1]["metrics"]["time_us"]'
printf '{"schema": "tandem.experiment/1", "trace": "%s", "axes": {"batch": [8]}, "metrics": []}' "$trace" >bad.json; bad_input sweep bad.json; has err 'metrics: found an empty list'
printf '{"schema": "tandem.experiment/1", "trace": "%s", "axes": {"mode": ["jit"]}, "elasticity": {"parameters": ["gpu.warp_size"], "at": {"batch": 8}}}' "$trace" >bad.json
expect 1 sweep bad.json --out elastic; has out 'gpu.warp_size'
# What says something of the trace, the network or a job, as beside replay and run.
sed 's/NVIDIA H200/Unknown 1/' whole.json >unknown.json
expect 1 sweep unknown.json --gpu a100 --out by_traced; has out '--traced-gpu NAME'
expect 0 sweep unknown.json --gpu a100 --traced-gpu h200 --out by_traced --quiet
onnx_bert=$onnx/bert_base-infer.onnx
expect 0 sweep "$onnx_bert" --task infer --seq 64 --batch 2 --samples 1e6 --price 2.5 --metrics job_hours,job_price --out by_seq; has out 'job_hours'
expect 0 run "$onnx_bert" --task infer --seq 64 --batch 2 --quiet --json by_seq.json
json by_seq/sweep.json 'assert d["points"][0]["metrics"]["time_us"] == __import__("json").load(open("by_seq.json"))["step"]["time_us"]'
json by_seq/sweep.json 'm = d["points"][0]["metrics"]; assert abs(m["job_price"] - 2.5 * m["job_hours"]) < 1e-6 * m["job_price"]'
bad_input sweep "$trace" --batch 8 --price 2; has err 'price: found no samples'
bad_input sweep "$trace" --batch 8 --seq 64; has err 'seq: found "64" beside a trace'
bad_input sweep "$trace" --mode jit --pareto time_us; has err 'two metrics'
bad_input sweep "$trace"; has err 'found no axis'
bad_input sweep lenet5; has err 'found no axis'
experiment hosts.json "$trace" '{"host": ["default", "hosts/mine.json"]}'
expect 0 sweep hosts.json --out by_host; has out 'hosts/mine.json'
printf '{"schema": "tandem.experiment/1", }' >broken.json; bad_input sweep broken.json; has err 'broken.json:line 1, column 35: found `}`'
bad_input sweep missing.json; has err 'missing.json'
experiment bad.json "$trace" '{"speed": [1]}'; bad_input sweep bad.json; has err 'unknown axis "speed"'
experiment bad.json nothing.json '{"batch": [1]}'; bad_input sweep bad.json --out never; has err 'nothing.json'
experiment bad.json "$trace" '{"gpu.speed": [1]}'; bad_input sweep bad.json --out never; has err 'axes.gpu.speed'
experiment bad.json "$trace" '{"precision": ["fp8"]}'; bad_input sweep bad.json --out never; has err 'axes.precision'
experiment bad.json "$trace" '{"gpu": ["h201"]}'; bad_input sweep bad.json --out never; has err 'axes.gpu'
bad_input sweep modes.json --threads -1
bad_input sweep modes.json --out "$trace"
experiment many.json "$loop" "{\"batch\": [$(seq -s, 1 300)]}"
"$program" sweep many.json --out killed --quiet --threads 1 >/dev/null 2>&1 & victim=$!
for _ in $(seq 100); do [[ -s killed/points.jsonl ]] && break; sleep 0.02; done
kill -9 "$victim"; wait "$victim" 2>/dev/null
expect 0 sweep many.json --out killed --quiet --threads 2
expect 0 sweep many.json --out whole --quiet --threads 1
for file in sweep.csv sweep.json report.html throughput.svg; do
  cmp -s "killed/$file" "whole/$file" || fail "$file differs after a killed run"
done

# advise: rows, what cannot be tried, several traces, what a job costs.
expect 0 advise --help; has out '--threads'
expect 0 advise "$trace"; has out 'as traced'; has out 'not predicted'; empty err
expect 0 advise "$trace" --gpu a100_sxm4_80gb --json -; empty err
json out "assert d['schema'] == 'tandem.advice/1' and 'a100_sxm4_80gb' in [r['name'] for r in d['rows']]"
expect 0 advise lenet5 --task infer --gpu h200_sxm --batch 64 --quiet; empty out; empty err
expect 0 advise "$trace" "$trace" --json two.json --quiet; json two.json 'assert len(d) == 2'
expect 2 advise missing.json "$trace"; has err 'missing.json'; has out 'as traced'
# A step that does not fit: said at once, and a smaller batch is tried.
expect 0 advise resnet50 --gpu l4 --batch 1024; has out 'DOES NOT FIT; rows that do'; has out 'advice     largest batch (128)'
expect 0 advise llama --gpu l4; has out 'DOES NOT FIT, nor does any row'; has out 'not even a batch of 1 fits'
expect 0 advise gpt2 --gpu l4 --batch 64; has out 'rows that do stand first'; has out 'the largest halved batch that fits'
bad_input advise; has err 'no TRACE'
bad_input advise missing.json; has err 'missing.json'
bad_input advise "$trace" --gpu h201; has err 'h200_sxm'
bad_input advise "$trace" --gpu h200_sxm,; has err '--gpu'
bad_input advise "$trace" --batch 64; has err '--batch'
bad_input advise "$trace" --threads -1; has err '0 to 4096'
bad_input advise "$trace" --price 3; has err '--samples'
bad_input advise "$trace" --samples 0; has err '--samples'
bad_input advise lenet5 --task sleep; has err 'train or infer'
expect 0 replay "$trace" --samples 1e6 --price 2.5; has out 'job '; has out 'a GPU hour'
expect 0 run lenet5 --samples 6e4 --json -; json out "assert d['job']['hours'] > 0 and d['job']['price'] is None"
bad_input run lenet5 --samples 6e4 --price 0; has err '--price'

# JSON Schema: what docs/schema states holds of real output.
if python3 -c 'import jsonschema' 2>/dev/null; then
  valid() { json "$2" "valid('$1', d)"; }
  expect 0 replay "$measured" --batch 64 --compile inductor --gpu a100 --quiet --json schema_result.json; valid result schema_result.json
  valid result last.json; valid sweep axes/sweep.json; valid sweep some/sweep.json
  expect 0 check "$measured" --quiet --json schema_check.json; valid check schema_check.json
  expect 0 advise "$trace" --gpu h100 --quiet --json schema_advice.json; valid advice schema_advice.json
  expect 0 run lenet5 --samples 6e4 --price 2 --quiet --json schema_job.json; valid result schema_job.json
  expect 0 diff "$trace" last.json --quiet --json schema_diff.json; valid diff schema_diff.json
  expect 0 square --blocks 8 --threads 32 --json schema_square.json; valid square schema_square.json
  printf '{"schema": "tandem.square/1"}' >less.json
  (fail() { [[ $* == *"is a required property"* ]] && exit 3; }; valid square less.json); (($? == 3)) || fail 'a schema that lets anything pass'
  for name in result advice sweep check match diff square validation claims; do expect 0 describe schema $name; cmp -s out "$root/docs/schema/$name.schema.json" || fail "docs/schema/$name.schema.json is not what describe schema says"; done
else
  echo 'no python3-jsonschema: docs/schema is not tried on output'
fi
bad_input describe schema nosuch; has err 'result, advice, sweep, check'

# describe and the root folder.
expect 0 describe gpu; has out 'h200_sxm'
expect 0 describe gpu h200_sxm; has out 'sm_count'
expect 0 describe what-if; has out '--compile'; has out '--set'; has out 'precision'
expect 0 describe what-if batch; has out '--batch'
bad_input describe what-if nothing; has err 'precision, update, checkpoint, passes, batch, compile, ranks, gpu'
expect 0 describe mode; has out 'cuda-graph'
expect 0 describe metric; has out 'step.time_us'; has out 'kernels[].bound_law'
TANDEM_ROOT=$scratch bad_input describe gpu; has err 'TANDEM_ROOT'

# The square kernel: EuroMLSys'23 figure 1.
expect 0 square --blocks 1024 --threads 256; has out 'SMACT'
expect 0 square --blocks 1024 --threads 256 --gpu h200_sxm --own-lines --json -
json out "assert d['schema'] == 'tandem.square/1' and 0 < d['smocc'] <= d['smact'] <= 1"
expect 0 square --figure square.svg; empty out; grep -q '</svg>' square.svg || fail 'no picture of the square kernel'
bad_input square --blocks 1024; has err '--threads'
for given in '--blocks 8' '--threads 8'; do bad_input square --figure figure.svg $given --json square.json; has err 'square: found no --'; done
bad_input square --figure figure.svg --json square.json; has err '--json: found no --blocks'
bad_input square --figure figure.svg --blocks 0 --threads 32; has err '--blocks: found 0'; [[ ! -e figure.svg ]] || fail 'square: a figure of nothing'
bad_input square --blocks 0 --threads 32; has err '--blocks'
bad_input square --blocks 1 --threads -1; has err '1 to 1024'
bad_input square --blocks 1 --threads 32 --gpu none; has err 'unknown GPU'
bad_input square --blocks 1 --threads 32 --gpu v100; has err 'a100_sxm4_40gb, h200_sxm'

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo 'command line: as documented'
