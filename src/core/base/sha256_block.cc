#include "base/sha256_block.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace spillway::base {
namespace {

constexpr std::array<uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(std::string_view at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<unsigned char>(at[i]);
  }
  return word;
}

}  // namespace

void compress_in_software(Sha256State& state, std::string_view block) {
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i) {
    w[i] = big_endian(block.substr(4 * i, 4));
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const Sha256State added{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) {
    state[i] += added[i];
  }
}

#ifdef __x86_64__

bool has_sha256_instructions() { return __builtin_cpu_supports("sha") != 0; }

// The instructions hold the state as two halves of words in the order ABEF and CDGH, and do two
// rounds each.
__attribute__((target("sha,sse4.1"))) void compress_in_hardware(Sha256State& state,
                                                                std::string_view block) {
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i big_endian_words = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(load(&state[0]), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(load(&state[4]), 0x1b);
  const __m128i abef_before = _mm_alignr_epi8(badc, hgfe, 8);
  const __m128i cdgh_before = _mm_blend_epi16(hgfe, badc, 0xf0);
  __m128i abef = abef_before;
  __m128i cdgh = cdgh_before;
  __m128i w[4];  // the last sixteen words, oldest first
  for (size_t i = 0; i < 4; ++i) {
    w[i] = _mm_shuffle_epi8(load(block.data() + 16 * i), big_endian_words);
  }
  for (size_t round = 0; round < kRound.size(); round += 4) {
    const __m128i sum = _mm_add_epi32(w[0], load(&kRound[round]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    const __m128i seven_back = _mm_alignr_epi8(w[3], w[2], 4);
    const __m128i next =
        _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), seven_back), w[3]);
    w[0] = w[1];
    w[1] = w[2];
    w[2] = w[3];
    w[3] = next;
  }
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  const auto store = [](void* to, __m128i words) {
    _mm_storeu_si128(static_cast<__m128i*>(to), words);
  };
  store(&state[0], _mm_blend_epi16(feba, dchg, 0xf0));
  store(&state[4], _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool has_sha256_instructions() { return false; }

void compress_in_hardware(Sha256State& state, std::string_view block) {
  compress_in_software(state, block);
}

#endif

}  // namespace spillway::base
