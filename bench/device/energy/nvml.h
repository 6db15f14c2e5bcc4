// NVML without its header: power and energy of one board, loaded at run time.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

/// Readings of one board; a reading that NVML does not give is -1.
class Board {
 public:
  explicit Board(int index) {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library_ == nullptr) throw std::runtime_error("no libnvidia-ml.so.1");
    load(energy_, "nvmlDeviceGetTotalEnergyConsumption");
    load(power_, "nvmlDeviceGetPowerUsage");
    load(fields_, "nvmlDeviceGetFieldValues");
    load(clock_, "nvmlDeviceGetClockInfo");
    load(temperature_, "nvmlDeviceGetTemperature");
    int (*init)() = nullptr;
    int (*handle)(unsigned, void**) = nullptr;
    load(init, "nvmlInit_v2");
    load(handle, "nvmlDeviceGetHandleByIndex_v2");
    if (init == nullptr || handle == nullptr || init() != 0 ||
        handle(static_cast<unsigned>(index), &device_) != 0) {
      throw std::runtime_error("NVML does not answer");
    }
  }

  /// Since the driver was loaded; a counter that steps about every 100 ms.
  double energy_j() const {
    unsigned long long millijoule = 0;
    return energy_ && energy_(device_, &millijoule) == 0 ? static_cast<double>(millijoule) / 1e3
                                                         : -1;
  }
  /// Mean of the last second on recent boards.
  double power_w() const {
    unsigned milliwatt = 0;
    return power_ && power_(device_, &milliwatt) == 0 ? milliwatt / 1e3 : -1;
  }
  double instant_power_w() const {
    struct Value {
      unsigned id, scope;
      long long time_us, latency_us;
      int type, status;
      union {
        double d;
        unsigned u;
        unsigned long long ull;
      } value;
    } v{};
    v.id = 186;  // NVML_FI_DEV_POWER_INSTANT
    if (!fields_ || fields_(device_, 1, &v) != 0 || v.status != 0) return -1;
    return v.value.u / 1e3;
  }
  int sm_clock_mhz() const {
    unsigned mhz = 0;
    return clock_ && clock_(device_, 1, &mhz) == 0 ? static_cast<int>(mhz) : -1;
  }
  int temperature_c() const {
    unsigned celsius = 0;
    return temperature_ && temperature_(device_, 0, &celsius) == 0 ? static_cast<int>(celsius) : -1;
  }

 private:
  template <class Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
  }

  void* library_ = nullptr;
  void* device_ = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
  int (*fields_)(void*, int, void*) = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
};
