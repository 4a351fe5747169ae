#pragma once

// The library's own name.
namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}
