#include "net/http.h"

#include <string_view>

#include <gtest/gtest.h>

namespace spillway::net {
namespace {

TEST(HttpRequest, FindsPathAndQueryInEveryFormOfATarget) {
  struct Row {
    std::string_view target, path, query;
  };

  for (const auto& [target, path, query] : {Row{"/a?b=1", "/a", "b=1"},
                                            {"/a", "/a", ""},
                                            {"/?x", "/", "x"},
                                            {"http://x/openrtb2/auction", "/openrtb2/auction", ""},
                                            {"HTTP://x:80/a/b?c=http://y/", "/a/b", "c=http://y/"},
                                            {"https://x/a", "/a", ""},
                                            {"http://x", "/", ""},
                                            {"http://x?q=/a", "/", "q=/a"},
                                            {"http://", "/", ""},
                                            {"/http://x/a", "/http://x/a", ""},
                                            {"*", "*", ""},
                                            {"x:80", "x:80", ""}}) {
    Request request;
    request.target = target;
    EXPECT_EQ(request.path(), path) << target;
    EXPECT_EQ(request.query(), query) << target;
  }
}

}  // namespace
}  // namespace spillway::net
