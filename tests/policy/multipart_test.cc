// Bodies of multipart/form-data: what is read, and what is refused because two programs could read it differently.
#include "policy/multipart.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/rules.h"

namespace semel::policy {
namespace {

using test::Sent;

constexpr std::string_view type = "multipart/form-data; boundary=xYz";

std::string part(std::string_view name, std::string_view content) {
  return "--xYz\r\nContent-Disposition: form-data; name=\"" + std::string(name) + "\"\r\n\r\n" + std::string(content) +
         "\r\n";
}
std::string whole(std::string_view parts) {
  return std::string(parts) + "--xYz--\r\n";
}

// Names and contents, or "refused".
std::string read(std::string_view body, std::string_view content_type = type) {
  Sent request{.fields = {{"Content-Type", std::string(content_type)}}, .body = std::string(body)};
  const auto parts = multipart_form(request.view());
  if (!parts) return "refused";
  std::string text;
  for (const FormPart& each : *parts) {
    text += std::string(each.name) + (each.is_file ? "!" : "") + "=" + std::string(each.content) + ";";
  }
  return text;
}

// What senders send: PHP and Python write their parts like this.
TEST(Multipart, IsReadAsSendersWriteIt) {
  EXPECT_EQ(read(whole(part("json", "{\"a\":1}"))), "json={\"a\":1};");
  EXPECT_EQ(read(whole(part("a", "1") + part("b", "") + part("c", "x\r\ny\n--xY"))), "a=1;b=;c=x\r\ny\n--xY;");
  EXPECT_EQ(read(part("a", "1") + "--xYz--"), "a=1;");
  EXPECT_EQ(read("--xYz--\r\n"), "");
  EXPECT_EQ(read(whole("--xYz\r\nContent-Disposition: form-data; name=\"json\"\r\nContent-Type: application/json\r\n"
                       "Content-Length: 2\r\nContent-Transfer-Encoding: binary\r\n\r\n{}\r\n")),
            "json={};");
  EXPECT_EQ(read(whole("--xYz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.pdf\"\r\n\r\n%PDF\r\n")),
            "f!=%PDF;");
  EXPECT_EQ(read(whole(part("a", "1")), "Multipart/Form-Data; boundary=\"xYz\""), "a=1;");
}

// Which line is a boundary must be the same for everybody.
TEST(Multipart, RefusesGamesWithTheBoundary) {
  const std::string good = whole(part("a", "1"));
  for (const std::string_view other :
       {"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=xYz; boundary=q", "multipart/form-data; boundary=q; boundary=xYz",
        "multipart/form-data; charset=utf-8; boundary=xYz", "multipart/form-data; boundary*=utf-8''xYz",
        "multipart/form-data; boundary=\"xYz", "multipart/form-data; boundary=x\\Yz",
        "multipart/form-data; boundary=x Yz", "multipart/mixed; boundary=xYz", "application/json", "",
        "multipart/form-data;", "multipart/form-data; xYz"}) {
    EXPECT_EQ(read(good, other), "refused") << other;
  }
  const std::string longest(70, 'b');
  EXPECT_EQ(read("--" + longest + "--", "multipart/form-data; boundary=" + longest), "");
  EXPECT_EQ(read("--" + longest + "b--", "multipart/form-data; boundary=" + longest + "b"), "refused");
  EXPECT_EQ(read(whole(part("a", "1\r\n--xYzzy\r\n2"))), "refused") << "a longer line that begins with the boundary";
  EXPECT_EQ(read(whole(part("a", "1\r\n--xYz \r\n2"))), "refused") << "white space behind it";
  EXPECT_EQ(read(whole(part("a", "1\r\n--xYz\n2"))), "refused") << "a bare line feed behind it";
  EXPECT_EQ(read(whole(part("a", "1\n--xYz\n2"))), "refused") << "bare line feeds around it";
  EXPECT_EQ(read(whole(part("a", "1 --xYz 2"))), "refused") << "in the middle of a line";
  EXPECT_EQ(read("--xYz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + whole(part("b", "1"))), "refused")
      << "a part without content, whose empty line is the boundary's";
  EXPECT_EQ(read("preamble\r\n" + good), "refused");
  EXPECT_EQ(read("\r\n" + good), "refused");
  EXPECT_EQ(read(good + "epilogue"), "refused");
  EXPECT_EQ(read(good + good), "refused");
  EXPECT_EQ(read(part("a", "1") + "--xYz-\r\n"), "refused");
  Sent twice{.fields = {{"Content-Type", std::string(type)}, {"Content-Type", std::string(type)}}, .body = good};
  EXPECT_FALSE(multipart_form(twice.view()));
}

// A body that is cut off anywhere is no body: the handler may have read the rest.
TEST(Multipart, RefusesWhatIsNotComplete) {
  const std::string good = whole(part("a", "1") + part("json", "{}"));
  for (std::size_t size = 0; size + 2 < good.size(); ++size) EXPECT_EQ(read(good.substr(0, size)), "refused") << size;
}

// One name, one value; and names that everybody reads alike.
TEST(Multipart, RefusesNamesThatCouldBeOthers) {
  EXPECT_EQ(read(whole(part("a", "1") + part("a", "1"))), "refused");
  const auto named = [](std::string_view disposition) {
    return read(whole("--xYz\r\n" + std::string(disposition) + "\r\n\r\n1\r\n"));
  };
  EXPECT_EQ(named("Content-Disposition: form-data; name=\"a\""), "a=1;");
  for (const std::string_view odd :
       {"Content-Disposition: form-data",
        "Content-Disposition: form-data; name=a",
        "Content-Disposition: form-data; name=\"\"",
        "Content-Disposition: form-data; name=\"a\"; name=\"b\"",
        "Content-Disposition: form-data; name=\"a\\\"b\"",
        "Content-Disposition: form-data; name*=utf-8''a",
        "Content-Disposition: form-data; name=\"a\"; name*=utf-8''b",
        "Content-Disposition: form-data; name=\"a",
        "Content-Disposition: form-data; name=\"a b\"",
        "Content-Disposition: form-data; name=\"a%22\"",
        "Content-Disposition: form-data; name=\"j\xc3\xb6\"",
        "Content-Disposition: attachment; name=\"a\"",
        "Content-Disposition: form-data; name=\"a\"; filename=\"x\"; filename=\"y\"",
        "Content-Disposition: form-data; name=\"a\"x",
        "Content-Disposition: form-data; filename=\"a\"",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"b\"",
        "Content-Disposition: form-data;\r\n name=\"a\"",
        "Content-Type: text/plain",
        "name: a",
        "garbage",
        "",
        ": a"}) {
    EXPECT_EQ(named(odd), "refused") << odd;
  }
}

// Parts within a part, other encodings, and fields that nobody knows.
TEST(Multipart, RefusesPartsThatHaveToBeDecoded) {
  const auto with = [](std::string_view field) {
    return read(
        whole("--xYz\r\nContent-Disposition: form-data; name=\"a\"\r\n" + std::string(field) + "\r\n\r\n1\r\n"));
  };
  EXPECT_EQ(with("Content-Type: text/plain; charset=utf-8"), "a=1;");
  for (const std::string_view odd :
       {"Content-Type: multipart/mixed; boundary=q", "Content-Type: Multipart/form-data; boundary=q",
        "Content-Transfer-Encoding: base64", "Content-Transfer-Encoding: quoted-printable", "Content-Encoding: gzip",
        "Content-Length: x", "X-Other: 1", "Content-Type: a\nX: b", "Content-Type: a\rX",
        "Content-Type : text/plain"}) {
    EXPECT_EQ(with(odd), "refused") << odd;
  }
}

// Nothing that a stranger sends costs more than its length.
TEST(Multipart, HasLimits) {
  std::string many;
  for (std::size_t i = 0; i < form_parts_max; ++i) many += part("p" + std::to_string(i), "1");
  EXPECT_NE(read(whole(many)), "refused");
  EXPECT_EQ(read(whole(many + part("one-more", "1"))), "refused");
  EXPECT_EQ(read(whole("--xYz\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: " +
                       std::string(part_head_bytes_max, 'x') + "\r\n\r\n1\r\n")),
            "refused");
  EXPECT_EQ(read(whole(part(std::string(101, 'n'), "1"))), "refused");
  const std::string dashes =
      "--xYz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + std::string(1U << 20U, '-');
  EXPECT_EQ(read(dashes), "refused");
}

// What is written is read again, whatever the contents are; and no text, nor a change of one byte, breaks the reader or
// gives parts that are not in the body.
RC_GTEST_PROP(Multipart, ReadsWhatWasWritten, (const std::vector<std::string>& contents)) {
  std::string body;
  std::string expected;
  for (std::size_t i = 0; i < contents.size() && i < form_parts_max; ++i) {
    RC_PRE(contents[i].find("--xYz") == std::string::npos);
    body += part("p" + std::to_string(i), contents[i]);
    expected += "p" + std::to_string(i) + "=" + contents[i] + ";";
  }
  RC_ASSERT(read(whole(body)) == expected);
}

RC_GTEST_PROP(Multipart, StaysInsideTheBody, (unsigned place, char c)) {
  std::string body = whole(part("a", "1") + part("json", "{\"x\":\"--xY\"}") + part("b", "--"));
  body[place % body.size()] = c;
  Sent request{.fields = {{"Content-Type", std::string(type)}}, .body = body};
  const auto parts = multipart_form(request.view());
  if (!parts) return;
  for (const FormPart& each : *parts) {
    RC_ASSERT(body.find("name=\"" + std::string(each.name) + "\"") != std::string::npos);
    RC_ASSERT(body.find("\r\n\r\n" + std::string(each.content) + "\r\n--xYz") != std::string::npos);
  }
}

}  // namespace
}  // namespace semel::policy
