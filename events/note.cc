#include "events/note.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "events/storable_text.h"
#include "schema/base64.h"

namespace writ {
namespace {

constexpr std::size_t kMostBytes = 1'000'000;
constexpr std::size_t kMostSignatures = 100;
constexpr std::size_t kIdBytes = 4;
constexpr std::size_t kPublicKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr char kEd25519 = '\x01';                    // the algorithm's byte
constexpr std::string_view kDash = "\xE2\x80\x94 ";  // an em dash and a space

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

/// Base64 in the one form that notes have.
std::optional<std::string> decode(std::string_view text) {
  auto bytes = decode_base64(text);
  if (!bytes || encode_base64(*bytes) != text) return std::nullopt;
  return bytes;
}

struct Signature {
  std::string name, id, bytes;
};

Signature parse_signature(std::string_view line) {
  if (!line.starts_with(kDash)) refuse("the note has a line that is no signature");
  line.remove_prefix(kDash.size());
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) refuse("the note has a line that is no signature");
  const auto bytes = decode(line.substr(space + 1));
  if (!is_key_name(line.substr(0, space)) || !bytes || bytes->size() <= kIdBytes)
    refuse("the note has a line that is no signature");
  return {std::string(line.substr(0, space)), bytes->substr(0, kIdBytes), bytes->substr(kIdBytes)};
}

/// U+0085, U+00A0 and the other spaces of Unicode outside ASCII.
bool has_wide_space(std::string_view text) {
  for (const std::string_view space :
       {"\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF",
        "\xE2\x81\x9F", "\xE3\x80\x80"})
    if (text.find(space) != std::string_view::npos) return true;
  for (char last = '\x80'; last <= '\x8A'; ++last)  // U+2000 to U+200A
    if (text.find(std::string("\xE2\x80") + last) != std::string_view::npos) return true;
  return false;
}

}  // namespace

bool is_key_name(std::string_view name) {
  return !name.empty() && is_storable(std::string(name)) && !has_wide_space(name) &&
         std::ranges::none_of(
             name, [](char c) { return (c >= '\0' && c <= ' ') || c == '\x7f' || c == '+'; });
}

VerifierKey::VerifierKey(std::string name, std::string public_key)
    : name_(std::move(name)), public_key_(std::move(public_key)) {
  if (!is_key_name(name_)) refuse("\"" + name_ + "\" cannot name a key");
  if (public_key_.size() != kPublicKeyBytes) refuse("an Ed25519 key has 32 bytes");
  const Digest digest = sha256(name_ + '\n' + kEd25519, public_key_);
  id_ = bytes_of(digest).substr(0, kIdBytes);
}

VerifierKey VerifierKey::parse(std::string_view text) {
  const std::size_t first = text.find('+');
  const std::size_t second = first == std::string_view::npos ? first : text.find('+', first + 1);
  if (second == std::string_view::npos) refuse("a verifier key is name+id+key");
  const auto bytes = decode(text.substr(second + 1));
  if (!bytes || bytes->empty() || bytes->front() != kEd25519)
    refuse("the verifier key is not one of Ed25519");
  VerifierKey key(std::string(text.substr(0, first)), bytes->substr(1));
  if (text.substr(first + 1, second - first - 1) != hex(key.id()))
    refuse("the verifier key's id is not that of its name and key");
  return key;
}

std::string VerifierKey::text() const {
  return name_ + '+' + hex(id_) + '+' + encode_base64(kEd25519 + public_key_);
}

bool VerifierKey::verify(std::string_view message, std::string_view signature) const {
  const auto bytes = [](std::string_view view) {
    return reinterpret_cast<const unsigned char*>(view.data());
  };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(public_key_),
                                  public_key_.size()),
      &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  return key && context && signature.size() == kSignatureBytes &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message),
                          message.size()) == 1;
}

std::string signature_line(const VerifierKey& key, std::string_view signature) {
  std::string line(kDash);
  line += key.name() + ' ' + encode_base64(key.id() + std::string(signature)) + '\n';
  return line;
}

std::string open_note(std::string_view note, std::span<const VerifierKey> keys) {
  if (note.size() > kMostBytes || !is_storable(std::string(note)) ||
      std::ranges::any_of(note, [](char c) { return c >= '\0' && c < ' ' && c != '\n'; }))
    refuse("this is no note: control characters, or not UTF-8");
  const std::size_t blank = note.rfind("\n\n");
  if (blank == std::string_view::npos || !note.ends_with('\n'))
    refuse("this is no signed note: there is no blank line before its signatures");
  const std::string_view text = note.substr(0, blank + 1);
  std::string_view rest = note.substr(blank + 2);
  if (rest.empty()) refuse("the note has no signature");
  std::vector<Signature> signatures;
  while (!rest.empty()) {
    if (signatures.size() == kMostSignatures) refuse("the note has too many signatures");
    const std::size_t end = rest.find('\n');
    signatures.push_back(parse_signature(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  bool good = false;
  for (const Signature& signature : signatures)
    for (const VerifierKey& key : keys) {
      if (key.name() != signature.name || key.id() != signature.id) continue;
      if (!key.verify(text, signature.bytes))
        throw BadSignature("the signature by " + key.name() +
                           " does not hold: the text or the signature was changed");
      good = true;
    }
  if (!good) throw BadSignature("the note is signed by none of the keys");
  return std::string(text);
}

}  // namespace writ
