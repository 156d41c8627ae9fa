#!/usr/bin/env python3
"""The repository's own checks see what they are for. Arguments: the impure sample's library, then unittest's."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
IMPURE_LIBRARY = sys.argv.pop(1)


def run(tool, *arguments):
    done = subprocess.run([sys.executable, TOOLS / tool, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout


class Layers(unittest.TestCase):
    def check(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return run("check_layers.py", root)

    def test_accepts_what_the_table_allows(self):
        for path, text in {
            "src/core/exchange/a.cc": '#include "base/time.h"\n#include "openrtb/walk.h"\n',
            "src/core/exchange/a_test.cc": "#include <thread>\n",
            "src/edge/net/a.cc": "#include <sys/socket.h>\n",
            "src/app/config/a.cc": '#include "app/config/a.h"\n#include "net/server.h"\n',
            "bench/a.cc": '#include "net/server.h"\n#include "exchange/auction.h"\n',
            "src/core/base/a.cc": "// std::rand is not used\n",
        }.items():
            with self.subTest(path=path, text=text):
                self.assertEqual(self.check(path, text), (0, "layers ok: 1 files\n"))

    def test_refuses_what_it_forbids(self):
        for path, text in {
            "src/core/base/a.cc": '#include "openrtb/walk.h"\n',
            "src/core/resilience/a.cc": '#include "net/server.h"\n',
            "src/edge/net/a.cc": '#include "resilience/guard.h"\n',
            "src/edge/observe/a.cc": '#include "app/config/a.h"\n',
            "src/core/net/a.cc": "\n",
            "src/core/utils/a.cc": "\n",
            "src/core/base/b.cc": "#include <thread>\n",
            "src/core/base/c.cc": "auto now = std::chrono::steady_clock::now();\n",
            "src/core/base/d.cc": "std::mt19937_64 random;\n",
            "src/core/base/e.cc": 'auto url = "https://x.example"; std::rand();\n',
            "src/core/base/f.hpp": "\n",
            "tests/a.cc": '#include "../src/core/base/time.h"\n',
            "bench/b.cc": '#include "core/base/time.h"\n',
            "fuzz/a.cc": '#include "time.h"\n',
            "src/edge/net/b.cc": "co_await write(socket, {.bytes = 3});\n",
        }.items():
            with self.subTest(path=path, text=text):
                code, said = self.check(path, text)
                self.assertEqual(code, 1)
                self.assertIn(path, said)

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(run("check_layers.py", root)[0], 1)


class Symbols(unittest.TestCase):
    def test_sees_clock_thread_random_device_and_global(self):
        code, said = run("check_symbols.py", IMPURE_LIBRARY)
        self.assertEqual(code, 1)
        for sign in ("steady_clock::now()", "std::thread", "std::random_device", "mutable global: spillway::impure::calls"):
            self.assertIn(sign, said)

    def test_no_library_is_no_success(self):
        self.assertEqual(run("check_symbols.py")[0], 1)


unittest.main()
