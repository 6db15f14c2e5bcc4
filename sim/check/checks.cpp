#include "sim/check/checks.h"

#include <algorithm>

#include "sim/check/clocks.h"
#include "sim/check/identity.h"
#include "sim/check/kernel_times.h"
#include "sim/check/records.h"
#include "sim/check/steps.h"

namespace tandem {

namespace {

using U = Use;

constexpr Check table[] = {
    {"faster_than_physics", "ratio", "kernels shorter than their peak rates allow, by",
     for_uses(U::kernel_times, U::utilization, U::what_ifs, U::energy),
     "these durations, or the shapes beside them, are not those of what ran",
     "record again; tell shapes with record_shapes=True", faster_than_physics},
    {"slow_stretch", "ratio", "kernels in a row that last longer than in another step, by",
     for_uses(U::step_time, U::kernel_times, U::what_ifs, U::energy),
     "the clock was lowered (heat, power) or another process used the GPU",
     "watch clocks and processes (nvidia-smi) and record again", slow_stretch},
    {"slower_than_model", "ratio", "kernels last longer than the kernel model says, by",
     for_uses(U::step_time, U::kernel_times, U::what_ifs, U::energy),
     "a clock below the boost clock, or another process, all through the trace",
     "watch clocks and processes (nvidia-smi); tell a locked clock with --clock",
     slower_than_model},
    {"slow_choice", "ratio", "convolutions that last longer than at peak rates, by",
     for_uses(U::what_ifs),
     "the library chose slow algorithms: another batch, precision or order of images may not have "
     "them",
     "torch.backends.cudnn.benchmark = True, channels_last, or another number of channels",
     slow_choice},
    {"unlike_repeats", "ratio", "single kernels that last longer than the same one elsewhere, by",
     for_uses(U::kernel_times), "something disturbed them once, or their work depends on the data",
     "record more steps", unlike_repeats},
    {"kernel_before_launch", "us", "kernels that begin before their launch, by",
     for_uses(U::step_time, U::what_ifs), "host and device times do not go together",
     "record again, with a newer profiler (CUPTI)", kernel_before_launch},
    {"kernel_after_wait", "us", "kernels that end after a wait for them returned, by",
     for_uses(U::step_time, U::what_ifs), "host and device times do not go together",
     "record again, with a newer profiler (CUPTI)", kernel_after_wait},
    {"clock_drift", "ppm", "the device's clock runs away from the host's, by",
     for_uses(U::step_time, U::what_ifs), "waits and delays grow or shrink over the trace",
     "record fewer steps, right after the start of the profiler", clock_drift},
    {"missing_correlations", "ratio", "launches and kernels that do not name each other",
     for_uses(U::step_time, U::utilization, U::what_ifs, U::energy),
     "kernels are in no step and belong to no operation",
     "keep `correlation` when traces are filtered or converted", missing_correlations},
    {"dropped_kernels", "ratio", "launches whose kernel is missing between others",
     for_uses(U::step_time, U::kernel_times, U::utilization, U::what_ifs, U::energy),
     "kernel times of a step add up to too little",
     "give the profiler larger buffers, or record fewer steps", dropped_kernels},
    {"missing_launches", "ratio", "kernels whose launch is missing beyond the first one",
     for_uses(U::step_time, U::what_ifs),
     "the host does more than the trace shows; such kernels are in no step",
     "record ProfilerActivity.CPU and all threads", missing_launches},
    {"launched_before", "ratio", "kernels that were launched before the trace began",
     for_uses(U::step_time, U::kernel_times),
     "a step that is traced alone is not whole: they are in none",
     "begin with torch.cuda.synchronize(), or record a step more", launched_before},
    {"truncated", "ratio", "what is missing at the end of the trace",
     for_uses(U::step_time, U::kernel_times, U::utilization, U::what_ifs, U::energy),
     "the last step is not whole", "end with torch.cuda.synchronize(), or record fewer steps",
     truncated},
    {"overlapping_on_stream", "ratio", "device time in which one stream does two things at once",
     for_uses(U::step_time, U::kernel_times, U::utilization, U::energy),
     "begins, ends or stream numbers are not right", "record again", overlapping_on_stream},
    {"missing_steps", "count", "steps missing among the marked ones", for_uses(U::step_time),
     "the mean step spans what is not there", "record consecutive steps", missing_steps},
    {"warm_up_inside", "ratio", "the first step lasts longer than the others, by",
     for_uses(U::step_time, U::what_ifs), "it allocates, compiles or chooses algorithms",
     "schedule(wait=2, warmup=2, ...)", warm_up_inside},
    {"steps_not_alike", "count", "steps that do not launch the same kernels",
     for_uses(U::step_time, U::kernel_times), "there is no one step that stands for all",
     "record steps of one kind (no evaluation, logging or short batch)", steps_not_alike},
    {"no_steps", "count", "no steps are marked and nothing repeats itself", for_uses(U::step_time),
     "the whole trace stands for one step", "call prof.step(), or tell --steps N", no_steps},
    {"host_noise", "ratio", "spread of the host's times between calls over the steps",
     for_uses(U::step_time, U::what_ifs), "host-bound times of this run will not repeat",
     "pin the process, close others, record more steps; tell --measured-step", host_noise},
    {"profiler_share", "ratio", "share of the traced step that the profiler takes",
     for_uses(U::step_time), "the step without it rests on the host model",
     "time the loop without the profiler and tell --measured-step", profiler_share},
    {"no_host", "count", "no calls of the host in the trace", for_uses(U::step_time, U::what_ifs),
     "nothing is known of launches and waits", "record ProfilerActivity.CPU", no_host},
    {"unknown_device", "count", "no config describes the traced device",
     for_uses(U::utilization, U::what_ifs, U::energy), "nothing that needs the GPU is computed",
     "tell --traced-gpu NAME", unknown_device},
    {"no_launch_geometry", "count", "kernels without grid and block",
     for_uses(U::utilization, U::what_ifs, U::energy), "nothing is known of what they occupy",
     "record with a profiler that states grids (Kineto)", no_launch_geometry},
    {"impossible_launches", "ratio", "kernels a block of which the traced GPU cannot hold",
     for_uses(U::utilization, U::what_ifs, U::energy),
     "their registers, threads or shared memory are not those of what ran, or another GPU ran it",
     "record again; tell the right --traced-gpu", impossible_launches},
    {"counters_of_another_run", "ratio", "rows of the counter report that are no launch of a step",
     for_uses(U::utilization, U::energy),
     "its counters are of another model, batch, precision or version",
     "count the workload that was traced", counters_of_another_run},
    {"counters_of_another_gpu", "ratio", "rows of the counter report that name another GPU",
     for_uses(U::utilization, U::energy),
     "its cycles and traffic are of another number of SMs, caches and clocks",
     "count on the GPU that was traced", counters_of_another_gpu},
    {"impossible_counters", "count", "counters that no kernel can reach in its time",
     for_uses(U::utilization, U::energy),
     "the report was changed or is damaged; they are taken as not measured",
     "export the report again (ncu --csv)", impossible_counters},
    {"counters_at_another_clock", "ratio", "kernels last longer in one of trace and report, by",
     for_uses(U::utilization), "cycles and times of the two do not go together",
     "ncu --clock-control none", counters_at_another_clock},
};

}  // namespace

std::span<const Check> checks() { return table; }

bool CheckReport::any(Concern concern) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.seen.concern == concern; });
}

CheckReport check(const TracedRun& run, const CheckLimits& limits,
                  const MatchedCounters* counters) {
  const Evidence evidence = gather(run, limits, counters);
  CheckReport out;
  for (const Check& c : checks()) {
    ++out.checks;
    if (auto seen = c.look(evidence)) {
      out.findings.push_back({c.name, c.doc, c.unit, c.means, c.advice, c.touches, *seen});
    }
  }
  std::stable_sort(
      out.findings.begin(), out.findings.end(),
      [](const Finding& a, const Finding& b) { return a.seen.concern > b.seen.concern; });
  for (const Named<Use>& use : uses) {
    UseVerdict v{use.value, false, Concern::note, {}};
    for (const Finding& f : out.findings) {
      if (!f.touches.has(use.value)) continue;
      if (!v.touched) v.concern = f.seen.concern;
      v.touched = true;
      if (f.seen.concern == v.concern) v.because.push_back(f.code);
    }
    out.verdicts.push_back(std::move(v));
  }
  return out;
}

}  // namespace tandem
