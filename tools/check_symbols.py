#!/usr/bin/env python3
"""Fails when a library of src/core/ needs a clock, thread, socket, file or random device, or holds a mutable global.

    python3 tools/check_symbols.py LIBRARY...

The same rules as tools/check_layers.py, for what text cannot show: here the compiler and linker speak, through `nm` and
`objdump`. NM and OBJDUMP in the environment name other programs. Stdlib only.
"""
import os
import re
import subprocess
import sys

BANNED = re.compile(
    r"::now\(\)|std::(random_device|thread|jthread|this_thread|mutex|shared_mutex|condition_variable|async)\b"
    r"|std::basic_(filebuf|[io]?fstream)|std::filesystem|std::(cout|cerr|clog)\b|spdlog"
    r"|^(pthread_\w+|socket|connect|bind|listen|accept4?|send\w*|recv\w*|epoll_\w+|poll|select|open(at|64)?|fopen(64)?"
    r"|read|write|printf|puts|putchar|fprintf|fputs|fwrite|clock_gettime|gettimeofday|time|clock|usleep|nanosleep|sleep"
    r"|s?rand|random|getrandom|arc4random|(secure_)?getenv|system|fork|execv\w*)$")
# Where a program's own variables live; constants are elsewhere, those that need relocation in .data.rel.ro.
# (GCC puts a constexpr table of some types into .data.rel all the same; those have a constant's name, as lint wants.)
MUTABLE = re.compile(r"\sO\s+\.(?:bss|data|tbss|tdata)(?!\.rel\.ro)\S*\s+[0-9a-f]+\s+(?:\.hidden )?(.*spillway::.*)$")


def output(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


def problems(library):
    symbols = output(os.environ.get("NM", "nm"), "-C", library)
    if not any(re.search(r" T ", line) for line in symbols):
        yield "has no code at all: the check looked at nothing"
    for line in symbols:
        kind, _, name = line.strip().partition(" ")
        name = name.split("@")[0]
        if kind in {"U", "w"} and BANNED.search(name):
            yield f"needs {name}"
    for line in output(os.environ.get("OBJDUMP", "objdump"), "-tC", library):
        match = MUTABLE.search(line)
        if match and not re.search(r"guard variable|::k[A-Z]\w*$", match[1]):
            yield f"holds a mutable global: {match[1]}"


def main():
    libraries = sys.argv[1:]
    found = [f"{library}: {what}" for library in libraries for what in sorted(set(problems(library)))]
    print("\n".join(found) or f"symbols ok: {len(libraries)} libraries")
    return bool(found) or not libraries


sys.exit(main())
