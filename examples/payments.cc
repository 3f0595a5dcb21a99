// A payments API on Boost.Beast and PostgreSQL: claim, payment and answer commit in one transaction.
//
//   example_payments postgres:///shop 8080        then POST /payments {"amount": 10} with an Idempotency-Key
//
// Kill it whenever you like: a payment has either been made, and a retry replays its answer, or there is no trace of it
// and a retry makes it. There is no third state. GET /effects counts the payments.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <semel/beast.h>
#include <semel/clock.h>
#include <semel/guard.h>
#include <semel/postgres.h>
#include <semel/postgres_transaction.h>

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

// One connection for each thread: what one of them does is one transaction.
class Database {
 public:
  explicit Database(const std::string& url) : raw_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(raw_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(raw_.get()));
  }

  [[nodiscard]] PGconn* get() const { return raw_.get(); }

  // The first value of the answer. Throws: in a transaction, that rolls it back.
  [[nodiscard]] std::string ask(const char* sql, const std::vector<const char*>& values = {}) const {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexecParams(raw_.get(), sql, static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr, 0),
        &PQclear);
    if (PQresultStatus(result.get()) > PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(raw_.get()));
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> raw_;
};

semel::BeastResponse reply(unsigned status, std::string body) {
  semel::BeastResponse answer;
  answer.result(status);
  answer.set(http::field::content_type, "application/json");
  answer.body() = std::move(body);
  answer.prepare_payload();
  return answer;
}

// The business code: it knows nothing of keys. It writes on the connection that the transaction was begun on.
semel::BeastResponse pay(const Database& database, const semel::BeastRequest& request) {
  if (request.target() == "/effects") {
    return reply(200, R"({"effects":)" + database.ask("SELECT count(*) FROM payments") + "}");
  }
  const std::string id =
      database.ask("INSERT INTO payments (request) VALUES ($1) RETURNING id", {request.body().c_str()});
  return reply(201, R"({"payment":)" + id + "}");
}

void serve(tcp::socket socket, const Database& database, const semel::Guard& guard) {
  socket.set_option(tcp::no_delay(true));
  const std::string ip = socket.remote_endpoint().address().to_string();
  boost::beast::flat_buffer buffer;
  for (;;) {
    semel::BeastRequest request;
    http::read(socket, buffer, request);
    const auto once = [&](const semel::Key& key, const semel::Fingerprint& fingerprint, const semel::Policy& policy,
                          semel::BlockingAction action) {
      return semel::once_in_transaction(database.get(), key, fingerprint, policy, std::move(action));
    };
    const auto handle = [&](const semel::BeastRequest& asked, semel::Fence) { return pay(database, asked); };
    const semel::BeastResponse answer = semel::guarded(guard, once, request, ip, handle);
    http::write(socket, answer);
    if (!answer.keep_alive()) return;
  }
}

// Takes connections one after the other. A lost database ends the thread's work for now; it connects again.
void work(tcp::acceptor& acceptor, const std::string& url, const semel::Guard& guard) {
  for (;;) {
    try {
      const Database database(url);
      while (PQstatus(database.get()) == CONNECTION_OK) {
        tcp::socket socket = acceptor.accept();
        try {
          serve(std::move(socket), database, guard);
        } catch (const boost::system::system_error&) {
          continue;  // the client has gone
        }
      }
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return std::cerr << "example_payments URL PORT [THREADS]\n", 2;
  const std::string url = arguments[1];
  const auto clock = semel::make_system_clock();
  const auto migrated = semel::migrate_postgres(*clock, url);  // or, once, `semel migrate --url URL`
  const auto guard = semel::Guard::make({.scope = "{header:Authorization?}"});
  if (!migrated || !guard) {
    std::cerr << (migrated ? guard.error() : migrated.error()).detail << "\n";
    return 1;
  }
  (void)Database(url).ask("CREATE TABLE IF NOT EXISTS payments (id bigserial PRIMARY KEY, request text NOT NULL)");

  boost::asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(),
                                                static_cast<std::uint16_t>(std::atoi(arguments[2]))));
  std::cerr << "listening on " << acceptor.local_endpoint().port() << std::endl;
  std::vector<std::jthread> threads;
  const int size = count > 3 ? std::atoi(arguments[3]) : 8;
  for (int i = 0; i < size; ++i) threads.emplace_back([&] { work(acceptor, url, *guard); });
}
