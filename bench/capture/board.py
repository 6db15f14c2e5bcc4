"""Board power, energy and clock through NVML. Every reading is None where NVML does not give it."""
import torch


class Board:
    def __init__(self):
        self.nvml = None
        self.handle = None
        try:
            import pynvml
            pynvml.nvmlInit()
            self.nvml = pynvml
            self.handle = self.find_handle()
        except Exception as error:
            print(f"no NVML: {error}", flush=True)

    def find_handle(self):
        """The NVML device that is torch's device 0 (they are numbered differently)."""
        uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
        if uuid is not None:
            try:
                return self.nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            except Exception:
                pass
        return self.nvml.nvmlDeviceGetHandleByIndex(0)

    def read(self, function, *arguments):
        if self.handle is None:
            return None
        try:
            return getattr(self.nvml, function)(self.handle, *arguments)
        except Exception:
            return None

    def energy_j(self):
        millijoule = self.read("nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoule is None else millijoule / 1e3

    def power_w(self):
        milliwatt = self.read("nvmlDeviceGetPowerUsage")
        return None if milliwatt is None else milliwatt / 1e3

    def sm_clock_mhz(self):
        return self.read("nvmlDeviceGetClockInfo", 1)  # 1: NVML_CLOCK_SM

    def driver(self):
        if self.nvml is None:
            return None
        try:
            version = self.nvml.nvmlSystemGetDriverVersion()
            return version.decode() if isinstance(version, bytes) else version
        except Exception:
            return None
