// Prints every proof of trees of up to 300 leaves, for merkle_verifier.py. Leaf i is over the text
// of the number i. Lines: `root SIZE HASH`, `inclusion INDEX SIZE HASH…`, `consistency OLD SIZE
// HASH…`, all hexadecimal.

#include <iostream>
#include <string>

#include "events/envelope.h"
#include "tests/events/memory_tree.h"

namespace {

void print(const char* what, std::int64_t first, std::int64_t second, const writ::Proof& proof) {
  std::cout << what << ' ' << first << ' ' << second;
  for (const writ::Digest& hash : proof) std::cout << ' ' << writ::hex(hash);
  std::cout << '\n';
}

}  // namespace

int main() {
  constexpr std::int64_t kLargest = 300;
  writ::MemoryTree tree;
  const auto read = tree.reader();
  for (std::int64_t size = 0; size <= kLargest; ++size) {
    if (size > 0) tree.append(writ::leaf_hash(std::to_string(size - 1)));
    std::cout << "root " << size << ' ' << writ::hex(writ::root_of(size, read)) << '\n';
    for (std::int64_t index = 0; index < size; ++index)
      print("inclusion", index, size, writ::inclusion_proof(index, size, read));
    for (std::int64_t old_size = 0; old_size <= size; ++old_size)
      print("consistency", old_size, size, writ::consistency_proof(old_size, size, read));
  }
}
