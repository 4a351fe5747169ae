#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tests/acceptance/child.h"
#include "tests/tools/client_fixture.h"

namespace writ::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(editing, ClientFixture)

BOOST_AUTO_TEST_CASE(writes_what_was_saved_and_confirmed) {
  ok({"set", "run.default_queue=default", "labels.team=ml"});
  const Environment editor = {{"EDITOR", script("editor", R"(
cp "$2" "$(dirname "$0")/seen"
sed -i 's/^labels:/pod_template_name: large\nlabels:/; s/team: ml/team: blue/' "$2"
)") + " --wait"}};
  const WritRun done = run({"edit", "-m", "why"}, editor, "y\n");
  BOOST_TEST(done.status == 0, done.err);
  BOOST_TEST(done.out ==
             "~ labels[\"team\"]: ml -> blue\n+ pod_template_name: large\ninstance: version 2\n");
  BOOST_TEST(has(done.err, "Write this to instance? [y/N]"));
  BOOST_TEST(has(contents_of(directory.path() / "seen"), "\nlabels:\n  team: ml\n"));
  BOOST_TEST(kept().empty());
  BOOST_TEST(has(ok({"log", "--limit", "1"}), "\"why\""));
}

BOOST_AUTO_TEST_CASE(changes_nothing_when_the_file_is_closed_as_it_was) {
  ok({"set", "run.default_queue=default"});
  const struct {
    const char *name, *editor, *told;
    int status;
  } rows[] = {
      {"untouched", "exit 0", "writ: nothing changed\n", 0},
      {"another comment", "echo '# run.run_base_dir: x' >> \"$1\"", "writ: nothing changed\n", 0},
      {"failed editor", "exit 3", "writ: the editor ended with 3, so nothing changed\n", 1}};
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name) {
      const WritRun done = run({"edit", "--yes"}, {{"VISUAL", script("editor", row.editor)}});
      BOOST_TEST(done.status == row.status, done.err);
      BOOST_TEST(done.err == row.told);
      BOOST_TEST(done.out == "");
    }
  BOOST_TEST(kept().empty());
  BOOST_TEST(head() == 1);
}

BOOST_AUTO_TEST_CASE(opens_the_editor_again_with_the_error_on_top) {
  const Environment editor = {{"EDITOR", script("editor", R"(
dir=$(dirname "$0")
if [ -e "$dir/first" ]; then
  cp "$1" "$dir/second"
  sed -i 's/run.default_que:/run.default_queue:/' "$1"
else
  cp "$1" "$dir/first"
  echo 'run.default_que: a' > "$1"
fi
)")}};
  const WritRun done = run({"edit", "--yes", "-d", "d"}, editor);
  BOOST_TEST(done.status == 0, done.err);
  BOOST_TEST(has(done.err, "writ: line 1: run.default_que: there is no setting"));
  BOOST_TEST(contents_of(directory.path() / "second")
                 .starts_with("### !! line 3: run.default_que: there is no setting"));
  BOOST_TEST(has(effective("d"), R"("stringValue":"a")"));
}

BOOST_AUTO_TEST_CASE(keeps_the_file_of_everything_that_was_not_written) {
  const struct {
    const char *name, *editor, *answer;
    int status;
    const char *says, *kept;
  } rows[] = {
      {"given up", "echo '[' > $1.new; [ -e $1.old ] || cp $1.new $1; touch $1.old; rm $1.new",
       "y\n", 1, "given up, so nothing changed", "["},
      {"not confirmed", "echo 'run.default_queue: a' > $1", "n\n", 1, "not confirmed", "queue: a"},
      {"nobody to confirm", "echo 'run.default_queue: a' > $1", "", 1, "not confirmed", "queue: a"},
      {"a failed editor", "echo 'run.default_queue: a' > $1; exit 3", "y\n", 1,
       "the editor ended with 3", "queue: a"},
      {"refused", "echo 'run.max_action_concurrency: 1' > $1", "y\n", 3,
       "invalid max_action_concurrency 1", "concurrency: 1"},
      {"a lost race", "echo 'run.default_queue: a' > $1; $WRIT set run.default_queue=theirs >&2",
       "y\n", 4, "meanwhile instance was changed by anonymous at ", "queue: a"},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.name) {
      for (const std::string& file : kept()) std::filesystem::remove(file);
      const WritRun done =
          run({"edit"}, {{"EDITOR", script("editor", row.editor)}, {"WRIT", writ_program()}},
              row.answer);
      BOOST_TEST(done.status == row.status, done.err);
      BOOST_TEST(has(done.err, row.says), done.err);
      std::string file;
      for (const std::string& one : kept())
        if (one.ends_with(".yaml")) file = one;
      BOOST_REQUIRE(!file.empty());
      BOOST_TEST(has(done.err, "your edit is kept in " + file), done.err);
      BOOST_TEST(has(contents_of(file), row.kept));
    }
  BOOST_TEST(head() == 1);
  BOOST_TEST(has(effective(), "theirs"));
}

BOOST_AUTO_TEST_CASE(says_how_to_go_on_after_a_lost_race) {
  ok({"set", "-d", "d", "run.default_queue=a"});
  const WritRun lost =
      run({"edit", "-d", "d", "--yes"},
          {{"EDITOR",
            script("editor",
                   "echo 'labels: {a: b}' > $1; $WRIT set -d d run.default_queue=theirs >&2")},
           {"WRIT", writ_program()}});
  BOOST_TEST(lost.status == 4);
  BOOST_TEST(has(lost.err, "look at it with `writ diff -d d v1`"), lost.err);
  const std::string file = kept().at(0);
  BOOST_TEST(has(lost.err, "`writ edit -d d --from-file " + file + "`"), lost.err);
  BOOST_TEST(ok({"diff", "-d", "d", "v1"}) ==
             "d, position 1 to 2\n~ run.default_queue: a -> theirs\n");
  BOOST_TEST(ok({"edit", "-d", "d", "--from-file", file}) ==
             "- run.default_queue: theirs\n+ labels[\"a\"]: b\nd: version 3\n");
}

BOOST_AUTO_TEST_CASE(takes_a_file_without_asking) {
  const std::string good = file("good.yaml", "run.default_queue: a\nlabels: ~unset\n");
  BOOST_TEST(ok({"edit", "--from-file", good}) ==
             "+ run.default_queue: a\n+ labels: ~unset\ninstance: version 1\n");
  BOOST_TEST(run({"edit", "--from-file", good}).err == "writ: nothing changed\n");
  const WritRun piped = run({"edit", "-f", "-", "-o", "json"}, {}, "labels: {a: b}");
  BOOST_TEST(piped.status == 0);
  BOOST_TEST(piped.out.starts_with("{\"key\":{},\"settings\":{\"labels\":"), piped.out);
  const std::string bad = file("bad.yaml", "labels: {}\nrun.default_queue: [a\n");
  const WritRun refused = run({"edit", "--from-file", bad});
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(has(refused.err, "writ: " + bad + ": line "), refused.err);
  const std::string wrong = file("wrong.yaml", "labels: {}\nrun.max_action_concurrency: x\n");
  BOOST_TEST(has(run({"edit", "--from-file", wrong}).err,
                 wrong + ": line 2: run.max_action_concurrency: \"x\" is no whole number"));
  BOOST_TEST(head() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(completion)

/// What bash offers for a command line; the last word is the unfinished one.
std::string offered(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {
      "/bin/bash", "-c",
      "source <(\"$0\" completion bash); COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _writ; "
      "echo \"${COMPREPLY[@]}\"",
      writ_program(), "writ"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return run_to_end({arguments});
}

BOOST_AUTO_TEST_CASE(of_bash_offers_commands_options_and_settings) {
  BOOST_TEST(offered({"re"}) == "revert rebuild\n");
  BOOST_TEST(offered({"inh"}) == "inherit\n");
  BOOST_TEST(offered({"get", "--d"}) == "--domain\n");
  BOOST_TEST(offered({"get", "-o", ""}) == "table json yaml\n");
  BOOST_TEST(offered({"set", "task_resource.max.m"}) == "task_resource.max.memory=\n");
  BOOST_TEST(offered({"unset", "labels", "run.default"}) == "run.default_queue\n");
  BOOST_TEST(offered({"log", "--path", "pod"}) == "pod_template_name\n");
  BOOST_TEST(offered({"set", "run.default_queue", "=", ""}) == "\n");
  BOOST_TEST(offered({"completion", ""}) == "bash zsh\n");
  // Files, where nothing of ours fits.
  BOOST_TEST(run_to_end({{"/bin/bash", "-c", "source <(\"$0\" completion bash); complete -p writ",
                          writ_program()}}) == "complete -o default -F _writ writ\n");
  BOOST_TEST(offered({"rebuild", ""}) == "settings changed_paths\n");
  BOOST_TEST(offered({"token", "re"}) == "revoke\n");
  BOOST_TEST(offered({"token", "create", "--b"}) == "--behind-proxy\n");
  BOOST_TEST(offered({"token", "create", "--name", "ci", "--role", "a"}) == "auditor admin\n");
  BOOST_TEST(offered({"token", "revoke", "--"}) == "--help --data-dir --token-file\n");
}

/// Runs in zsh: types the line `$2` and a tab into another zsh, on a terminal, that has found the
/// completion of `$1` in its $fpath, and prints what that adds to what it offers.
constexpr char kZshOffers[] = R"(
zmodload zsh/zpty zsh/zselect || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf $folder' EXIT
"$1" completion zsh > $folder/_writ || exit 1
cat > $folder/setup <<END
PS1=
fpath=($folder \$fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
  builtin compadd -O offered "\$@"
  print -r -- \$offered >> $folder/offered
  builtin compadd "\$@"
}
offer() { zle complete-word; print >> $folder/done }
zle -N offer
bindkey '^I' offer
print >> $folder/ready
END
await() { while [[ ! -s $1 ]]; do zpty -r -t z text; zselect -t 1; done }
zpty z zsh -f -i
zpty -w z "source $folder/setup"
await $folder/ready
zpty -w -n z "$2"$'\t'
await $folder/done
cat $folder/offered
)";

BOOST_AUTO_TEST_CASE(of_zsh_offers_the_same) {
  BOOST_TEST(run_writ({"completion", "fish"}).status == 2);
  const char* zsh = "/bin/zsh";
  if (!std::filesystem::exists(zsh)) {
    const char* ci = std::getenv("CI");
    BOOST_TEST((ci == nullptr || ci != std::string("true")), "zsh is missing");
    BOOST_TEST_MESSAGE("skipped: there is no zsh here; `tools/setup --test` installs it");
    return;
  }
  const struct {
    const char *line, *offers;
  } rows[] = {
      {"writ re", "revert rebuild"},
      {"writ inh", "inherit"},
      {"writ get --d", "--domain"},
      {"writ get -o ", "table json yaml"},
      {"writ set task_resource.max.m", "task_resource.max.memory"},
      {"writ unset labels run.default", "run.default_queue"},
      {"writ log --path pod", "pod_template_name"},
      {"writ completion ", "bash zsh"},
      {"writ token re", "revoke"},
      {"writ token create --b", "--behind-proxy"},
      {"writ token create --name ci --role a", "auditor admin"},
      {"writ token revoke --", "--help --data-dir --token-file"},
  };
  for (const auto& row : rows) BOOST_TEST_CONTEXT(row.line)
  BOOST_TEST(run_to_end({{zsh, "-f", "-c", kZshOffers, "zsh", writ_program(), row.line}}) ==
             row.offers + std::string("\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace writ::test
