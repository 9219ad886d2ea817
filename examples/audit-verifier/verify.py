#!/usr/bin/env python3
"""Verifies an export of Castellan's audit log with evidence, without Castellan: docs/evidence.md is all that it knows.

    python3 verify.py export.ndjson [--heads FILE]... [--key KEY]...

Exit codes: 0 whole, 1 altered, 2 wrong use or no export, 3 incomplete. It needs nothing but Python 3.8, and keeps no entry in memory.
"""
import argparse
import base64
import hashlib
import json
import sys
from datetime import datetime, timedelta

LEAF_MEMBERS = (
    "id", "position", "timestamp", "action", "actor_type", "actor_id", "acted_by_id",
    "resource_type", "resource_id", "details", "personal_hash",
)
ENTRY_MEMBERS = {"line", "seal", "personal", "salt", *LEAF_MEMBERS}
UNSEALED_FOR = timedelta(minutes=1)
# A position is void after an hour. The clocks of instances may differ.
OPEN_FOR = timedelta(hours=2)


class Altered(Exception):
    """What was read is not what was sealed."""


class Unreadable(Exception):
    """What was read is no export, no head or no key."""


# Canonical JSON (RFC 8785).

def canonical(value):
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        value.encode("utf-8")  # a lone surrogate is an error
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return number(float(value))
    if isinstance(value, list):
        return "[" + ",".join(canonical(one) for one in value) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"


def number(value):
    """Writes a number as ECMAScript does. repr has the same digits, but other exponents."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("not a finite number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = f"{abs(value)!r}", 0
    if "e" in digits:
        digits, power = digits.split("e")
        exponent = int(power)
    whole, _, fraction = digits.partition(".")
    point = len(whole) + exponent
    figures = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(figures)
    figures = figures.rstrip("0")
    count = len(figures)
    if count <= point <= 21:
        text = figures + "0" * (point - count)
    elif 0 < point <= 21:
        text = figures[:point] + "." + figures[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + figures
    else:
        power = point - 1
        mantissa = figures[0] + ("." + figures[1:] if count > 1 else "")
        text = f"{mantissa}e{'+' if power >= 0 else '-'}{abs(power)}"
    return sign + text


# Hash trees (RFC 6962, 2.1).

def sha256(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def leaf_hash(content):
    return sha256(b"\x00", content.encode("utf-8"))


def node_hash(left, right):
    return sha256(b"\x01", left, right)


class Tree:
    """A tree that grows. It keeps one hash for each power of two in its size."""

    def __init__(self):
        self.size = 0
        self.hashes = []

    def append(self, leaf):
        index, node = self.size, leaf
        while index % 2 == 1:
            node = node_hash(self.hashes.pop(), node)
            index //= 2
        self.hashes.append(node)
        self.size += 1

    def root(self):
        if not self.hashes:
            return sha256()
        node = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            node = node_hash(left, node)
        return node


# Ed25519 signatures (RFC 8032, 5.1.7).

P = 2 ** 255 - 19
ORDER = 2 ** 252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def add_points(one, other):
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(factor, point):
    result = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            result = add_points(result, point)
        point = add_points(point, point)
        factor >>= 1
    return result


def read_point(data):
    y = int.from_bytes(data, "little")
    is_odd, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and is_odd):
        return None
    if x % 2 != is_odd:
        x = P - x
    return x, y, 1, x * y % P


BASE = read_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signature(key, text, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    public, nonce = read_point(key), read_point(signature[:32])
    factor = int.from_bytes(signature[32:], "little")
    if public is None or nonce is None or factor >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % ORDER
    left, right = multiply(factor, BASE), add_points(nonce, multiply(challenge, public))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# Signed notes (c2sp.org/signed-note) and checkpoints (c2sp.org/tlog-checkpoint).

def base64_bytes(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Unreadable("not base64: " + text[:80])
    if base64.b64encode(data).decode() != text:
        raise Unreadable("not base64: " + text[:80])
    return data


def key_hash(name, key):
    return sha256(name.encode("utf-8"), b"\n\x01", key)[:4]


def read_key(text):
    parts = text.strip().split("+", 2)
    if len(parts) != 3:
        raise Unreadable("not a key: " + text[:80])
    name, digest, data = parts[0], parts[1], base64_bytes(parts[2])
    if len(data) != 33 or data[0] != 1 or key_hash(name, data[1:]).hex() != digest:
        raise Unreadable("not an Ed25519 key: " + text[:80])
    return name, data[1:]


class Head:
    def __init__(self, note):
        text, empty, rest = note.rpartition("\n\n")
        if not empty:
            raise Unreadable("a head without a signature")
        self.text = text + "\n"
        self.signatures = []
        for line in rest.splitlines():
            parts = line.split(" ")
            if len(parts) != 3 or parts[0] != "\u2014":
                raise Unreadable("not a signature: " + line[:80])
            data = base64_bytes(parts[2])
            self.signatures.append((parts[1], data[:4], data[4:]))
        lines = self.text.split("\n")
        if len(lines) < 4 or not lines[1].isdigit():
            raise Unreadable("not a checkpoint: " + self.text[:80])
        self.origin, self.size, self.root = lines[0], int(lines[1]), base64_bytes(lines[2])

    def signers(self, keys):
        """Returns the keys that signed. A wrong signature by a known key makes the head worthless."""
        found = []
        for name, digest, signature in self.signatures:
            for known, key in keys:
                if known != name or key_hash(name, key) != digest:
                    continue
                if not is_signature(key, self.text.encode("utf-8"), signature):
                    raise Altered(f"the signature of a head of {self.origin} with {self.size} seals is wrong")
                found.append((known, key))
        return found


def heads_in(text):
    """Yields the heads of a file. One that was cut off is left out."""
    lines, signed = [], False
    for line in text.split("\n") + [""]:
        is_signature_line = line.startswith("\u2014 ")
        if signed and not is_signature_line:
            yield Head("\n".join(lines) + "\n")
            lines, signed = [], False
        if not is_signature_line and lines and lines[-1] == "":
            lines = []
        if not lines and (line == "" or is_signature_line):
            continue
        signed = signed or (is_signature_line and lines[-1] == "")
        lines.append(line)


# The export.

class Log:
    def __init__(self, line, previous, kept):
        self.origin = line["origin"]
        self.keys = [read_key(text) for text in line["keys"]]
        self.previous = previous
        self.tree = Tree()
        self.head = None
        self.to = previous.to if previous else 0
        self.missing = list(previous.missing) if previous else []
        self.last_id = previous.last_id if previous else ""
        # Last positions and times of the latest seals, and the last position of those that are older than OPEN_FOR.
        self.recent = []
        self.closed_to = 0
        # How many seals an instance had seen, if a later log says that it is more than there are.
        self.known_size = 0
        # Seals whose entries are gone, as ranges, until a seal says so. And the day of each, where it differs from the one before.
        self.removed = []
        self.removed_days = []
        # The roots that the log had at the sizes of the kept heads.
        self.kept = [head for head in kept if head.origin == self.origin]
        self.roots = {head.size: None for head in self.kept}
        self.note_root()

    def append(self, seal):
        self.tree.append(leaf_hash(canonical(seal)))
        self.note_root()

    def note_root(self):
        if self.tree.size in self.roots:
            self.roots[self.tree.size] = self.tree.root()


class Verifier:
    def __init__(self, heads, keys):
        self.heads, self.keys = heads, keys
        self.counts = dict(logs=0, seals=0, entries=0, erased=0, removed=0, void=0, lost=0, unsealed=0)
        self.log = None
        self.logs = []
        self.leaves = Tree()
        self.sealed = []
        self.unsealed_from = self.unsealed_to = None
        self.incomplete = []
        self.unplaced = 0
        # How many days after their seal entries were removed, at the earliest.
        self.removed_after = None
        self.origins = set()
        # The keys that signed the head of the last log, and those that signed any kept head.
        self.signed_by, self.kept_by = set(), set()

    def read(self, line):
        kind = line["line"]
        if kind == "log":
            self.begin(line)
        elif self.log is None or self.log.head is not None:
            raise Altered(f"a line of kind {kind} outside of a log")
        elif kind == "entry":
            self.entry(line)
        elif kind == "seal":
            self.seal(line["seal"], line["is_removed"])
        elif kind == "unsealed":
            self.unsealed(line)
        elif kind == "head":
            self.finish(Head(line["checkpoint"]))
        else:
            raise Unreadable(f"a line of kind {kind}")

    def begin(self, line):
        if self.log is not None and self.log.head is None:
            raise Altered(f"the log {self.log.origin} has no head: the export was cut")
        self.log = Log(line, self.log, self.heads)
        if self.log.origin in self.origins:
            raise Altered(f"the log {self.log.origin} is there twice")
        self.origins.add(self.log.origin)
        self.logs.append(self.log)
        self.counts["logs"] += 1

    def hash_entry(self, line):
        entry = {name: line[name] for name in LEAF_MEMBERS}
        if line["personal"] is None:
            self.counts["erased"] += 1
        else:
            try:
                salt = bytes.fromhex((line["salt"] or "").replace("-", ""))
            except ValueError:
                salt = b""
            digest = sha256(salt, canonical(line["personal"]).encode("utf-8"))
            if base64.b64encode(digest).decode() != line["personal_hash"]:
                raise Altered(f"the personal data of entry {line['id']} (position {line['position']}) was changed")
        return leaf_hash(canonical(entry))

    def entry(self, line):
        if type(line["seal"]) is not int:
            raise Unreadable("the entry names no seal")
        if line["seal"] != self.log.tree.size:
            raise Altered(f"entry {line['id']} is of seal {line['seal']}, but stands before seal {self.log.tree.size}")
        if not ENTRY_MEMBERS.issuperset(line):
            raise Altered(f"entry {line['id']} has members that nothing proves")
        self.leaves.append(self.hash_entry(line))
        self.sealed.append((line["position"], line["id"]))
        self.counts["entries"] += 1

    def unsealed(self, line):
        if line["personal"] is not None:
            self.hash_entry(line)
        at = datetime.strptime(line["timestamp"], "%Y-%m-%dT%H:%M:%S.%fZ")
        self.unsealed_from = at if self.unsealed_from is None else min(at, self.unsealed_from)
        self.unsealed_to = at if self.unsealed_to is None else max(at, self.unsealed_to)
        position = line["position"]
        if position is None:
            is_inserted = line["id"] <= self.log.last_id
        elif position <= self.log.closed_to:
            is_inserted = True
        else:
            is_inserted = position <= self.log.to and not take(self.log.missing, position, position)
        if is_inserted:
            where = f"entry {line['id']}" if position is None else f"position {position}"
            raise Altered(f"{where} is sealed or void, and has an entry that no seal has: it was inserted")
        self.counts["unsealed"] += 1
        self.unplaced += position is None

    def seal(self, seal, is_removed):
        log, where = self.log, f"seal {seal['number']} of {self.log.origin}"
        if seal["number"] != log.tree.size:
            raise Altered(f"{where} stands in the place of seal {log.tree.size}")
        if seal["number"] == 0 and log.previous is not None and seal["kind"] != "continues":
            raise Altered(f"{log.origin} does not continue the log that is before it")
        if seal["kind"] == "continues":
            self.check_continuation(seal)
        elif seal["kind"] in ("entries", "before_sealing"):
            if not is_removed:
                self.check_entries(seal, where)
            else:
                if self.sealed:
                    raise Altered(f"{where} was removed, but has entries")
                add(log.removed, seal["number"], seal["number"])
                day = day_of(seal["at"])
                if seal["kind"] == "before_sealing":
                    log.last_id = seal["to"]
                    # A UUID of version 7 begins with its time, in milliseconds.
                    if seal["to"][14] == "7":
                        day = int(seal["to"][:8] + seal["to"][9:13], 16) // 86_400_000
                if not log.removed_days or log.removed_days[-1][1] != day:
                    log.removed_days.append((seal["number"], day))
                self.counts["removed"] += seal["count"]
            if seal["kind"] == "entries":
                self.check_positions(seal, where)
        elif seal["kind"] == "removed":
            named = next((one for one in self.logs if one.origin.endswith("/" + seal["log"])), None)
            if named is None:
                raise Altered(f"{where} is about the log {seal['log']}, which is not in the export")
            # Of some of them, entries may be there: the export had passed them when they were removed.
            for first, last in seal["seals"]:
                named.removed = without(named.removed, first, last)
                self.note_removal(named, first, last, day_of(seal["at"]))
        elif seal["kind"] != "key":
            raise Unreadable(f"a seal of kind {seal['kind']}: get the verifier of a later release")
        if self.sealed and seal["kind"] not in ("entries", "before_sealing"):
            raise Altered(f"{where} has entries, which its kind has not")
        log.append(seal)
        self.counts["seals"] += 1
        self.leaves, self.sealed = Tree(), []

    def note_removal(self, log, first, last, day):
        ends = [number for number, _ in log.removed_days[1:]] + [last + 1]
        for (number, sealed), end in zip(log.removed_days, ends):
            if number <= last and end > first:
                after = day - sealed
                self.removed_after = after if self.removed_after is None else min(self.removed_after, after)

    def check_entries(self, seal, where):
        if seal["count"] != self.leaves.size:
            raise Altered(f"{where} has {seal['count']} entries, and {self.leaves.size} are there")
        if base64.b64encode(self.leaves.root()).decode() != seal["root"]:
            raise Altered(f"an entry of {where} was changed: positions {seal['from']} to {seal['to']}")
        if seal["kind"] == "before_sealing":
            ids = [one for _, one in self.sealed]
            if ids != sorted(set(ids)) or ids[0] != seal["from"] or ids[-1] != seal["to"] or ids[0] <= self.log.last_id:
                raise Altered(f"the entries of {where} are not those of its range of ids")
            self.log.last_id = ids[-1]
            return
        expected = list(seal["late"])
        if seal["from"] is not None:
            # An altered seal may name any number of positions.
            at = seal["from"]
            for first, last in seal["missing"] + [[seal["to"] + 1, seal["to"]]]:
                expected += range(at, min(first, at + len(self.sealed) + 1))
                at = last + 1
        if [position for position, _ in self.sealed] != expected:
            raise Altered(f"the entries of {where} are not at the positions that it names")

    def check_positions(self, seal, where):
        log = self.log
        for position in seal["late"]:
            if not take(log.missing, position, position):
                raise Altered(f"{where} has position {position} as late, which was not missing")
        for first, last in seal["void"]:
            if not take(log.missing, first, last):
                raise Altered(f"{where} has positions {first} to {last} as void, which were not missing")
            self.counts["void"] += last - first + 1
        if seal["from"] is not None:
            if seal["from"] != log.to + 1 or seal["to"] < seal["from"]:
                raise Altered(f"{where} begins at position {seal['from']}, and the one before ends at {log.to}")
            log.to = seal["to"]
        at, end = (1, 0) if seal["from"] is None else (seal["from"], seal["to"])
        for first, last in seal["missing"]:
            if first < at or last < first or last > end:
                raise Altered(f"{where} has positions {first} to {last} as missing, which are not its own")
            at = last + 1
            add(log.missing, first, last)
        at = datetime.strptime(seal["at"], "%Y-%m-%dT%H:%M:%S.%fZ")
        log.recent.append((log.to, at))
        while at - log.recent[0][1] > OPEN_FOR:
            log.closed_to = log.recent.pop(0)[0]

    def check_continuation(self, seal):
        before = self.log.previous
        if seal["number"] != 0:
            raise Altered("a log that continues another one says so in its first seal")
        if before is None or before.origin != seal["origin"]:
            raise Altered(f"the export was cut: the log {seal['origin']}, which {self.log.origin} continues, is not before it")
        if before.tree.size != seal["size"] or base64.b64encode(before.tree.root()).decode() != seal["root"]:
            raise Altered(f"{self.log.origin} continues another log {seal['origin']} than the one in the export")
        before.known_size = seal["known_size"]
        # Anyone who can write the database can damage the key, after they have written other seals.
        if seal["reason"] == "key_lost" and not any(head.size >= seal["size"] for head in before.kept):
            self.incomplete.append(
                f"{before.origin} ended because SECRET_KEY did not open its key, and no kept head covers all of its {seal['size']} seals")
        if seal["reason"] == "other_history":
            self.incomplete.append(f"{self.log.origin} continues {seal['origin']}, of which an instance had seen other seals")

    def finish(self, head):
        log = self.log
        if self.sealed:
            raise Altered("the export was cut: entries without their seal")
        if head.origin != log.origin or head.size != log.tree.size or head.root != log.tree.root():
            raise Altered(f"the head of {log.origin} is not that of its {log.tree.size} seals")
        signers = head.signers(self.trusted(log))
        if not signers:
            raise Altered(f"the head of {log.origin} has no signature of a key that is known")
        log.head = head
        self.signed_by = {key for _, key in signers}
        for kept in log.kept:
            found = kept.signers(self.trusted(log))
            if not found:
                raise Altered(f"a kept head of {log.origin} has no signature of a key that is known")
            self.kept_by.update(key for _, key in found)
            if kept.size <= log.tree.size and kept.root != log.roots[kept.size]:
                raise Altered(f"the first {kept.size} seals of {log.origin} are not those of a kept head: they were rewritten")

    def trusted(self, log):
        # A log that continues another one has another name, under which the same key signs.
        return [(log.origin, key) for _, key in self.keys] or log.keys

    def verdict(self, kept_all):
        log = self.log
        if log is None:
            raise Unreadable("the export has no log")
        if log.head is None:
            raise Altered("the export was cut: it has no head")
        if not self.heads:
            self.incomplete.append("no head was given with --heads: an operator who rewrote the whole log would pass")
        for head in kept_all:
            if head.origin not in self.origins:
                self.incomplete.append(f"a kept head is of the log {head.origin}, which is not in the export")
        for one in self.logs:
            if one.removed:
                raise Altered(f"entries of {one.origin} were removed, and no seal says so")
            seen = max([one.tree.size, one.known_size] + [head.size for head in one.kept])
            self.counts["lost"] += seen - one.tree.size
            if seen > one.tree.size:
                self.incomplete.append(f"the seals from {one.tree.size} to {seen - 1} of {one.origin} were lost")
        if not self.keys and self.kept_by and not self.kept_by & self.signed_by:
            self.incomplete.append(
                f"the head of {log.origin} is signed by a key that signed none of the given heads: if you trust it, give it with --key")
        if self.unplaced:
            self.incomplete.append(f"{self.unplaced} entries without a position wait for their seal")
        if self.unsealed_from is not None and self.unsealed_to - self.unsealed_from > UNSEALED_FOR:
            self.incomplete.append("entries wait for their seal for more than a minute")
        return self.incomplete


def day_of(text):
    return (datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ") - datetime(1970, 1, 1)).days


def add(ranges, first, last):
    if ranges and ranges[-1][1] == first - 1:
        ranges[-1] = (ranges[-1][0], last)
    else:
        ranges.append((first, last))


def take(ranges, first, last):
    """Takes positions out of ranges. Returns whether all were in one of them."""
    for index, (low, high) in enumerate(ranges):
        if low <= first and last <= high:
            ranges[index:index + 1] = [part for part in ((low, first - 1), (last + 1, high)) if part[0] <= part[1]]
            return True
    return False


def without(ranges, first, last):
    """Returns the ranges without those of the numbers that they have."""
    parts = [part for low, high in ranges for part in ((low, min(high, first - 1)), (max(low, last + 1), high))]
    return [part for part in parts if part[0] <= part[1]]


def main():
    parser = argparse.ArgumentParser(description="Verify an export of the audit log with evidence.")
    parser.add_argument("export")
    parser.add_argument("--heads", action="append", default=[], metavar="FILE")
    parser.add_argument("--key", action="append", default=[], metavar="KEY")
    options = parser.parse_args()
    try:
        keys = [read_key(text) for text in options.key]
        heads = []
        for path in options.heads:
            with open(path, encoding="utf-8") as file:
                found = list(heads_in(file.read()))
            if not found:
                raise Unreadable(f"{path} has no head")
            heads.extend(found)
        verifier = Verifier(heads, keys)
        with open(options.export, encoding="utf-8", newline="\n") as file:
            for count, text in enumerate(file, 1):
                try:
                    verifier.read(json.loads(text))
                except Altered as error:
                    raise Altered(f"line {count}: {error}")
                except (Unreadable, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
                    raise Unreadable(f"line {count} is no line of an export: {error}")
        incomplete = verifier.verdict(heads)
    except Altered as error:
        print(f"altered: {error}")
        return 1
    except (Unreadable, OSError, UnicodeDecodeError) as error:
        print(f"verify.py: {error}", file=sys.stderr)
        return 2
    print(", ".join(f"{count} {name}" for name, count in verifier.counts.items()))
    if verifier.removed_after is not None:
        print(f"Entries were removed {verifier.removed_after} days after their seal at the earliest. Compare that with AUDIT_RETENTION_DAYS.")
    for reason in incomplete:
        print(f"incomplete: {reason}")
    if not incomplete:
        print("whole")
    return 3 if incomplete else 0


if __name__ == "__main__":
    sys.exit(main())
