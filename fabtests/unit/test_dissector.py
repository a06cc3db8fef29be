#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds contrib/wireshark/gamma.lua and the headers together: every kind, op, flag, extension with
its fields, datatype, atomic operation, refusal and constant of common/wire/ is in the dissector,
with that number, and the other way round. Where there is a Lua, it reads the file. Started by `make
check`, or by hand from anywhere."""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from test_protocol_doc import PLAIN, Header, check
from tree import TOP, check as check_one, end, read

LUA = "contrib/wireshark/gamma.lua"


def table(text, name):
    """What stands between the braces of `local NAME = {...}` or `NAME = {...}`."""
    start = re.search(r"^\s*(?:local )?%s = \{" % name, text, flags=re.M).end()
    depth, at = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def numbered(body):
    return {name: int(number) for number, name in re.findall(r'\[(\d+)\] = "(\w+)"', body)}


def named(body):
    return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", body)}


def extensions(body):
    """{name: (bit, bytes, [(field, bytes)])}"""
    return {name: (int(bit), int(size),
                   [(field, int(width)) for field, width in
                    re.findall(r'\{ "(\w+)", (\d+) \}', rest)])
            for bit, name, size, rest in
            re.findall(r'\[(\d+)\] = \{ "(\w+)", (\d+), (\{.*\}) \},', body)}


def declared_extensions(wire):
    found = {}
    for name, value in wire.enum("gamma_ext", "GAMMA_EXT_").items():
        if name in PLAIN:
            fields = [(None, PLAIN[name])]
        else:
            fields = [(field, size) for field, _, size in
                      wire.layout("gamma_ext_" + name.lower())]
        found[name] = (value.bit_length() - 1, sum(size for _, size in fields), fields)
    return found


def check_extensions(wire, lua):
    shown = extensions(table(lua, "EXTENSIONS"))
    for name in PLAIN:  # a number without a structure: its name is free
        if name in shown:
            bit, size, fields = shown[name]
            shown[name] = (bit, size, [(None, width) for _, width in fields])
    check("extensions", shown, declared_extensions(wire))


def check_ops(wire, lua):
    body = table(lua, "OPS")
    for kind, enum, prefix in (("DATA", "gamma_op", "GAMMA_OP_"),
                               ("ACK", "gamma_ack_op", "GAMMA_ACK_"),
                               ("RECLAIM", "gamma_question_op", "GAMMA_"),
                               ("BYE", "gamma_question_op", "GAMMA_"),
                               ("PROBE", "gamma_probe_op", "GAMMA_PROBE_"),
                               ("LOOKUP", "gamma_lookup_op", "GAMMA_LOOKUP_"),
                               ("RESET", "gamma_reset_op", "GAMMA_RESET_")):
        check("operations of " + kind, numbered(table(body, kind)), wire.enum(enum, prefix))


def check_items(lua):
    """Which extensions an item of a BATCH always has stands in codec.c."""
    code = read("common/wire/codec.c")
    declared = {op: sorted(re.findall(r"GAMMA_EXT_(\w+)", rest)) for op, rest in
                re.findall(r"\[GAMMA_OP_(\w+)\] = ITEM\(\d+, (.*)\),", code)}
    shown = {op: sorted(re.findall(r'"(\w+)"', rest)) for op, rest in
             re.findall(r"(\w+) = \{(.*)\},", table(lua, "ITEMS"))}
    check("items of a batch", shown, declared)


def check_constants(wire, lua):
    for name in ("VERSION", "ETHERTYPE", "HEADER_LEN", "FIRST_CREDIT", "WINDOW_MAX", "ADDRESS_LEN",
                 "RAILS_MAX"):
        value = re.search(r"^local %s = (\w+)" % name, lua, flags=re.M).group(1)
        check(name, int(value, 0), wire.values["GAMMA_" + name.replace("ADDRESS", "ADDR")])


def check_active_port(wire, lua):
    """A tag is a number of 64 bits, the highest byte first."""
    shift = {"port": wire.values["GAMMA_PORT_TAG_PORT_SHIFT"],
             "head_len": wire.values["GAMMA_PORT_TAG_HEAD_SHIFT"], "arg": 0}
    size = {"port": 2, "head_len": 1, "arg": 4}
    check("tag of an active port", named(table(lua, "ACTIVE_PORT")),
          {field: 8 - size[field] - at // 8 for field, at in shift.items()})


def check_rails(wire, lua):
    head = wire.layout("gamma_rails_list")
    entry = sum(size for _, _, size in wire.layout("gamma_rail_entry"))
    check("RAILS", named(table(lua, "RAILS")),
          {**{field: offset for field, offset, _ in head}, "rails": sum(part[2] for part in head)})
    check("RAIL_LEN", re.search(r"^local RAIL_LEN = (\d+)", lua, flags=re.M).group(1), str(entry))


def check_syntax():
    for compiler in ("luac5.2", "luac5.4", "luac"):
        if shutil.which(compiler):
            said = subprocess.run([compiler, "-p", os.path.join(TOP, LUA)], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            check_one(compiler, said.returncode == 0, said.stdout)


def main():
    wire = Header("common/wire/address.h", "common/wire/wire.h")
    lua = read(LUA)
    check("kinds", numbered(table(lua, "KINDS")), wire.enum("gamma_kind", "GAMMA_KIND_"))
    check("flags", {name: 1 << bit for name, bit in numbered(table(lua, "FLAGS")).items()},
          wire.enum("gamma_flag", "GAMMA_FLAG_"))
    check("causes of refusal", numbered(table(lua, "REFUSALS")),
          wire.enum("gamma_refusal", "GAMMA_REFUSED_"))
    check("datatypes", numbered(table(lua, "DATATYPES")), wire.enum("gamma_datatype", "GAMMA_"))
    check("atomic operations", numbered(table(lua, "ATOMIC_OPS")),
          wire.enum("gamma_atomic_op", "GAMMA_ATOMIC_"))
    for name, structure in (("HEADER", "gamma_header"), ("ADDRESS", "gamma_addr"),
                            ("HOST", "gamma_host")):
        check(name, named(table(lua, name)),
              {field: offset for field, offset, _ in wire.layout(structure)})
    check_rails(wire, lua)
    check_ops(wire, lua)
    check_extensions(wire, lua)
    check_items(lua)
    check_constants(wire, lua)
    check_active_port(wire, lua)
    check_syntax()
    return end()


if __name__ == "__main__":
    sys.exit(main())
