#include "events/signing_keys.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "events/errors.h"

namespace writ {
namespace {

constexpr std::size_t kRawBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

using Pkey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Frees what PEM_read_bio hands out.
struct Freed {
  void operator()(void* memory) const { OPENSSL_free(memory); }
};

std::string raw(int (*get)(const EVP_PKEY*, unsigned char*, std::size_t*), const Pkey& key) {
  std::string out(kRawBytes, '\0');
  std::size_t size = out.size();
  if (get(key.get(), bytes(out), &size) != 1 || size != kRawBytes)
    throw std::runtime_error("a key cannot be read");
  return out;
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw StartError(file.string() + ": " + what);
}

std::string whole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, std::string("the signing key cannot be read: ") + std::strerror(errno));
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// A block of PEM and the line of the file, from 1, at which it begins.
struct Block {
  std::size_t line = 0;
  std::string text;
};

/// What is wrong with the file's key `number`, counted from 1.
[[noreturn]] void fail_key(const std::filesystem::path& file, std::size_t number, std::size_t line,
                           const std::string& what) {
  fail(file, "key " + std::to_string(number) + ", at line " + std::to_string(line) + ", " + what +
                 ": put the whole key there, PEM of Ed25519 and not encrypted, or remove what is "
                 "left of it, and it is no longer listed");
}

/// OpenSSL passes over all that is outside of blocks. What is left of a damaged one would then be
/// a key that is gone without a word, so nothing but blank lines and comments may be there.
std::vector<Block> read_blocks(const std::filesystem::path& file) {
  std::istringstream lines(whole(file));
  std::vector<Block> blocks;
  bool inside = false;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.starts_with("-----BEGIN ")) {
      if (inside) fail_key(file, blocks.size(), blocks.back().line, "has no END line");
      blocks.push_back({number, ""});
      inside = true;
    }
    if (inside)
      blocks.back().text += line + '\n';
    else if (!line.empty() && !line.starts_with('#'))
      fail_key(file, blocks.size() + 1, number, "has no BEGIN line (a comment begins with #)");
    if (line.starts_with("-----END ")) inside = false;
  }
  if (inside) fail_key(file, blocks.size(), blocks.back().line, "has no END line");
  return blocks;
}

}  // namespace

SigningKeys::SigningKeys(const std::filesystem::path& file) {
  bool can_sign = false;
  for (const Block& block : read_blocks(file)) {
    const Bio in(BIO_new_mem_buf(block.text.data(), static_cast<int>(block.text.size())),
                 &BIO_free);
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(in.get(), &name, &header, &data, &size) != 1)
      fail_key(file, keys_.size() + 1, block.line, "is damaged");
    const std::unique_ptr<char, Freed> owned_name(name), owned_header(header);
    const std::unique_ptr<unsigned char, Freed> owned_data(data);
    const unsigned char* at = data;
    const bool is_private = std::string_view(name) == "PRIVATE KEY";
    const Pkey key(
        is_private ? d2i_AutoPrivateKey(nullptr, &at, size) : d2i_PUBKEY(nullptr, &at, size),
        &EVP_PKEY_free);
    if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519)
      fail_key(file, keys_.size() + 1, block.line, "is no key of Ed25519, encrypted or damaged");
    keys_.push_back({raw(&EVP_PKEY_get_raw_public_key, key),
                     is_private ? raw(&EVP_PKEY_get_raw_private_key, key) : std::string()});
    can_sign = can_sign || is_private;
  }
  if (!can_sign)
    fail(file, "there is no private key in it; make one with `openssl genpkey -algorithm ed25519`");
}

std::vector<VerifierKey> SigningKeys::verifier_keys(const std::string& name) const {
  std::vector<VerifierKey> keys;
  for (const Key& key : keys_) keys.emplace_back(name, key.public_key);
  return keys;
}

std::string SigningKeys::sign(const std::string& name, const std::string& text) const {
  std::string note = text + '\n';
  for (const Key& key : keys_) {
    if (key.private_key.empty()) continue;
    const Pkey pkey(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes(key.private_key),
                                                 key.private_key.size()),
                    &EVP_PKEY_free);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    std::string signature(kSignatureBytes, '\0');
    std::size_t size = signature.size();
    if (!pkey || !context ||
        EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pkey.get()) != 1 ||
        EVP_DigestSign(context.get(), bytes(signature), &size, bytes(text), text.size()) != 1)
      throw std::runtime_error("signing failed");
    note += signature_line({name, key.public_key}, signature);
  }
  return note;
}

void make_signing_key(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) return;
  const Pkey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), &EVP_PKEY_free);
  const Bio out(BIO_new(BIO_s_secmem()), &BIO_free);
  if (!key || !out ||
      PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1)
    fail(file, "a signing key cannot be made");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  write_durably(file, {text, static_cast<std::size_t>(size)}, 0600);
}

void write_durably(const std::filesystem::path& file, std::string_view content, int mode) {
  std::filesystem::path half = file;
  half += ".new-" + std::to_string(getpid());  // another process may share the directory
  const auto check = [&](bool good) {
    if (!good) fail(half, std::string("cannot be written: ") + std::strerror(errno));
  };
  std::filesystem::remove(half);
  const int out = open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  check(out >= 0);
  const bool written =
      write(out, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      fsync(out) == 0;
  close(out);
  check(written);
  check(rename(half.c_str(), file.c_str()) == 0);
  // The name has to be durable as well.
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  const int directory = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  check(directory >= 0 && fsync(directory) == 0);
  close(directory);
}

}  // namespace writ
