// The one law by which a measured kernel is carried over to a changed description: the launch floor
// stays, the rest follows the model's two times, corrected by what the measurement knows better.
//
//     predicted = floor + (body / base)^w x target,  w = body / (body + damping)
//
// A kernel at the launch floor tells little of its body: there the residual is damped towards 1.
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

/// What a kernel takes on one GPU: its launch floor and the modelled rest.
struct ModelledTime {
  double floor_us = 0;
  double body_us = 0;
};
/// On another GPU, whose floor differs, too.
inline double carried_us(double us, const ModelledTime& from, const ModelledTime& to,
                         const Damping& damping) {
  const MeasuredTime t = split_time(us, from.floor_us, damping.floor_share);
  const double residual = damped_residual(t.body_us, from.body_us, damping.us);
  const double floor_to = to.floor_us * t.floor_us / from.floor_us;
  return us * (floor_to + residual * to.body_us) / (t.floor_us + residual * from.body_us);
}

}  // namespace tandem
