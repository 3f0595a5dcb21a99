// All resolvers of a gateway, on one thread of their own.
//
// No request waits for them, and they wait for nobody but the store and their sources.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "config/config.h"
#include "resolver/probe_source.h"
#include "resolver/route_resolver.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::resolver {

class Resolvers {
 public:
  // The store is to be destroyed before this, since calls that it ends are posted here; all other parts outlive this.
  Resolvers(ResolverParts parts, const config::Config& config, const AskTarget& ask);
  ~Resolvers();
  Resolvers(const Resolvers&) = delete;
  Resolvers& operator=(const Resolvers&) = delete;

  void start();
  // Ends the thread. What is under way at the store may still be done; a question to a database ends within its
  // timeout.
  void end();

  // In the format of Prometheus. From any thread.
  void render(std::string& out) const;

 private:
  static Task<void> run(Resolvers* self, RouteResolver* resolver);

  const ResolverParts parts_;
  boost::asio::io_context context_{1};
  std::vector<std::unique_ptr<RouteResolver>> resolvers_;
  std::thread thread_;
};

// Asks the database of a resolver with ask = "sql" whether it takes the query, and whether the columns are there.
// Code::invalid: it does not, or they are not. Code::unavailable: it cannot be asked now.
Result<void> check_source(const Clock& clock, const config::Config& config, const config::ResolverConfig& resolver);

}  // namespace semel::resolver
