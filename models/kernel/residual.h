// The one law by which a measured kernel is carried over to a changed description: the launch floor
// stays, the rest follows the model's two times, corrected by what the measurement knows better.
//
//     predicted = floor + (body / base)^w x target,  w = body / (body + damping)
//
// A kernel at the launch floor tells little of its body: there the residual is damped towards 1.
// Between two GPUs the body has two parts, each of which follows its own ratio (ModelledTime).
#pragma once

#include <algorithm>
#include <cmath>

namespace tandem {

/// How far a measured time is believed near the launch floor.
struct Damping {
  double floor_share = 1;  // of the measured time; the floor is at most this
  double us = 0;           // body at which half of the residual's logarithm is believed
};

/// A measured time in two parts.
struct MeasuredTime {
  double floor_us = 0;
  double body_us = 0;
};
inline MeasuredTime split_time(double us, double floor_us, double floor_share = 1) {
  const double floor = std::min(floor_us, floor_share * us);
  return {floor, us - floor};
}

/// What the measured body takes over what the model says, as far as it is believed.
inline double damped_residual(double body_us, double model_us, double damping_us) {
  return std::pow(body_us / model_us, body_us / (body_us + damping_us));
}

/// On the same GPU: the modelled body changes from `base_us` to `target_us`.
inline double carried_us(double us, double floor_us, const Damping& damping, double base_us,
                         double target_us) {
  const MeasuredTime t = split_time(us, floor_us, damping.floor_share);
  return t.floor_us + damped_residual(t.body_us, base_us, damping.us) * target_us;
}

/// The same where the model knows only the ratio of the bodies, and the residual is kept whole.
inline double carried_us(double us, double floor_us, double ratio) {
  const MeasuredTime t = split_time(us, floor_us);
  return t.floor_us + t.body_us * ratio;
}

/// What a kernel takes on one GPU: its launch floor, what its bytes alone take, and what it takes
/// where bytes cost nothing. The last counts only in a ratio, so its unit may be any.
struct ModelledTime {
  double floor_us = 0;
  double moved_us = 0;
  double rest_us = 0;
};
/// How far one part changes; a part that the model does not know of stays.
inline double ratio_of(double from, double to) { return from > 0 && to > 0 ? to / from : 1; }

/// On another GPU. As much of the measured body as the bytes explain follows the memory, the rest
/// follows the SMs; the two overlap as two phases that hide most of each other do:
///
///     predicted = floor' + hypot(moved x moved_to / moved_from, rest x rest_to / rest_from),
///     moved = min(body, moved_from),  rest = sqrt(body^2 - moved^2)
inline double carried_us(double us, const ModelledTime& from, const ModelledTime& to,
                         double floor_share) {
  const MeasuredTime t = split_time(us, from.floor_us, floor_share);
  const double moved = std::min(t.body_us, from.moved_us);
  const double rest = std::sqrt((t.body_us - moved) * (t.body_us + moved));
  const double floor = t.floor_us * ratio_of(from.floor_us, to.floor_us);
  return floor + std::hypot(moved * ratio_of(from.moved_us, to.moved_us),
                            rest * ratio_of(from.rest_us, to.rest_us));
}

}  // namespace tandem
