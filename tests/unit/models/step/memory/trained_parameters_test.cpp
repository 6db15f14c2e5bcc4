// How often a step reaches its parameters before the optimizer does.
#include "models/step/memory/trained_parameters.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// A step of operations one after the other, 10 us each; gradients have a thread of their own.
class PassMaker {
 public:
  void layer() { maker_.op("aten::linear", next(), 5, 0, "[[8,32],[32,32],[32]]"); }
  void images() { maker_.op("aten::conv2d", next(), 5, 0, "[[8,3,16,16],[32,3,3,3],[32]]"); }
  void compiled() { maker_.op("CompiledFunction", next(), 5, 0, "[[8,32]]"); }
  void stores(const std::string& dims) {
    const double begin = next();
    maker_.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", begin, 6, 1);
    maker_.op("torch::autograd::AccumulateGrad", begin + 1, 4, 1, dims);
  }
  void gradients() { stores("[[32]]"), stores("[[32,32]]"); }
  /// A node of the backward pass that runs a layer again.
  void layer_again() {
    const double begin = next();
    maker_.op("autograd::engine::evaluate_function: LinearBackward0", begin, 8, 1);
    maker_.op("aten::linear", begin + 2, 4, 1, "[[8,32],[32,32],[32]]");
  }
  void update() { maker_.op("aten::_foreach_add_", next(), 5, 0, "[[32]]"); }
  void note(const std::string& name) { maker_.note(name, next(), 5); }

  TrainedParameters trained() {
    maker_.step(0, 0, next());
    maker_.kernel(15, 5, -1);
    return {maker_.trace, link_trace(maker_.trace).steps.front()};
  }

 private:
  double next() { return now_ += 10; }
  TraceMaker maker_;
  double now_ = 0;
};

/// Of two passes and what lies `between` them.
template <typename Between>
std::int64_t passes(Between between) {
  PassMaker m;
  m.layer(), m.gradients();
  between(m);
  m.layer(), m.gradients(), m.update();
  return m.trained().passes();
}

TEST(TrainedParameters, AreReachedOnceInEachPassThatIsAddedUp) {
  EXPECT_EQ(passes([](PassMaker&) {}), 2);
  EXPECT_EQ(passes([](PassMaker& m) { m.layer(), m.gradients(); }), 3);
  PassMaker one;
  one.layer(), one.layer(), one.gradients(), one.gradients(), one.update();
  EXPECT_EQ(one.trained().passes(), 1);  // two layers alike
  EXPECT_EQ(PassMaker().trained().passes(), 1);
}

// Where gradients are added up the engine may store them in another order, of other views.
TEST(TrainedParameters, AreTheSameInAnyOrder) {
  PassMaker m;
  m.layer(), m.stores("[[64,32]]"), m.stores("[[1,64]]");
  m.layer(), m.stores("[[64]]"), m.stores("[[32,64]]");
  EXPECT_EQ(m.trained().passes(), 2);
}

TEST(TrainedParameters, ArePartsOfCompiledPasses) {
  PassMaker m;
  m.compiled(), m.gradients(), m.compiled(), m.gradients();
  EXPECT_EQ(m.trained().passes(), 2);
}

// The second backward pass of SAM is of the same batch, and several optimizers of other losses.
TEST(TrainedParameters, AreNotAddedUpWhereTheOptimizerRunsBetween) {
  EXPECT_EQ(passes([](PassMaker& m) { m.update(); }), 1);
  EXPECT_EQ(passes([](PassMaker& m) { m.note("Optimizer.zero_grad#SGD.zero_grad"); }), 1);
  EXPECT_EQ(passes([](PassMaker& m) { m.note("another range"); }), 2);
}

// Two blocks alike, each of which runs its layer again in the backward pass.
TEST(TrainedParameters, AreOfOnePassWhereItsLayersRunAgain) {
  PassMaker m;
  m.layer(), m.layer();
  for (int block = 0; block < 2; ++block) m.layer_again(), m.gradients();
  EXPECT_EQ(m.trained().passes(), 1);
  EXPECT_EQ(m.trained().shapes().size(), 4U);
}

// Eight experts whose weights are one parameter: a layer takes a slice of it.
TEST(TrainedParameters, AreTakenSliceBySlice) {
  PassMaker m;
  m.layer(), m.stores("[[8,32,16]]"), m.update();
  const TrainedParameters trained = m.trained();
  TensorShape slice;
  slice.rank = 2;
  slice.dims[0] = 32, slice.dims[1] = 16;
  EXPECT_TRUE(trained.holds_as_slice(slice));
  slice.dims[1] = 8;
  EXPECT_FALSE(trained.holds_as_slice(slice));
}

// 8 images whose gradient is asked, and the filters of their layer.
TEST(TrainedParameters, AreNoImages) {
  PassMaker m;
  m.images(), m.stores("[[8,3,16,16]]"), m.stores("[[32,3,3,3]]"), m.update();
  const auto shapes = m.trained().shapes();
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(shapes[0].elements(), 32 * 3 * 3 * 3);
}

TEST(TrainedParameters, AreOfOnePassWhereAnotherOneReachesFurther) {
  EXPECT_EQ(passes([](PassMaker& m) { m.stores("[[64]]"); }), 1);
}

}  // namespace
}  // namespace tandem
