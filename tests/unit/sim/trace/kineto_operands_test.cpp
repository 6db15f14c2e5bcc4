#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "sim/trace/importers/kineto/operands.h"
#include "tests/operands_for_tests.h"

namespace tandem {
namespace {

using kineto::parse_operands;
using test::parse_tensors;

TEST(Tensors, ShapesTypesAndScalars) {
  const OpTensors t =
      parse_tensors("[[32,3],[],[],[5]]", R"(["c10::Half","Scalar","float","long int"])");
  ASSERT_EQ(t.shapes.size(), 3U);
  EXPECT_EQ(t.shapes[0].elements(), 96);
  EXPECT_EQ(t.shapes[0].type, DataType::fp16);
  EXPECT_EQ(t.shapes[1].elements(), 1);  // a tensor of no dimensions
  EXPECT_EQ(t.at(3)->type, DataType::int64);
  EXPECT_EQ(t.at(1), nullptr);
}

TEST(Tensors, StrideZeroIsExpanded) {
  const OpTensors t = parse_tensors("[[16,12,128]]", R"(["float"])", "[[128,0,1]]");
  EXPECT_EQ(t.shapes[0].elements(), 16 * 12 * 128);
  EXPECT_EQ(t.shapes[0].expanded, 12);
}

TEST(Tensors, ListsAreFlattened) {
  const OpTensors t = parse_tensors("[[[8,4],[8,6]],[]]", R"(["TensorList","Scalar"])");
  ASSERT_EQ(t.shapes.size(), 2U);
  EXPECT_EQ(t.arguments[1], 0);
  const OpTensors unknown = parse_tensors("[[],[]]", R"(["TensorList","Scalar"])");
  EXPECT_TRUE(unknown.shapes.empty());
}

TEST(Tensors, ManyDimensionsKeepTheirCount) {
  const OpTensors t = parse_tensors("[[2,3,4,5,6,7,8]]", R"(["float"])");
  EXPECT_EQ(t.shapes[0].rank, 6);
  EXPECT_EQ(t.shapes[0].elements(), 2 * 3 * 4 * 5 * 6 * 7 * 8);
}

TEST(Tensors, ChannelsLast) {
  const OpTensors t = parse_tensors("[[2,64,7,7]]", R"(["float"])", "[[3136,1,448,64]]");
  EXPECT_TRUE(t.shapes[0].channels_last);
}

TEST(Tensors, BadTextIsAnError) {
  EXPECT_THROW(parse_tensors("[[1,x]]", R"(["float"])"), InputError);
  EXPECT_THROW(parse_tensors("[[1,2]", R"(["float"])"), InputError);
}

TEST(Operands, ArgumentsHaveTheTypeOfTheirValue) {
  using Integers = std::vector<std::int64_t>;
  const Operands o = parse_operands(
      {"", "", "",
       R"(["", "[3, 3]", "-1", "False", "1e-05", "[0.5, 1]", "mean", "[]", "[True]"])"});
  ASSERT_EQ(o.arguments.size(), 9U);
  EXPECT_EQ(o.argument_count, 9);
  EXPECT_FALSE(o.has_shapes);
  EXPECT_EQ(o.argument(0), Argument());
  EXPECT_EQ(o.argument(1), Argument(Integers{3, 3}));
  EXPECT_EQ(o.argument(2), Argument(std::int64_t{-1}));
  EXPECT_EQ(o.argument(3), Argument(false));
  EXPECT_EQ(o.argument(4), Argument(1e-5));
  EXPECT_EQ(o.argument(5), Argument(std::vector<double>{0.5, 1}));
  EXPECT_EQ(o.argument(6), Argument(std::string("mean")));
  EXPECT_EQ(o.argument(7), Argument(Integers{}));
  EXPECT_EQ(o.argument(8), Argument(Integers{1}));
  EXPECT_EQ(o.argument(9), Argument());  // behind the last
}

TEST(Operands, WholeNumbersOfAnArgument) {
  const auto integers = [](const Argument& a) {
    const auto list = integers_of(a);
    return std::vector<std::int64_t>(list.begin(), list.end());
  };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(integers(Argument(Integers{3, 4})), (Integers{3, 4}));
  EXPECT_EQ(integers(Argument(std::int64_t{-1})), (Integers{-1}));
  EXPECT_EQ(integers(Argument(2.5)), Integers{});
  EXPECT_EQ(integers(Argument(true)), Integers{});
}

TEST(Operands, QuotesWithinATextAreEscaped) {
  const Operands o = parse_operands({"", "", "", R"(["a\"b", "ij,jk->ik"])"});
  ASSERT_EQ(o.arguments.size(), 2U);
  EXPECT_EQ(o.argument(0), Argument(std::string("a\"b")));
  EXPECT_EQ(o.argument(1), Argument(std::string("ij,jk->ik")));
}

TEST(OperandReader, EqualOperandsShareAnIdHoweverTheyAreWritten) {
  OperandTable table;
  kineto::OperandReader reader(table);
  OperandsId a, b, c, none;
  ASSERT_TRUE(reader.read({"[[32,3]]", R"(["float"])", "[[3,1]]", ""}, a));
  ASSERT_TRUE(reader.read({"[[ 32, 3 ]]", R"([ "float" ])", "[[3,\n1]]", ""}, b));
  ASSERT_TRUE(reader.read({"[[32,3]]", R"(["float"])", "[[1,32]]", ""}, c));
  ASSERT_TRUE(reader.read({}, none));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(table.size(), 2U);
}

TEST(OperandReader, ManyDistinctTextsAreForgottenAndReadAgain) {
  OperandTable table;
  kineto::OperandReader reader(table);
  OperandsId first, id;
  const auto read = [&](int n, OperandsId& to) {
    // 1 MiB each, so that the memory of texts is full several times.
    const std::string padding(std::size_t{1} << 20, ' ');
    return reader.read({"[[" + std::to_string(n) + "," + padding + "1]]", "", "", ""}, to);
  };
  ASSERT_TRUE(read(1, first));
  for (int n = 2; n < 40; ++n) ASSERT_TRUE(read(n, id));
  ASSERT_TRUE(read(1, id));
  EXPECT_EQ(id, first);
  EXPECT_EQ(table.size(), 39U);
}

TEST(OperandTable, CopiesShareEntriesAndGrowApart) {
  OperandTable table;
  Operands one;
  one.arguments = {Argument(std::int64_t{1})};
  const OperandsId a = table.intern(one);
  const Operands& entry = table.get(a);
  OperandTable copy = table;
  one.arguments = {Argument(std::int64_t{2})};
  const OperandsId b = copy.intern(one);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(copy.size(), 2U);
  EXPECT_EQ(&copy.get(a), &entry);
  OperandTable other;
  EXPECT_EQ(other.get(other.share(copy, b)), one);
  EXPECT_TRUE(table.get(OperandsId{}).arguments.empty());
}

}  // namespace
}  // namespace tandem
