// Files are read whole and judged in memory, so that what is wrong can be said in words.
#include "http/certificate.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <expected>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/types.h>
#include <openssl/x509.h>

#include "core/check.h"
#include "core/openssl.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::http {
namespace {

Result<std::string> text_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return fail(Code::invalid, std::string("cannot be read: ") + std::strerror(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty()) return fail(Code::invalid, "is empty");
  return text;
}

core::Memory reader_of(const std::string& text) {
  core::Memory reader(BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX))));
  core::check(reader != nullptr, "OpenSSL has memory");
  return reader;
}

bool has(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

// What a file holds instead of a certificate.
std::string_view not_a_certificate(const std::string& text) {
  if (has(text, "BEGIN CERTIFICATE-----")) return "holds a certificate that is damaged";
  if (has(text, "PRIVATE KEY-----")) return "holds a private key, not a certificate";
  if (has(text, "BEGIN CERTIFICATE REQUEST")) return "holds a request for a certificate, not the certificate";
  return "holds no certificate: no line -----BEGIN CERTIFICATE-----";
}

std::string_view not_a_key(const std::string& text) {
  if (has(text, "ENCRYPTED"))
    return "holds a key with a passphrase; write it without one, readable only by Semel's user";
  if (has(text, "PRIVATE KEY-----")) return "holds a private key that is damaged";
  if (has(text, "BEGIN CERTIFICATE-----")) return "holds a certificate, not its private key";
  if (has(text, "BEGIN PUBLIC KEY")) return "holds a public key; the private one is needed";
  return "holds no private key: no line -----BEGIN PRIVATE KEY-----";
}

int no_passphrase(char* /*room*/, int /*size*/, int /*writing*/, void* /*nothing*/) {
  return -1;
}

Time end_of(const X509* certificate) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) return Time{};
  const std::chrono::year_month_day day(std::chrono::year(parts.tm_year + 1900),
                                        std::chrono::month(static_cast<unsigned>(parts.tm_mon) + 1),
                                        std::chrono::day(static_cast<unsigned>(parts.tm_mday)));
  const auto time = std::chrono::sys_days(day) + std::chrono::hours(parts.tm_hour) +
                    std::chrono::minutes(parts.tm_min) + std::chrono::seconds(parts.tm_sec);
  return std::chrono::time_point_cast<Millis>(time);
}

// The day, in UTC.
std::string written(Time time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  const auto two = [](unsigned number) { return std::string(number < 10 ? "-0" : "-") + std::to_string(number); };
  return std::to_string(static_cast<int>(day.year())) + two(static_cast<unsigned>(day.month())) +
         two(static_cast<unsigned>(day.day()));
}

void append_name(BIO* out, const X509_NAME* name) {
  if (X509_NAME_entry_count(name) == 0) {
    BIO_puts(out, "(none)");
  } else {
    X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253);
  }
}

CertificateFacts facts_of(const X509* certificate) {
  return {.text = describe(certificate), .until = end_of(certificate)};
}

}  // namespace

std::string describe(const X509* certificate) {
  const core::Memory out(BIO_new(BIO_s_mem()));
  core::check(out != nullptr, "OpenSSL has memory");
  BIO_puts(out.get(), "subject ");
  append_name(out.get(), X509_get_subject_name(certificate));
  BIO_puts(out.get(), ", issuer ");
  append_name(out.get(), X509_get_issuer_name(certificate));
  BIO_puts(out.get(), ", until ");
  BIO_puts(out.get(), written(end_of(certificate)).c_str());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Result<CertificateFacts> look_at_certificate(const std::string& file) {
  const core::QuietRefusal quiet;
  const Result<std::string> text = text_of(file);
  if (!text) return std::unexpected(text.error());
  const core::Memory reader = reader_of(*text);
  const core::Certificate certificate(PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr));
  if (certificate == nullptr) return fail(Code::invalid, std::string(not_a_certificate(*text)));
  return facts_of(certificate.get());
}

Result<CertificateFacts> look_at_authorities(const std::string& file) {
  const core::QuietRefusal quiet;
  const Result<std::string> text = text_of(file);
  if (!text) return std::unexpected(text.error());
  const core::Memory reader = reader_of(*text);
  Result<CertificateFacts> first = fail(Code::invalid, std::string(not_a_certificate(*text)));
  for (;;) {
    const core::Certificate certificate(PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr));
    if (certificate == nullptr) return first;
    if (!first || end_of(certificate.get()) < first->until) first = facts_of(certificate.get());
  }
}

Result<void> look_at_key(const std::string& file, const std::string& certificate_file) {
  const core::QuietRefusal quiet;
  const Result<std::string> text = text_of(file);
  if (!text) return std::unexpected(text.error());
  const core::Memory reader = reader_of(*text);
  const core::Pkey key(PEM_read_bio_PrivateKey(reader.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) return fail(Code::invalid, std::string(not_a_key(*text)));
  const Result<std::string> other = text_of(certificate_file);
  if (!other) return {};  // reported where the certificate is named
  const core::Memory beside = reader_of(*other);
  const core::Certificate certificate(PEM_read_bio_X509(beside.get(), nullptr, no_passphrase, nullptr));
  if (certificate == nullptr || X509_check_private_key(certificate.get(), key.get()) == 1) return {};
  return fail(Code::invalid, "is not the key of the certificate in " + certificate_file);
}

}  // namespace semel::http
