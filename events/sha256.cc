#include "events/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace writ {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

/// By byte: the value of a hexadecimal digit, -1 for anything else. Branches would be guessed wrong
/// at every other digit.
constexpr std::array<signed char, 256> kHexValues = [] {
  std::array<signed char, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 16; ++i) {
    const auto digit = static_cast<unsigned char>(kHexDigits[i]);
    values[digit] = static_cast<signed char>(i);
    if (i > 9) values[digit - 'a' + 'A'] = static_cast<signed char>(i);
  }
  return values;
}();

}  // namespace

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest sha256(std::string_view first, std::string_view second) {
  // OpenSSL 3 looks an algorithm up anew for each digest that does not bring one along, which costs
  // more than hashing a settings record.
  static const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> algorithm(
      EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  Digest digest;
  if (EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), first.data(), first.size()) != 1 ||
      EVP_DigestUpdate(context.get(), second.data(), second.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1)
    throw std::runtime_error("SHA-256 failed");
  return digest;
}

std::string hex(std::string_view bytes) {
  std::string text(bytes.size() * 2, '\0');
  std::size_t at = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text[at++] = kHexDigits[byte >> 4];
    text[at++] = kHexDigits[byte & 15];
  }
  return text;
}

std::string hex(const Digest& digest) { return hex(bytes_of(digest)); }

std::string from_hex(std::string_view text) {
  if (text.size() % 2 != 0) throw std::invalid_argument("a hexadecimal text of odd length");
  std::string bytes(text.size() / 2, '\0');
  const auto value = [&](std::size_t at) -> int {
    return kHexValues[static_cast<unsigned char>(text[at])];
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = value(2 * i), low = value(2 * i + 1);
    if (high < 0 || low < 0) throw std::invalid_argument("not a hexadecimal text");
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string random_bytes(std::size_t count) {
  // A call to the generator costs the same for a few bytes as for a page, so a thread draws pages.
  // No byte is given out twice, and none is kept once it was.
  thread_local std::string drawn;
  if (drawn.size() < count) {
    drawn.resize(std::max<std::size_t>(count, 4096));
    if (RAND_bytes(reinterpret_cast<unsigned char*>(drawn.data()),
                   static_cast<int>(drawn.size())) != 1)
      throw std::runtime_error("the system's random generator failed");
  }
  const std::size_t rest = drawn.size() - count;
  std::string bytes = drawn.substr(rest);
  OPENSSL_cleanse(drawn.data() + rest, count);
  drawn.erase(rest);
  return bytes;
}

std::string random_uuid() {
  std::string bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  const std::string text = hex(bytes);
  return text.substr(0, 8) + '-' + text.substr(8, 4) + '-' + text.substr(12, 4) + '-' +
         text.substr(16, 4) + '-' + text.substr(20);
}

}  // namespace writ
