#include "adapters/postgres_catalog.h"

#include <algorithm>
#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <libpq-fe.h>

#include "adapters/catalog_source.h"
#include "adapters/postgres_connection.h"
#include "adapters/sql_connection.h"

namespace spillway::adapters {

namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

class PostgresDatabase final : public SqlDatabase {
 public:
  PostgresDatabase(std::string address, std::string name, StoreSettings settings)
      : address_(std::move(address)), name_(std::move(name)), settings_(settings) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  StoreResult<std::unique_ptr<SqlConnection>> connect(Purpose /*purpose*/) override {
    constexpr std::chrono::seconds kLeast{2};  // libpq takes less for two.
    const auto patience =
        std::max(kLeast, std::chrono::ceil<std::chrono::seconds>(settings_.patience));
    const std::string timeout_s = std::to_string(patience.count());
    const char* const keys[] = {"dbname", "connect_timeout", "fallback_application_name",
                                "client_encoding", nullptr};
    const char* const values[] = {address_.c_str(), timeout_s.c_str(), "spillway", "UTF8", nullptr};
    PostgresConnection::Handle connection(PQconnectdbParams(keys, values, 1));
    if (connection == nullptr || PQstatus(connection.get()) != CONNECTION_OK) {
      return std::unexpected(connection == nullptr ? StoreError("out of memory")
                                                   : one_line(PQerrorMessage(connection.get())));
    }
    return std::make_unique<PostgresConnection>(std::move(connection), settings_.patience);
  }

 private:
  std::string address_;
  std::string name_;
  StoreSettings settings_;
};

}  // namespace

StoreResult<std::unique_ptr<SqlDatabase>> postgres_database(const std::string& address,
                                                            StoreSettings settings) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(address.c_str(), &message));
  PQfreemem(message);  // It may quote a password.
  if (options == nullptr) {
    return std::unexpected(
        "no address that PostgreSQL's library understands: postgres://USER@HOST:"
        "PORT/DATABASE");
  }
  std::string host = "localhost";
  std::string port;
  std::string database;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const std::string value = option->val == nullptr ? "" : option->val;
    if (value.empty()) {
      continue;
    }
    if (keyword == "host" || keyword == "port" || keyword == "dbname") {
      (keyword == "host" ? host : keyword == "port" ? port : database) = value;
    }
  }
  std::string name = "postgres://" + host + (port.empty() ? "" : ":" + port) + "/" + database;
  return std::make_unique<PostgresDatabase>(address, std::move(name), settings);
}

}  // namespace spillway::adapters
