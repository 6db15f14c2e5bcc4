// Ranks over MPI: a library that ranks.cpp loads.
#include <algorithm>
#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/exception.hpp>
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
    mpi::all_gather(world_, environment_.processor_name(), machines);
    neighbours_ = static_cast<int>(
        std::count(machines.begin(), machines.end(), environment_.processor_name()));
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

 private:
  mpi::environment environment_{mpi::threading::funneled, false};
  mpi::communicator world_;
  std::vector<bool> lost_;
  int neighbours_ = 1;
};

}  // namespace

}  // namespace tandem

extern "C" [[gnu::visibility("default")]] tandem::Ranks* tandem_join_ranks() {
  return new tandem::MpiRanks();
}
