// A caller's own libpq connection as a SqlSession.
#pragma once

#include <string>
#include <vector>

#include <libpq-fe.h>

#include <semel/postgres_transaction.h>

namespace semel::store::postgres {

class LibpqSession : public SqlSession {
 public:
  explicit LibpqSession(PGconn* connection) : connection_(connection) {}

  Rows run(const std::string& sql, const std::vector<std::string>& parameters) override;

  // Whether there is a connection, and no transaction on it.
  [[nodiscard]] bool idle() const { return PQtransactionStatus(connection_) == PQTRANS_IDLE; }
  // Whatever state the transaction is in.
  void roll_back();

 private:
  PGconn* connection_;
};

}  // namespace semel::store::postgres
