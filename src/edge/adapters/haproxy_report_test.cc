#include "adapters/haproxy_report.h"

#include <string>

#include <gtest/gtest.h>

namespace spillway::adapters {
namespace {

TEST(HaproxyReport, ColumnsAreFoundByNameInAnyOrder) {
  const auto stats = parse_haproxy_stats(
      "# "
      "svname,new_column,pxname,lbtot,weight,status,type,agent_status,uweight,addr,scur,last_agt\n"
      "b1,7,ex,42,80,UP,2,* L7TOUT,90,10.0.0.1:80,3,\"a, \"\"b\"\"\nand more\"\n"
      "BACKEND,,ex,42,80,UP,1,,,,,\n");
  ASSERT_TRUE(stats) << stats.error();
  ASSERT_EQ(stats->servers.size(), 1U);
  const HaproxyServerStat& server = stats->servers[0];
  EXPECT_EQ(server.backend, "ex");
  EXPECT_EQ(server.server, "b1");
  EXPECT_EQ(server.picked, 42U);
  EXPECT_EQ(server.weight, 80U);
  EXPECT_EQ(server.user_weight, 90U);
  EXPECT_EQ(server.sessions, 3U);
  EXPECT_EQ(server.agent_status, "L7TOUT");
  EXPECT_EQ(server.last_agent, "a, \"b\"\nand more");
  EXPECT_EQ(server.throttle_percent, 100U);
  EXPECT_EQ(stats->backends.size(), 1U);
}

TEST(HaproxyReport, SaysWhatAnAnswerLacks) {
  EXPECT_EQ(parse_haproxy_stats("Permission denied").error(),
            "show stat: no header line but \"Permission denied\"");
  EXPECT_EQ(parse_haproxy_stats("# pxname,svname,type,status,weight\n").error(),
            "show stat: no column lbtot");
  EXPECT_EQ(parse_haproxy_states("2\n# be_name\n").error(),
            "show servers state: not version 1 but \"2\"");
  EXPECT_EQ(parse_haproxy_states("1\nbe_name\n").error(), "show servers state: no header line");
  EXPECT_EQ(
      parse_haproxy_states("1\n# be_name srv_name srv_addr srv_admin_state srv_uweight\n").error(),
      "show servers state: no column srv_iweight");
  EXPECT_FALSE(parse_haproxy_info("Name: HAProxy\n"));
}

TEST(HaproxyReport, BytesFromTheWireNeverBreakAReader) {
  for (const std::string& text :
       {std::string(), std::string("# "),
        std::string("# pxname,svname,type,status,weight,lbtot\n\"\n"),
        std::string("# pxname,svname,type,status,weight,lbtot\n,,2"),
        std::string("# pxname,svname,type,status,weight,lbtot\na,b,2,UP,99999999999999999999,-1\n"),
        std::string(
            "1\n# be_name srv_name srv_addr srv_admin_state srv_uweight srv_iweight\nx\n\n")}) {
    (void)parse_haproxy_stats(text);
    (void)parse_haproxy_states(text);
    (void)parse_haproxy_info(text);
  }
  const auto stats = parse_haproxy_stats(
      "# pxname,svname,type,status,weight,lbtot\na,b,2,UP,99999999999999999999,-1\n");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->servers[0].weight, 0U);
}

TEST(HaproxyReport, AnAgentThatSaysNoIsNotSilent) {
  EXPECT_FALSE(is_agent_silent("L7STS"));
  EXPECT_FALSE(is_agent_silent("L7OK"));
  EXPECT_FALSE(is_agent_silent("INI"));
  EXPECT_FALSE(is_agent_silent(""));
  for (const char* silent : {"L4CON", "L4TOUT", "L7TOUT", "L7RSP", "SOCKERR"}) {
    EXPECT_TRUE(is_agent_silent(silent)) << silent;
  }
}

}  // namespace
}  // namespace spillway::adapters
