#include "events/note.h"

#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "events/checkpoint.h"
#include "schema/base64.h"

namespace writ {
namespace {

struct PublishedNote {
  PublishedNote() {
    simdjson::dom::parser parser;
    const simdjson::dom::element published =
        parser.load(WRIT_SOURCE_DIR "/tests/events/merkle_vectors.json")["signed_note"];
    vkey = std::string_view(published["vkey"]);
    note = std::string_view(published["note"]);
  }
  std::string vkey, note;
};

/// Why a note is not opened; "" when it is.
std::string refusal(const std::string& note, const std::vector<VerifierKey>& keys) {
  try {
    open_note(note, keys);
    return "";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  BOOST_REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(note_tests)

BOOST_FIXTURE_TEST_CASE(a_published_note_is_opened_with_its_key, PublishedNote) {
  const VerifierKey key = VerifierKey::parse(vkey);
  BOOST_CHECK_EQUAL(key.text(), vkey);
  BOOST_CHECK_EQUAL(key.name(), "example.com/foo");
  BOOST_CHECK_EQUAL(hex(key.id()), "530d903a");
  BOOST_CHECK_EQUAL(open_note(note, std::vector{key}), "This is an example message.\n");
}

BOOST_FIXTURE_TEST_CASE(a_changed_note_is_refused_with_the_reason, PublishedNote) {
  const std::vector<VerifierKey> keys = {VerifierKey::parse(vkey)};
  struct Row {
    const char* name;
    std::string note;
    const char* why;
  };
  const std::string signature = note.substr(note.find("Uw2QOkn"));
  std::string turned = *decode_base64(signature.substr(0, signature.size() - 1));
  turned[20] = static_cast<char>(turned[20] ^ 1);
  for (const Row& row : {
           Row{"the text", replaced(note, "example message", "example Message"), "does not hold"},
           Row{"the signature", replaced(note, signature, encode_base64(turned) + "\n"),
               "does not hold"},
           Row{"another name", replaced(note, "example.com/foo", "example.com/fop"), "none of"},
           Row{"another key id", replaced(note, "Uw2Q", "Vw2Q"), "none of the keys"},
           Row{"no signature", "This is an example message.\n\n", "no signature"},
           Row{"no blank line", replaced(note, "\n\n", "\n"), "no blank line"},
           Row{"no line feed at the end", note.substr(0, note.size() - 1), "no blank line"},
           Row{"a line that is none", note + "signed, me\n", "no signature"},
           Row{"a carriage return", replaced(note, "message.", "message.\r"), "control"},
           Row{"half a signature", replaced(note, "neyaQM=", "n"), "no signature"},
           Row{"nothing", "", "no blank line"},
       })
    BOOST_TEST_CONTEXT(row.name) {
      const std::string why = refusal(row.note, keys);
      BOOST_CHECK_MESSAGE(why.find(row.why) != std::string::npos, "said: " << why);
    }
  BOOST_CHECK_EQUAL(refusal(note, {}), "the note is signed by none of the keys");
}

BOOST_FIXTURE_TEST_CASE(a_bad_signature_is_told_from_what_is_no_note, PublishedNote) {
  const std::vector keys{VerifierKey::parse(vkey)};
  const std::string changed = replaced(note, "example message", "Example message");
  BOOST_CHECK_THROW(open_note(changed, keys), BadSignature);
  BOOST_CHECK_THROW(open_note(note, {}), BadSignature);
  BOOST_CHECK_EQUAL(refusal(changed + "signed, me\n", keys),
                    "the note has a line that is no signature");
}

BOOST_FIXTURE_TEST_CASE(signatures_by_strangers_are_passed_over, PublishedNote) {
  const std::string strange = "\xE2\x80\x94 example.com/other " + encode_base64("abcd12345") + "\n";
  BOOST_CHECK_EQUAL(refusal(note + strange, {VerifierKey::parse(vkey)}), "");
}

BOOST_FIXTURE_TEST_CASE(a_malformed_key_is_refused, PublishedNote) {
  for (const std::string& text :
       {std::string(), std::string("name"), replaced(vkey, "530d903a", "530d903b"),
        replaced(vkey, "foo+", "fo o+"), replaced(vkey, "+Aek", "+Bek"),
        vkey.substr(0, vkey.size() - 4), vkey + "="})
    BOOST_CHECK_THROW(VerifierKey::parse(text), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(names_of_keys_have_no_spaces_and_no_plus) {
  for (const char* name : {"writ", "log.example.com/a", "é"}) BOOST_CHECK(is_key_name(name));
  for (const char* name : {"", "a b", "a+b", "a\nb", "a\tb",
                           "a\xC2\xA0"
                           "b",
                           "a\xE2\x80\x83"
                           "b",
                           "\xff"})
    BOOST_CHECK_MESSAGE(!is_key_name(name), name);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_read_as_it_is_written) {
  const Checkpoint checkpoint{"log.example/0123", {20}, sha256("root")};
  const std::string text = checkpoint_text(checkpoint);
  BOOST_CHECK_EQUAL(text,
                    "log.example/0123\n20\n" + encode_base64(bytes_of(sha256("root"))) + "\n");
  BOOST_CHECK(parse_checkpoint(text) == checkpoint);
  BOOST_CHECK(parse_checkpoint(text + "an extension\n") == checkpoint);
  BOOST_CHECK_EQUAL(checkpoint.log_id(), "0123");
}

BOOST_AUTO_TEST_CASE(what_is_no_checkpoint_is_refused) {
  const std::string root = encode_base64(bytes_of(sha256("root")));
  for (const std::string& text :
       {std::string(), std::string("a\n20\n"), "a\n20\n" + root, "\n20\n" + root + "\n",
        "a\n020\n" + root + "\n", "a\n-1\n" + root + "\n", "a\n+1\n" + root + "\n",
        "a\n1 \n" + root + "\n", "a\n99999999999999999999\n" + root + "\n",
        "a\n20\n" + root.substr(4) + "\n", "a\n20\n" + root.substr(0, 43) + "\n",
        "a\n20\n" + root + "\n\n"})
    BOOST_CHECK_THROW(parse_checkpoint(text), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ
