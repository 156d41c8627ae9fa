#pragma once

#include <string>
#include <string_view>

#include "app/agent/agent_config.h"
#include "app/config/reader.h"
#include "app/config/url.h"
#include "capacity/law_settings.h"

// The parts that an agent's configuration is read in.
namespace spillway::app::agent {

/// The section `law`; docs/balancing.md says what each key is for.
void read_law(ConfigReader reader, capacity::LawSettings& out);

/// Whom samples are exchanged with and where this server is announced: the sections `peers`,
/// `redis` and `registry`. The section `agent` was read before.
void read_sharing(ConfigReader& root, AgentConfig& out);

/// Says what is wrong with an address to listen on.
void check_listen(ConfigReader& reader, std::string_view key, const std::string& value,
                  bool loopback_only);

/// The parts of an http URL; false, and said, when it is none.
bool read_url(ConfigReader& reader, std::string_view key, const std::string& url, HttpUrl& out);

}  // namespace spillway::app::agent
