// Which row of a table answers a request, and what is said when none does.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "admin/caller.h"
#include "admin/openapi.h"
#include "admin/page.h"

namespace semel::admin {
namespace {

Task<Response> nothing(const Sources* /*sources*/, policy::RequestView /*request*/, Caller /*caller*/) {
  co_return Response{};
}

constexpr std::array pages{
    Page{.path = "/a", .method = "GET", .access = Access::anyone, .handler = &nothing},
    Page{.path = "/a", .method = "POST", .access = Access::changer, .handler = &nothing},
    Page{.path = "/a/b", .method = "DELETE", .access = Access::changer, .handler = &nothing},
    Page{.path = "/things/{id}/part", .method = "GET", .access = Access::reader, .handler = &nothing},
    Page{.path = "/files/*", .method = "GET", .access = Access::reader, .handler = &nothing},
};

std::ptrdiff_t row(std::string_view method, std::string_view path) {
  const Found found = find(pages, method, path);
  return found.page == nullptr ? -1 : found.page - pages.data();
}

// Goal: a row answers its own path and method; HEAD is GET without a body.
TEST(AdminTable, FindsTheRowOfAPathAndAMethod) {
  EXPECT_EQ(row("GET", "/a"), 0);
  EXPECT_EQ(row("HEAD", "/a"), 0);
  EXPECT_EQ(row("POST", "/a"), 1);
  EXPECT_EQ(row("DELETE", "/a/b"), 2);
  for (const std::string_view path : {"/", "", "/A", "/a/", "//a", "/ab", "/a/c"})
    EXPECT_EQ(row("GET", path), -1) << path;
  EXPECT_EQ(row("HEAD", "/a/b"), -1);
  EXPECT_EQ(row("get", "/a"), -1);
}

// Goal: a row for everything below a path is not for the path itself.
TEST(AdminTable, FindsWhatIsBelowAPath) {
  EXPECT_EQ(row("GET", "/files/"), 4);
  EXPECT_EQ(row("GET", "/files/app/page.js"), 4);
  EXPECT_EQ(row("GET", "/files"), -1);
  EXPECT_EQ(row("GET", "/filesystem"), -1);
}

// Goal: {id} stands for one segment that is not empty.
TEST(AdminTable, FindsASegmentOfAnyText) {
  EXPECT_EQ(row("GET", "/things/a1/part"), 3);
  for (const std::string_view path : {"/things//part", "/things/a", "/things/a/b/part", "/things/a/parts", "/things/"})
    EXPECT_EQ(row("GET", path), -1) << path;
}

// Goal: for a method that no row takes, all methods that rows of the path do take.
TEST(AdminTable, TellsWhichMethodsAreAllowed) {
  EXPECT_EQ(find(pages, "PUT", "/a").allowed, "GET, HEAD, POST");
  EXPECT_EQ(find(pages, "GET", "/a/b").allowed, "DELETE");
  EXPECT_EQ(find(pages, "POST", "/files/x").allowed, "GET, HEAD");
  EXPECT_EQ(find(pages, "POST", "/nothing").allowed, "");
  EXPECT_EQ(find(pages, "GET", "/a").allowed, "");
}

// Goal: each row has its requests; one with a name comes before one for any name there.
TEST(AdminTable, HasEachRowOnce) {
  for (const Page& page : table()) {
    EXPECT_EQ(find(table(), page.method, page.path).page, &page) << page.method << " " << page.path;
  }
}

// Goal: nothing that changes keys is open to requests without a token.
TEST(AdminTable, GuardsWhatChanges) {
  for (const Page& page : table()) {
    const bool changes_no_key = page.path == "/v1/keys/find" || page.path == "/v1/session";
    if (page.method != "GET" && !changes_no_key) EXPECT_EQ(page.access, Access::changer) << page.path;
  }
}

// Goal: programs can go by the document: it has every page under /v1, with the role that the page asks for, and no
// other.
TEST(AdminTable, IsWhatTheDocumentDescribes) {
  const boost::json::value document = boost::json::parse(openapi_text());
  std::size_t described = 0;
  for (const auto& path : document.at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      ++described;
      std::string method(operation.key());
      std::ranges::transform(method, method.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      const std::string_view where = path.key();
      const auto row =
          std::ranges::find_if(table(), [&](const Page& page) { return page.path == where && page.method == method; });
      ASSERT_NE(row, table().end()) << method << " " << where;
      const boost::json::object& said = operation.value().as_object();
      EXPECT_EQ(said.at("security").as_array().empty(), row->access == Access::anyone) << where;
      if (row->access == Access::anyone) continue;
      EXPECT_EQ(said.at("x-role").as_string(), row->access == Access::changer ? "operator" : "viewer") << where;
    }
  }
  const auto is_described = [](const Page& page) { return page.path.starts_with("/v1/"); };
  EXPECT_EQ(described, static_cast<std::size_t>(std::ranges::count_if(table(), is_described)));
}

}  // namespace
}  // namespace semel::admin
