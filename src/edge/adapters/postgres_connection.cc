#include "adapters/postgres_connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <libpq-fe.h>
#include <poll.h>
#include <postgres_ext.h>

#include "adapters/catalog_cells.h"
#include "adapters/catalog_source.h"
#include "adapters/catalog_tables.h"

namespace spillway::adapters {

namespace {

using Clock = std::chrono::steady_clock;

// Of the server's catalog pg_type: stable by contract.
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kFloat8 = 701;

// Any number that nobody else uses for an advisory lock.
constexpr std::string_view kWriteLock = "SELECT pg_advisory_xact_lock(7305804402566)";

Cell cell_of(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) {
    return {};
  }
  const std::string_view text(PQgetvalue(result, row, column),
                              static_cast<size_t>(PQgetlength(result, row, column)));
  switch (PQftype(result, column)) {
    case kInt2:
    case kInt4:
    case kInt8: {
      return cells::whole_number(Cell(std::string(text))).value_or(0);
    }
    case kFloat8: {
      double value = 0;
      (void)cells::read(Cell(std::string(text)), value);
      return value;
    }
    default:
      return std::string(text);
  }
}

/// A cell as COPY's text format has it.
void append_copied(std::string& out, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) {
    out += "\\N";
    return;
  }
  for (const char byte : cells::text_of(cell)) {
    switch (byte) {
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += byte;
    }
  }
}

}  // namespace

std::string one_line(std::string_view message) {
  std::string out;
  for (const char byte : message) {
    const bool blank = byte == '\n' || byte == '\t' || byte == ' ';
    if (!blank) {
      out += byte;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) {
    out.pop_back();
  }
  return out.starts_with("ERROR: ") ? out.substr(std::string_view("ERROR: ").size()) : out;
}

PostgresConnection::PostgresConnection(Handle connection, std::chrono::milliseconds patience)
    : connection_(std::move(connection)), patience_(patience) {
  PQsetnonblocking(connection_.get(), 1);
  PQsetNoticeProcessor(connection_.get(), [](void* /*context*/, const char* /*text*/) {}, nullptr);
}

std::unexpected<StoreError> PostgresConnection::failure() const {
  return std::unexpected(one_line(PQerrorMessage(connection_.get())));
}

StoreResult<void> PostgresConnection::wait(short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry{.fd = PQsocket(connection_.get()), .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max<int64_t>(0, left)));
    if (ready > 0) {
      return {};
    }
    if (ready == 0) {
      return std::unexpected("no answer for " + std::to_string(patience_.count()) + " ms");
    }
    if (errno != EINTR) {
      return std::unexpected(std::generic_category().message(errno));
    }
  }
}

StoreResult<void> PostgresConnection::flush() {
  const auto until = Clock::now() + patience_;
  for (int left = PQflush(connection_.get()); left != 0; left = PQflush(connection_.get())) {
    if (left < 0) {
      return failure();
    }
    if (auto ready = wait(POLLIN | POLLOUT, until); !ready) {
      return ready;
    }
    if (PQconsumeInput(connection_.get()) == 0) {
      return failure();
    }
  }
  return {};
}

/// The next result; a null one when the statement has no more.
StoreResult<PostgresConnection::Answer> PostgresConnection::next_result() {
  const auto until = Clock::now() + patience_;
  while (PQisBusy(connection_.get()) != 0) {
    if (auto ready = wait(POLLIN, until); !ready) {
      return std::unexpected(ready.error());
    }
    if (PQconsumeInput(connection_.get()) == 0) {
      return failure();
    }
  }
  return Answer(PQgetResult(connection_.get()));
}

/// The last result of a statement, or the first error in it.
StoreResult<PostgresConnection::Answer> PostgresConnection::answer() {
  Answer last;
  for (;;) {
    auto result = next_result();
    if (!result) {
      return result;
    }
    if (*result == nullptr) {
      return last == nullptr ? failure() : StoreResult<Answer>(std::move(last));
    }
    const ExecStatusType status = PQresultStatus(result->get());
    if (status == PGRES_COPY_IN) {
      return result;
    }
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      return std::unexpected(one_line(PQresultErrorMessage(result->get())));
    }
    last = std::move(*result);
  }
}

StoreResult<PostgresConnection::Answer> PostgresConnection::ask(const std::string& sql) {
  if (PQsendQuery(connection_.get(), sql.c_str()) == 0) {
    return failure();
  }
  if (auto sent = flush(); !sent) {
    return std::unexpected(sent.error());
  }
  return answer();
}

StoreResult<void> PostgresConnection::execute(const std::string& sql) {
  auto result = ask(sql);
  return result ? StoreResult<void>() : std::unexpected(result.error());
}

StoreResult<void> PostgresConnection::begin_read() {
  return execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

StoreResult<void> PostgresConnection::begin_write() {
  auto begun = execute("BEGIN");
  return begun ? execute(std::string(kWriteLock)) : begun;
}

StoreResult<void> PostgresConnection::query(const std::string& sql, const OnRow& on_row) {
  if (auto declared = execute("DECLARE reading NO SCROLL CURSOR FOR " + sql); !declared) {
    return declared;
  }
  std::vector<Cell> cells;
  for (;;) {
    const auto rows = ask("FETCH FORWARD 5000 FROM reading");
    if (!rows) {
      return std::unexpected(rows.error());
    }
    const int count = PQntuples(rows->get());
    if (count == 0) {
      return execute("CLOSE reading");
    }
    cells.resize(static_cast<size_t>(PQnfields(rows->get())));
    for (int row = 0; row < count; ++row) {
      for (size_t i = 0; i < cells.size(); ++i) {
        cells[i] = cell_of(rows->get(), row, static_cast<int>(i));
      }
      if (std::string problem = on_row(cells); !problem.empty()) {
        return std::unexpected(std::move(problem));
      }
    }
  }
}

/// Sends rows in COPY's text format, many in one message.
StoreResult<void> PostgresConnection::send_rows(const Produce& produce) {
  constexpr size_t kMessage = size_t{64} * 1024;
  StoreResult<void> result;
  std::string buffer;
  const auto send = [&] {
    // In non-blocking mode it takes nothing while what it holds is not sent: hence the flush.
    const int taken = !result || buffer.empty() ? 1
                                                : PQputCopyData(connection_.get(), buffer.data(),
                                                                static_cast<int>(buffer.size()));
    if (taken <= 0) {
      result = failure();
    } else if (result) {
      result = flush();
    }
    buffer.clear();
  };
  produce([&](std::span<const Cell> cells) {
    const char* separator = "";
    for (const Cell& cell : cells) {
      buffer += std::exchange(separator, "\t");
      append_copied(buffer, cell);
    }
    buffer += '\n';
    if (buffer.size() >= kMessage) {
      send();
    }
  });
  send();
  return result;
}

StoreResult<void> PostgresConnection::insert(const std::string& table, const std::string& columns,
                                             size_t /*column_count*/, const Produce& produce) {
  const auto opened = ask("COPY " + table + " (" + columns + ") FROM STDIN");
  if (!opened) {
    return std::unexpected(opened.error());
  }
  if (auto sent = send_rows(produce); !sent) {
    return sent;
  }
  if (PQputCopyEnd(connection_.get(), nullptr) <= 0) {
    return failure();
  }
  if (auto sent = flush(); !sent) {
    return sent;
  }
  auto done = answer();
  return done ? StoreResult<void>() : std::unexpected(done.error());
}

StoreResult<bool> PostgresConnection::has_table(std::string_view name) {
  const auto rows = ask("SELECT to_regclass('" + std::string(name) + "') IS NOT NULL");
  if (!rows) {
    return std::unexpected(rows.error());
  }
  return PQntuples(rows->get()) == 1 && std::string_view(PQgetvalue(rows->get(), 0, 0)) == "t";
}

}  // namespace spillway::adapters
