#include "events/checkpoint_signer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <memory>
#include <sstream>

#include "events/errors.h"
#include "events/sha256.h"

namespace writ {
namespace {

struct SignerFixture {
  SignerFixture() {
    directory = std::filesystem::temp_directory_path() / ("writ-signer-" + hex(random_bytes(8)));
    std::filesystem::create_directory(directory);
  }
  ~SignerFixture() { std::filesystem::remove_all(directory); }

  SignerOptions options(const std::string& name = "log.example") const {
    return {directory / "signing-key", true, directory / "checkpoint", name};
  }
  CheckpointSigner signer() const { return CheckpointSigner(options(), "0123"); }

  static std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  static void write(const std::filesystem::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
  }

  /// The keys that a signer lists.
  static std::vector<VerifierKey> keys(const CheckpointSigner& signer) {
    std::vector<VerifierKey> keys;
    for (const std::string& text : signer.verifier_keys()) keys.push_back(VerifierKey::parse(text));
    return keys;
  }

  std::string why_not() const {
    try {
      CheckpointSigner(options(), "0123");
      return "";
    } catch (const StartError& e) {
      return e.what();
    }
  }

  std::filesystem::path directory;
};

/// PEM of a new key of this kind, or of its public half.
std::string pem(const char* kind, bool whole) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, kind), &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (whole)
    PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  else
    PEM_write_bio_PUBKEY(out.get(), key.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(checkpoint_signer_tests, SignerFixture)

BOOST_AUTO_TEST_CASE(the_first_start_makes_a_key_for_its_owner_only_and_the_next_ones_keep_it) {
  std::vector<std::string> first;
  {
    CheckpointSigner signer = this->signer();
    first = signer.verifier_keys();
    BOOST_CHECK(!signer.last());
  }
  BOOST_REQUIRE_EQUAL(first.size(), 1u);
  BOOST_CHECK(first[0].starts_with("log.example/0123+"));
  struct stat status = {};
  BOOST_REQUIRE_EQUAL(stat((directory / "signing-key").c_str(), &status), 0);
  BOOST_CHECK_EQUAL(status.st_mode & 0777, 0600u);
  BOOST_CHECK(signer().verifier_keys() == first);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_signed_kept_and_found_again) {
  std::string note;
  {
    CheckpointSigner signer = this->signer();
    const SignedCheckpoint made = signer.sign({7}, sha256("seven"));
    note = made.note;
    BOOST_CHECK_EQUAL(open_note(note, keys(signer)), checkpoint_text(made.checkpoint));
    BOOST_CHECK((made.checkpoint == Checkpoint{"log.example/0123", {7}, sha256("seven")}));
  }
  BOOST_CHECK_EQUAL(read(directory / "checkpoint"), note);
  const CheckpointSigner again(options(), "0123");
  BOOST_CHECK_EQUAL(again.distrust(), "");
  BOOST_REQUIRE(again.last());
  BOOST_CHECK_EQUAL(again.last()->size.value, 7);
  BOOST_CHECK_EQUAL(hex(again.last()->root), hex(sha256("seven")));
}

BOOST_AUTO_TEST_CASE(one_that_was_overtaken_answers_the_larger_one) {
  CheckpointSigner signer(options(), "0123");
  const std::string note = signer.sign({9}, sha256("nine")).note;
  BOOST_CHECK_EQUAL(signer.sign({8}, sha256("eight")).note, note);
  BOOST_CHECK_EQUAL(read(directory / "checkpoint"), note);
  BOOST_CHECK_EQUAL(signer.start_over({3}, sha256("three")).checkpoint.size.value, 3);
  BOOST_CHECK_EQUAL(signer.last()->size.value, 3);
}

BOOST_AUTO_TEST_CASE(an_earlier_tree_is_signed_when_exactly_that_is_asked_for) {
  CheckpointSigner signer(options(), "0123");
  const std::string last = signer.sign({9}, sha256("nine")).note;
  const SignedCheckpoint earlier = signer.sign_exactly({8}, sha256("eight"));
  BOOST_CHECK_EQUAL(earlier.checkpoint.size.value, 8);
  BOOST_CHECK(parse_checkpoint(open_note(earlier.note, keys(signer))) == earlier.checkpoint);
  BOOST_CHECK_EQUAL(read(directory / "checkpoint"), last);
  BOOST_CHECK_EQUAL(signer.sign({8}, sha256("eight")).note, last);
  const std::string later = signer.sign_exactly({10}, sha256("ten")).note;
  BOOST_CHECK_EQUAL(read(directory / "checkpoint"), later);
}

BOOST_AUTO_TEST_CASE(a_key_is_rotated_with_the_old_one_still_listed) {
  std::string old_note, old_key;
  {
    CheckpointSigner signer(options(), "0123");
    old_note = signer.sign({1}, sha256("one")).note;
    old_key = signer.verifier_keys().front();
  }
  // Both sign: those who know only the old key can still check.
  write(directory / "signing-key", pem("ED25519", true) + read(directory / "signing-key"));
  {
    CheckpointSigner signer(options(), "0123");
    BOOST_CHECK_EQUAL(signer.distrust(), "");
    const auto known = keys(signer);
    BOOST_REQUIRE_EQUAL(known.size(), 2u);
    BOOST_CHECK_EQUAL(known[1].text(), old_key);
    const std::string note = signer.sign({2}, sha256("two")).note;
    BOOST_CHECK_NO_THROW(open_note(note, std::vector{known[0]}));
    BOOST_CHECK_NO_THROW(open_note(note, std::vector{known[1]}));
  }
  // The old key's public half stays: it is listed, and what it signed is believed.
  write(directory / "checkpoint", old_note);
  const std::string file = read(directory / "signing-key");
  const auto second = file.find("-----BEGIN", 1);
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(file.data() + second, static_cast<int>(file.size() - second)), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> old(
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PUBKEY(out.get(), old.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  write(directory / "signing-key",
        file.substr(0, second) + std::string(text, static_cast<std::size_t>(size)));
  CheckpointSigner signer(options(), "0123");
  BOOST_CHECK_EQUAL(signer.distrust(), "");
  BOOST_REQUIRE_EQUAL(signer.verifier_keys().size(), 2u);
  BOOST_CHECK_EQUAL(signer.verifier_keys()[1], old_key);
  const std::string note = signer.sign({2}, sha256("two")).note;
  BOOST_CHECK_THROW(open_note(note, std::vector{VerifierKey::parse(old_key)}),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_last_checkpoint_of_another_key_or_changed_is_not_believed) {
  signer().sign({7}, sha256("seven"));
  const std::string note = read(directory / "checkpoint");
  for (const std::string& content : {std::string(), note.substr(0, 40), "x" + note}) {
    write(directory / "checkpoint", content);
    const CheckpointSigner signer(options(), "0123");
    BOOST_CHECK(!signer.last());
    BOOST_CHECK(signer.distrust().find("cannot be believed") != std::string::npos);
  }
  write(directory / "checkpoint", note);
  std::filesystem::remove(directory / "signing-key");
  const CheckpointSigner signer(options(), "0123");
  BOOST_CHECK(signer.distrust().find("none of the keys") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_last_checkpoint_outlives_a_change_of_the_logs_name) {
  signer().sign({7}, sha256("seven"));
  const CheckpointSigner renamed(options("other.example"), "0123");
  BOOST_CHECK_EQUAL(renamed.distrust(), "");
  BOOST_REQUIRE(renamed.last());
  BOOST_CHECK_EQUAL(renamed.last()->log_id(), "0123");
  BOOST_CHECK_EQUAL(renamed.origin(), "other.example/0123");
}

BOOST_AUTO_TEST_CASE(a_damaged_key_is_refused_and_not_passed_over) {
  const std::string key = pem("ED25519", true);
  const std::string old = pem("ED25519", false);
  const auto without = [](std::string text, const std::string& part) {
    return text.erase(text.find(part), part.size());
  };
  const struct {
    const char* name;
    std::string content, why;
  } rows[] = {
      {"whole", key + old, ""},
      {"comments", "# new\r\n\n" + key + "\n  \n#old\n" + old + "\n\n", ""},
      {"no line's end", (key + old).substr(0, (key + old).size() - 1), ""},
      {"cut in its body", key + old.substr(0, 50), "key 2, at line 4, has no END line"},
      {"cut in its first line", key + old.substr(0, 8), "key 2, at line 4, has no BEGIN line"},
      {"cut in its last line", key + old.substr(0, old.size() - 3), "key 2, at line 4, is damaged"},
      {"without its first line", key + old.substr(old.find('\n') + 1),
       "key 2, at line 4, has no BEGIN line"},
      {"the first without its last line", without(key, "-----END PRIVATE KEY-----\n") + old,
       "key 1, at line 1, has no END line"},
      {"the first cut in its first line", "\n" + old.substr(3) + key,
       "key 1, at line 2, has no BEGIN line"},
      {"fewer letters", key + without(old, "MCow"), "key 2, at line 4, is no key of Ed25519"},
      {"no base64", key + without(old, "MCo"), "key 2, at line 4, is damaged"},
      {"another kind", key + pem("X25519", false), "key 2, at line 4, is no key of Ed25519"},
      {"a text", "nonsense", "key 1, at line 1, has no BEGIN line"},
      {"nothing", "", "no private key in it"},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name) {
      write(directory / "signing-key", row.content);
      const std::string why = why_not();
      if (row.why.empty()) {
        BOOST_CHECK_EQUAL(why, "");
        BOOST_CHECK_EQUAL(SigningKeys(directory / "signing-key").verifier_keys("a").size(), 2u);
      } else {
        BOOST_CHECK(why.starts_with((directory / "signing-key").string() + ": "));
        BOOST_CHECK_MESSAGE(why.find(row.why) != std::string::npos, "said: " << why);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_file_without_a_key_that_can_sign_is_refused) {
  for (const std::string& content :
       {std::string("nonsense"), pem("ED25519", false), pem("X25519", true)}) {
    write(directory / "signing-key", content);
    BOOST_CHECK_NE(why_not(), "");
  }
  SignerOptions options = this->options();
  options.key_file = directory / "none";
  options.make_key = false;
  BOOST_CHECK_THROW(CheckpointSigner(options, "0123"), StartError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
