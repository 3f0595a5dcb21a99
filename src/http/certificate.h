// The files of TLS, looked at before they are used: what is wrong with one in words, and until when one is good.
#pragma once

#include <string>

#include <openssl/types.h>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel::http {

// "subject CN=api.example.com, issuer CN=Example CA, until 2027-01-31"
std::string describe(const X509* certificate);

struct CertificateFacts {
  std::string text;  // as describe() says it
  Time until;
};

// Of the first certificate in a file (PEM). Code::invalid: the detail says what is wrong, without the file's name.
Result<CertificateFacts> look_at_certificate(const std::string& file);
// Of the authorities in a file: the one that ends first.
Result<CertificateFacts> look_at_authorities(const std::string& file);
// That it is a key without a passphrase, and the one of the first certificate in `certificate_file`.
Result<void> look_at_key(const std::string& file, const std::string& certificate_file);

}  // namespace semel::http
