#include "events/sha256.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <stdexcept>

namespace writ {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw std::invalid_argument("not a hexadecimal text");
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Digest sha256(std::string_view first, std::string_view second) {
  Digest digest;
  if (second.empty()) {
    SHA256(bytes_of(first), first.size(), digest.data());
    return digest;
  }
  // One buffer and the one-shot call: OpenSSL 3 looks its algorithm up anew for each EVP context,
  // which costs more than the copy of a settings record.
  thread_local std::string joined;
  joined.assign(first).append(second);
  SHA256(bytes_of(joined), joined.size(), digest.data());
  if (joined.capacity() > 64 * 1024) std::string().swap(joined);
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

std::string hex(const Digest& digest) {
  return hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string from_hex(std::string_view text) {
  if (text.size() % 2 != 0) throw std::invalid_argument("a hexadecimal text of odd length");
  std::string bytes(text.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
  return bytes;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1)
    throw std::runtime_error("the system's random generator failed");
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
