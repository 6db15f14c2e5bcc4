// The processes that one mpirun started, as one of them sees the others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

struct RankMessage {
  int from = 0;
  std::string bytes;
};

/// MPI stands behind this in a library of its own (mpi.cpp), which only a process that mpirun
/// started loads: nobody else waits for MPI to start, or needs it. One thread may call.
class Ranks {
 public:
  virtual ~Ranks() = default;  // waits until all ranks leave, unless one was given up
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks on this machine, this one among them.
  virtual int neighbours() const = 0;
  /// Does not wait for `to` to listen, if the message is shorter than a page; so rank 0 writes
  /// short ones.
  virtual void send(int to, std::string_view bytes) = 0;
  /// What came, if something did; does not wait.
  virtual std::optional<RankMessage> receive() = 0;
  /// Later messages to `rank` are dropped: it does not live. Nobody waits for the others in the
  /// end.
  virtual void give_up(int rank) = 0;
  /// One that was given up.
  virtual std::optional<int> lost() const = 0;
};

/// Null unless mpirun started this process among others. Errors: InputError if it did and the
/// library is not installed beside the program.
std::unique_ptr<Ranks> join_ranks();

}  // namespace tandem
