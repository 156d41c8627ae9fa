#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <libpq-fe.h>

#include "adapters/catalog_source.h"
#include "adapters/sql_connection.h"

namespace spillway::adapters {

/// An open connection of libpq's, every wait of which ends. See SqlConnection.
class PostgresConnection final : public SqlConnection {
 public:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };

  using Handle = std::unique_ptr<PGconn, Finish>;
  using Answer = std::unique_ptr<PGresult, Clear>;

  PostgresConnection(Handle connection, std::chrono::milliseconds patience);

  StoreResult<void> begin_read() override;
  StoreResult<void> begin_write() override;
  StoreResult<void> execute(const std::string& sql) override;
  StoreResult<void> query(const std::string& sql, const OnRow& on_row) override;
  StoreResult<void> insert(const std::string& table, const std::string& columns,
                           size_t column_count, const Produce& produce) override;
  StoreResult<bool> has_table(std::string_view name) override;

 private:
  /// The answer to one statement.
  StoreResult<Answer> ask(const std::string& sql);
  StoreResult<Answer> answer();
  StoreResult<Answer> next_result();
  StoreResult<void> flush();
  StoreResult<void> wait(short events, std::chrono::steady_clock::time_point until);
  StoreResult<void> send_rows(const Produce& produce);
  [[nodiscard]] std::unexpected<StoreError> failure() const;

  Handle connection_;
  std::chrono::milliseconds patience_;
};

/// The words of a message of libpq's, on one line.
[[nodiscard]] std::string one_line(std::string_view message);

}  // namespace spillway::adapters
