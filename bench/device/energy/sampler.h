// A thread that writes down power readings while the calibration runs.
#pragma once

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "nvml.h"

/// Seconds since the program began.
inline double seconds() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Writes a row whenever a reading changes: the meters step, and only their steps say when.
class Sampler {
 public:
  Sampler(const Board& board, const std::string& path)
      : thread_([this, &board, path] { run(board, path); }) {}
  ~Sampler() {
    stop_ = true;
    thread_.join();
  }

 private:
  void run(const Board& board, const std::string& path) {
    std::ofstream out(path);
    out << "time_s,energy_j,power_w,instant_w,sm_mhz,temperature_c\n";
    out.precision(12);
    double energy = 0, power = 0, instant = 0;
    while (!stop_) {
      const double e = board.energy_j(), p = board.power_w(), i = board.instant_power_w();
      if (e != energy || p != power || i != instant) {
        out << seconds() << ',' << e << ',' << p << ',' << i << ',' << board.sm_clock_mhz() << ','
            << board.temperature_c() << '\n';
      }
      energy = e, power = p, instant = i;
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
  }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};
