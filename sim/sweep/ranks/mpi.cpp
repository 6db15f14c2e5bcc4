// Ranks over MPI: a library that ranks.cpp loads.
#include <algorithm>
#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/exception.hpp>
#include <memory>
#include <vector>

#include "sim/sweep/ranks/ranks.h"

namespace tandem {

namespace {

namespace mpi = boost::mpi;

constexpr int tag = 0;

class MpiRanks : public Ranks {
 public:
  MpiRanks() : lost_(static_cast<std::size_t>(world_.size())) {
    // A rank that died is no reason for the others to end.
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    std::vector<std::string> machines;
    const std::string here = mpi::environment::processor_name();
    mpi::all_gather(world_, here, machines);
    neighbours_ = static_cast<int>(std::count(machines.begin(), machines.end(), here));
  }
  /// MPI_Finalize waits for every rank, for one that died without end: then we end without it.
  ~MpiRanks() override {
    if (lost()) static_cast<void>(environment_.release());
  }
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  int neighbours() const override { return neighbours_; }

  void send(int to, std::string_view bytes) override {
    if (lost_[static_cast<std::size_t>(to)]) return;
    try {
      world_.send(to, tag, bytes.data(), static_cast<int>(bytes.size()));
    } catch (const mpi::exception&) {
      give_up(to);
    }
  }

  std::optional<RankMessage> receive() override {
    const auto status = world_.iprobe(mpi::any_source, tag);
    if (!status) return {};
    RankMessage message{status->source(), std::string(*status->count<char>(), '\0')};
    world_.recv(message.from, tag, message.bytes.data(), static_cast<int>(message.bytes.size()));
    return message;
  }

  void give_up(int rank) override { lost_[static_cast<std::size_t>(rank)] = true; }
  std::optional<int> lost() const override {
    const auto found = std::find(lost_.begin(), lost_.end(), true);
    if (found == lost_.end()) return {};
    return static_cast<int>(found - lost_.begin());
  }

 private:
  std::unique_ptr<mpi::environment> environment_ =
      std::make_unique<mpi::environment>(mpi::threading::funneled, false);
  mpi::communicator world_;
  std::vector<bool> lost_;
  int neighbours_ = 1;
};

}  // namespace

}  // namespace tandem

extern "C" [[gnu::visibility("default")]] tandem::Ranks* tandem_join_ranks() {
  return new tandem::MpiRanks();
}
