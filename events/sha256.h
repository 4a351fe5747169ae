#pragma once

#include <array>
#include <string>
#include <string_view>

namespace writ {

/// A SHA-256 digest, 32 raw bytes.
using Digest = std::array<unsigned char, 32>;

/// The bytes of a digest; they live as long as it does.
std::string_view bytes_of(const Digest& digest);

/// SHA-256 of the parts, one after the other.
Digest sha256(std::string_view first, std::string_view second = {});

/// Lower-case hexadecimal.
std::string hex(std::string_view bytes);
std::string hex(const Digest& digest);

/// The bytes of a lower- or upper-case hexadecimal text. Throws std::invalid_argument for any
/// other.
std::string from_hex(std::string_view text);

/// `count` bytes from the system's cryptographic generator. Throws std::runtime_error when it
/// fails.
std::string random_bytes(std::size_t count);

/// A random UUID (RFC 9562, version 4), lower case with hyphens.
std::string random_uuid();

}  // namespace writ
