#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the specification (doc/protocol*.md) and the headers together: every kind, op, flag,
extension, field and constant of its tables must be in common/wire/ (flow.h for what each side may
choose), with that number, and the other way round; so must the messages of gammad. Each section
that the specification refers to exists. Started by `make check`, or by hand from anywhere."""

import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import check as check_one, end, read

PREFIX = "GAMMA_"
# Conveniences for programmers: no fact of the protocol that a table should name.
NOT_IN_TABLES = {
    "EXT_COUNT", "EXT_KNOWN", "FLAGS_KNOWN", "FRAGMENT_OFFSET_MASK",  # follow from others
    # In the table of addresses.
    "MAC_LEN", "IPV6_LEN", "EPOCH_ANY", "PORT_ANY", "ADDR_VERSION", "ADDR_VERSION_UDP",
    "ADDR_VERSION_UDP6", "ADDR_LEN",
}
WIDTH = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8}
# Extensions without a structure: a number each.
PLAIN = {"TAG": 8, "CQ_DATA": 8, "FRAGMENT": 8, "PAYLOAD_CRC": 4, "CUTS": 4}


def difference(documented, declared):
    if not (isinstance(documented, dict) and isinstance(declared, dict)):
        return ["document: %s" % documented, "header:   %s" % declared]
    return ["%s: the document says %s, the header %s"
            % (key, documented.get(key, "nothing"), declared.get(key, "nothing"))
            for key in sorted(set(documented) | set(declared), key=str)
            if documented.get(key) != declared.get(key)]


def check(what, documented, declared):
    wrong = documented != declared
    check_one(what, not wrong,
              "\n    ".join(["", *difference(documented, declared)]) if wrong else "")


# ---- the headers ----

class Header:
    """Enumerations, defines and packed structures of C text, by evaluating their expressions."""

    def __init__(self, *paths):
        self.values = {}
        self.enums = {}
        self.text = re.sub(r"/\*.*?\*/", "", "\n".join(map(read, paths)), flags=re.S)
        for name, value in re.findall(r"^#define (\w+) +(.+)$", self.text, flags=re.M):
            if not name.endswith("_H") and not value.startswith('"'):
                self.values[name] = self.evaluate(value)
        for tag, body in re.findall(r"enum (\w*) ?\{(.*?)\};", self.text, flags=re.S):
            self.add_enum(tag, body)

    def evaluate(self, expression):
        expression = re.sub(r"(?<=[0-9a-fA-F])[uUlL]+\b", "", expression)
        expression = re.sub(r"\b[A-Za-z_]\w*", lambda m: str(self.values[m.group()]), expression)
        # The header's own expressions: numbers and operators.
        # pylint: disable-next=eval-used
        return eval(" ".join(expression.replace("/", "//").split()), {"__builtins__": {}})

    def add_enum(self, tag, body):
        following = 0
        for item in filter(None, (part.strip() for part in body.split(","))):
            name, _, expression = item.partition("=")
            self.values[name.strip()] = self.evaluate(expression) if expression else following
            following = self.values[name.strip()] + 1
            self.enums.setdefault(tag, {})[name.strip()] = self.values[name.strip()]

    def enum(self, tag, prefix):
        return {name[len(prefix):]: value for name, value in self.enums[tag].items()}

    def layout(self, structure):
        """[(field, offset, bytes)]"""
        body = re.search(r"struct %s \{(.*?)\}(?: __attribute__\(\(packed\)\))?;" % structure,
                         self.text, flags=re.S).group(1)
        fields, offset = [], 0
        for width, name, count in re.findall(r"(uint\d+_t) (\w+)(?:\[(.*?)\])?;", body):
            size = WIDTH[width] * (self.evaluate(count) if count else 1)
            fields.append((name, offset, size))
            offset += size
        return fields


# ---- the document ----

def tables(text):
    """{heading: [rows of the tables below it]}; a row is a list of cells."""
    found, heading = {}, ""
    for line in text.split("\n"):
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not set(line) <= set("|- "):
                found.setdefault(heading, []).append(cells)
    return found


def rows_below(all_tables, words, first_cell):
    """Rows under the heading that contains words, of the table whose first column is first_cell."""
    for heading, rows in all_tables.items():
        if words in heading:
            starts = [i for i, row in enumerate(rows) if row[0] == first_cell]
            if starts:
                return rows[starts[0]:]
    sys.exit("doc/ has no table '%s' under '%s'" % (first_cell, words))


def table_below(all_tables, words, first_cell, third_cell):
    """The same, but one table only, that which has third_cell in its first row (None: any)."""
    rows = rows_below(all_tables, words, first_cell)
    starts = [i for i, row in enumerate(rows) if row[0] == first_cell] + [len(rows)]
    for begin, after in zip(starts, starts[1:]):
        if third_cell in (None, rows[begin][2]):
            return [row for row in rows[begin:after] if len(row) == len(rows[begin])]
    sys.exit("doc/ has no table '%s' under '%s'" % (third_cell, words))


def numbered(rows):
    return {row[1]: int(row[0], 0) for row in rows[1:]}


def documented_layout(rows):
    return [(row[2], int(row[0]), int(row[1])) for row in rows[1:]]


def op_names(rows):
    """{name: code} of the ops of other kinds; a name's kind must begin it, but for the shared."""
    return {row[2]: int(row[1]) for row in rows[1:]}


def declared_ops(header):
    ops = {}
    for tag in ("gamma_ack_op", "gamma_question_op", "gamma_probe_op", "gamma_lookup_op",
                "gamma_reset_op"):
        ops.update(header.enum(tag, PREFIX))
    return ops


def datatypes(rows):
    """A row may name several: their numbers and names in the same order."""
    return {name: int(number) for row in rows[1:]
            for number, name in zip(row[0].split(", "), row[1].split(", "))}


# ---- extensions ----

def documented_extensions(rows):
    out = {}
    for row in rows[1:]:
        fields = [field.rsplit(" ", 1) for field in row[3].split(", ")]
        out[row[1]] = (int(row[0]), int(row[2]), [(name, int(size)) for name, size in fields])
    return out


def check_extensions(header, documented):
    bits = {name: value.bit_length() - 1
            for name, value in header.enum("gamma_ext", "GAMMA_EXT_").items()
            if name not in ("COUNT", "KNOWN")}
    check("bits of extensions", {name: ext[0] for name, ext in documented.items()}, bits)
    check("their number", len(documented), header.values["GAMMA_EXT_COUNT"])
    in_order = [ext[1] for ext in sorted(documented.values())]
    lengths = re.search(r"#define GAMMA_EXT_ALL_LEN +\((.*)\)", header.text).group(1)
    check("lengths of extensions, in their order", in_order, list(map(int, lengths.split("+"))))
    for name, (_, length, fields) in documented.items():
        check("%s: fields add up to its length" % name, sum(size for _, size in fields), length)
        if name in PLAIN:
            check("%s: length" % name, length, PLAIN[name])
            continue
        declared = [(field, size) for field, _, size in
                    header.layout("gamma_ext_" + name.lower())]
        check("%s: layout" % name, fields, declared)


# ---- constants ----

def documented_constants(rows):
    return {row[0]: int(row[1], 0) for row in rows[1:]}


def tables_of_constants(rows):
    """The section has two: what both sides agree on, and what each may choose."""
    second = [i for i, row in enumerate(rows) if row[0] == "constant"][1]
    return documented_constants(rows[:second]), documented_constants(rows[second:])


def declared_constants(header):
    in_tables_of_their_own = set()
    for tag, members in header.enums.items():
        if tag:
            in_tables_of_their_own |= set(members)
    names = (name for name in header.values if name not in in_tables_of_their_own)
    return {name[len(PREFIX):]: header.values[name] for name in names
            if name[len(PREFIX):] not in NOT_IN_TABLES}


def check_constants(wire, flow, rows):
    shared, chosen = tables_of_constants(rows)
    check("constants both sides agree on", shared, declared_constants(wire))
    declared = {name[len(PREFIX):]: value for name, value in flow.items()}
    check("constants of the implementation", chosen, declared)


def check_segment():
    """What processes of one host must agree on."""
    found = tables(read("doc/protocol-shm.md"))

    def rows(words, first_cell, third_cell):
        return table_below(found, words, first_cell, third_cell)

    header = Header("common/wire/record.h", "common/wire/segment.h")
    for name, words in (("segment", "Segment"), ("record", "Segment"), ("handover", "Hand-over"),
                        ("announce", "Large messages"), ("answer", "Large messages"),
                        ("chunk", "Large messages"), ("more", "Large messages")):
        documented = rows(words, "offset", name)
        check(name, documented_layout(documented), header.layout("gamma_" + name))
    check("bytes on the pair", numbered(rows("Hand-over", "byte", None)),
          header.enum("gamma_handover_byte", "GAMMA_HANDOVER_"))
    check("kinds of records", numbered(rows("Segment", "value", None)),
          header.enum("gamma_record_kind", "GAMMA_RECORD_"))
    check("flags of inline shm messages",
          {name: 1 << bit for name, bit in numbered(rows("9.5", "bit", None)).items()},
          Header("common/wire/frame.h").enum("gamma_shm_message_flag", "GAMMA_SHM_MESSAGE_"))
    check("constants of segments", documented_constants(rows("9.4", "constant", None)),
          declared_constants(header))


def check_gammad():
    """gammad's messages: those of the table, apart from DONE's refusals, are all that there are."""
    text = read("doc/protocol-gammad.md")
    header = Header("common/wire/address.h", "common/broker/message.h")
    found = tables(text)
    requests = rows_below(found, "Messages", "request")[1:]
    names = {row[0].split(":")[0] for row in requests}
    for row in requests:
        names |= set(re.findall(r"\b[A-Z]{4,}\b", row[2])) - {"MAC", "EtherType"}
    types = set(header.enum("gamma_broker_type", "GAMMA_BROKER_"))
    check("messages of gammad", sorted(names), sorted(types))
    check("version of gammad's messages", int(re.search(r"`, version (\d+)\.", text).group(1)),
          header.values["GAMMA_BROKER_VERSION"])
    check("magic of gammad's messages", int(re.search(r"magic (0x\w+)", text).group(1), 16),
          header.values["GAMMA_BROKER_MAGIC"])
    wire = Header("common/wire/address.h", "common/wire/wire.h")
    check("a host", documented_layout(rows_below(found, "Addresses", "offset")),
          wire.layout("gamma_host"))
    check("gammad's socket", '"%s"' % re.search(r"SEQPACKET at `(.*?)`", text).group(1),
          re.search(r'GAMMA_BROKER_PATH +(".*?")', header.text).group(1))


def check_references():
    """Sections named in parentheses, after a colon in a table, or as "section 9"."""
    texts = {path: read("doc/%s.md" % path) for path in
             ("protocol", "protocol-slow-port", "protocol-shm", "protocol-gammad")}
    sections = {number for text in texts.values()
                for number in re.findall(r"^#* ?(\d+(?:\.\d+)?) ", text, flags=re.M)}
    for path, text in texts.items():
        named = set(re.findall(r"\((\d+\.\d)\)|: (\d+\.\d)(?= \||,|;)", text))
        named |= {(number, "") for number in re.findall(r"[Ss]ections? (\d+(?:\.\d)?)", text)}
        for number in sorted({first or second for first, second in named} - sections):
            check("doc/%s.md refers to section %s" % (path, number), "missing", "there")


def flow_constants():
    """The first enumeration of flow.h, which is the implementation's constants."""
    text = re.sub(r"/\*.*?\*/", "", read("common/flow/flow.h"), flags=re.S)
    body = re.search(r"enum \{(.*?)\};", text, flags=re.S).group(1)
    return {name: int(value, 0) for name, value in re.findall(r"(\w+) = (\w+)", body)}


def main():
    wire = Header("common/wire/address.h", "common/wire/wire.h")
    found = tables(read("doc/protocol.md"))

    def rows(words, first_cell):
        return rows_below(found, words, first_cell)

    check("base header", documented_layout(rows("Base header", "offset")),
          wire.layout("gamma_header"))
    check("address", documented_layout(rows("Addresses", "offset")), wire.layout("gamma_addr"))
    check("batch item", documented_layout(rows("Messages", "offset")),
          wire.layout("gamma_batch_item"))
    check("kinds", numbered(rows("Kinds", "kind")), wire.enum("gamma_kind", "GAMMA_KIND_"))
    check("operations of DATA", numbered(rows("Operations of DATA", "op")),
          wire.enum("gamma_op", "GAMMA_OP_"))
    check("causes of refusal", numbered(rows("Remote memory", "cause")),
          wire.enum("gamma_refusal", "GAMMA_REFUSED_"))
    check("operations of other kinds", op_names(rows("Operations of other kinds", "kind")),
          declared_ops(wire))
    check("types of atomics", datatypes(rows("Types of atomics", "datatype")),
          wire.enum("gamma_datatype", PREFIX))
    check("operations of atomics", numbered(rows("Operations of atomics", "atomic")),
          wire.enum("gamma_atomic_op", "GAMMA_ATOMIC_"))
    check("flags", {name: 1 << bit for name, bit in numbered(rows("Flags", "bit")).items()},
          wire.enum("gamma_flag", "GAMMA_FLAG_"))
    check_extensions(wire, documented_extensions(rows("Extensions", "bit")))
    check_segment()
    check_gammad()
    check_references()
    check_constants(wire, flow_constants(), rows("Constants", "constant"))
    return end()


if __name__ == "__main__":
    sys.exit(main())
