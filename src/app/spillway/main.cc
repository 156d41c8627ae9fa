// Finds libexec/spillway-<part> beside itself and becomes it. Compiled for any x86-64, so that the
// check of the processor runs on one that the parts would crash on.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "app/config/nearest_name.h"
#include "app/processor/processor.h"

namespace {

constexpr int kUsage = 2;

struct Part {
  std::string_view name;
  std::string_view what;
};

constexpr std::array kParts{
    Part{"agent", "answer HAProxy with the weight that keeps this server as full as its zone"},
    Part{"balance", "say what a law of balancing would have made of a recorded load"},
    Part{"balancer",
         "beside HAProxy: servers of a registry, watched weights, proof of their effect, lint"},
    Part{"bidder", "run a bidder: bid requests in, bids of a catalog of campaigns out"},
    Part{"catalog", "read, check, write and make the bidder's catalogs"},
    Part{"demo", "watch an exchange, five DSPs and load; one DSP turns slow and comes back"},
    Part{"dsp", "a farm of fake DSPs that misbehave on order"},
    Part{"exchange", "run the ad exchange: OpenRTB auctions that always answer"},
    Part{"explain", "say why each DSP of a recorded auction was asked, won or lost"},
    Part{"load", "send bid requests at a fixed rate and report latencies"},
    Part{"model", "check, evaluate and make the models that the bidder scores with"},
    Part{"replay", "run recorded auctions again and compare every answer"},
    Part{"scenario", "run a bad day with real programs, and compare it with what is expected"},
    Part{"stages", "say where a bidder's time goes: calls, mean and share of each stage"},
    Part{"trace", "run a sequence of events through a circuit breaker or a limiter"},
};

std::filesystem::path libexec() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "libexec";
}

// The known parts and whatever else lies in libexec.
std::vector<Part> installed(std::vector<std::string>& names) {
  std::error_code error;
  constexpr std::string_view kPrefix = "spillway-";
  for (const auto& entry : std::filesystem::directory_iterator(libexec(), error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) {
      names.push_back(name.substr(kPrefix.size()));
    }
  }
  std::ranges::sort(names);
  std::vector<Part> parts;
  for (const auto& name : names) {
    const auto* known = std::ranges::find(kParts, std::string_view(name), &Part::name);
    parts.push_back({name, known == kParts.end() ? std::string_view{} : known->what});
  }
  return parts;
}

void print_help(std::FILE* out) {
  std::vector<std::string> names;
  std::fputs(
      "Spillway: a real-time-bidding stack that keeps serving when its partners don't.\n\n"
      "usage: spillway <part> [options]      spillway <part> --help\n\nparts:\n",
      out);
  for (const auto& part : installed(names)) {
    std::fprintf(out, "  %-12.*s %.*s\n", static_cast<int>(part.name.size()), part.name.data(),
                 static_cast<int>(part.what.size()), part.what.data());
  }
  std::fputs(
      "\nexamples:\n"
      "  spillway exchange --config exchange.yaml --check-config\n"
      "  spillway exchange --config exchange.yaml\n"
      "  spillway replay auctions.log\n",
      out);
}

int refuse_part(std::string_view name) {
  std::fprintf(stderr, "spillway: there is no part \"%.*s\"", static_cast<int>(name.size()),
               name.data());
  std::vector<std::string> names;
  std::string near;
  for (const auto& part : installed(names)) {
    if (spillway::app::edit_distance(name, part.name) <= spillway::app::near_distance(name) ||
        (name.size() >= 2 && part.name.starts_with(name))) {
      near += (near.empty() ? "" : ", ") + std::string(part.name);
    }
  }
  std::fprintf(stderr, near.empty() ? "; spillway --help lists them%s\n" : "; near: %s\n",
               near.c_str());
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    print_help(stderr);
    return kUsage;
  }
  std::string_view name = argv[1];
  if (name == "--version") {
    std::puts("spillway " SPILLWAY_VERSION);
    return EXIT_SUCCESS;
  }
  static char help[] = "--help";
  std::vector<char*> arguments(argv + 1, argv + argc);
  if (name == "--help" || name == "-h" || name == "help") {
    if (argc < 3) {
      print_help(stdout);
      return EXIT_SUCCESS;
    }
    name = argv[2];
    arguments = {argv[2], help};
  }
  if (!spillway::app::processor_fits()) {
    std::fputs(spillway::app::processor_refusal(), stderr);
    return EXIT_FAILURE;
  }
  const bool plain =
      !name.empty() &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos &&
      name[0] != '-';
  const auto program = (libexec() / ("spillway-" + std::string(name))).string();
  if (!plain || ::access(program.c_str(), F_OK) != 0) {
    return refuse_part(name);
  }
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  std::fprintf(stderr, "spillway: cannot run %s: %s\n", program.c_str(),
               std::generic_category().message(errno).c_str());
  return EXIT_FAILURE;
}
