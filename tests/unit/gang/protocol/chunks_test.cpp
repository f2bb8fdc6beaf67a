// Values in chunks: split and joined again, and chunks that do not fit.
#include "base/encoding.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 20U;

ValueId id_of(const std::string& key, int round = 0) {
  return {key, 2, round, {{1}, {3}}};
}

std::string error_of(Assembler& assembler, Chunk chunk, std::size_t most = kMost) {
  const auto value = assembler.take(std::move(chunk), most);
  return value ? "it was taken" : value.error().message;
}

TEST(Chunks, AreTheValueAgain) {
  for (const std::size_t size : {0, 1, 32'768, 32'769, 100'000}) {
    for (const std::string& bytes : {std::string(size, 'x'), random_bytes(size)}) {
      const std::vector<Chunk> chunks = split({id_of("topology"), bytes});
      Assembler assembler;
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_LE(chunks[i].bytes.size(), kMostPieceBytes);
        EXPECT_EQ(chunks[i].id.nodes.empty(), i > 0) << "only the first one lists them";
        const auto value = assembler.take(chunks[i], kMost);
        ASSERT_TRUE(value) << value.error().message;
        ASSERT_EQ(value->has_value(), i + 1 == chunks.size());
        if (*value) {
          EXPECT_EQ((*value)->bytes, bytes);
          EXPECT_EQ((*value)->id, id_of("topology"));
        }
      }
      EXPECT_FALSE(assembler.open());
    }
  }
}

TEST(Chunks, AreCompressedWhereThatHelps) {
  EXPECT_EQ(split({id_of("a"), std::string(100'000, 'x')}).size(), 1U);
  EXPECT_EQ(split({id_of("a"), random_bytes(100'000)}).front().compressed_size, 100'000U);
  EXPECT_EQ(split({id_of("a"), std::string(1'000, 'x')}).front().compressed_size, 1'000U) << "not worth it";
}

TEST(Chunks, HaveTheLimitOfTheirKey) {
  Assembler assembler;
  EXPECT_EQ(error_of(assembler, split({id_of("ports"), random_bytes(1'025)}).front(), 1'024),
            "sent 1025 bytes under 'ports', expected at most 1024");
}

TEST(Chunks, ThatAreABombAreRefused) {
  Chunk bomb = split({id_of("a"), std::string(kMost * 8, 'x')}).front();
  EXPECT_EQ(error_of(*std::make_unique<Assembler>(), bomb), "sent 8388608 bytes under 'a', expected at most 1048576");
  bomb.size = kMost;  // a lie
  bomb.bytes = compress(std::string(kMost * 8, 'x'));
  bomb.compressed_size = bomb.bytes.size();
  Assembler assembler;
  EXPECT_EQ(error_of(assembler, bomb),
            "sent a value under 'a' that does not unpack to the 1048576 bytes that were announced");
}

TEST(Chunks, ThatDoNotFitAreRefused) {
  const std::vector<Chunk> chunks = split({id_of("a"), random_bytes(100'000)});
  const auto wrong = [&](auto change, std::size_t which = 1) {
    Assembler assembler;
    if (which == 1) {
      EXPECT_TRUE(assembler.take(chunks[0], kMost));
    }
    Chunk chunk = chunks[which];
    change(chunk);
    return error_of(assembler, chunk);
  };
  const std::string follows = "sent a piece under 'a' that does not follow the one before";
  const std::string fits = "sent a piece under 'a' that does not fit its value";
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.offset += 1; }), follows);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.offset -= 1; }), follows);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.id.round = 1; }), follows);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.id.attempt = 1; }), follows);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.id.nodes = {{1}}; }), follows);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.size += 1; }), follows);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.offset = 0; }), "sent 'a' before the end of 'a'");
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.bytes.clear(); }), fits);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.offset = 200'000; }), fits);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.compressed_size = 100; }, 0), fits);
  EXPECT_EQ(wrong([](Chunk& chunk) { chunk.compressed_size = chunk.size + 1; }, 0), fits);
  EXPECT_EQ(wrong([](Chunk& /*piece*/) {}, 2), follows) << "nothing came before";
}

}  // namespace
}  // namespace muster::gang
