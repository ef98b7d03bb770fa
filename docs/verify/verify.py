#!/usr/bin/env python3
"""Verifies exported sessions of Statewright (bundles of version 2) without Statewright.

Usage: python3 verify.py [--key PUBLIC_KEY]... BUNDLE...   With --key, only signatures of these keys count.
For each bundle it prints one line: "sound: N events, signed with KEY", or "event N: problem" for the first event that
differs from the record. Exit 0: all are sound. 5: one is not. 2: wrong usage, or a file cannot be read.
docs/record-format.md describes the format. It needs Python 3.9 and no package.
"""
import argparse, hashlib, json, pathlib, re, sys
from decimal import Decimal

class Bad(Exception): """The first event that differs from the record, and the problem."""
def check(holds, event, problem):
    if not holds: raise Bad(event, problem)

# JSON, as JavaScript reads and writes it. Of members with the same name it keeps the last; `written` then shows it.
def parse(text):
    number = lambda digits: int(value) if (value := float(digits)).is_integer() and abs(value) < 2**53 else value
    try:
        return json.loads(text.decode() if type(text) is bytes else text, parse_int=number, parse_float=number, parse_constant=int)
    except (ValueError, RecursionError):  # Also a text that is not UTF-8.
        return None

def written(value, order=None):
    """The text of a value. JavaScript puts the members of an object whose names are array indexes first."""
    if isinstance(value, str):
        return re.sub('[\ud800-\udfff]', lambda lone: f'\\u{ord(lone[0]):04x}', json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return '[' + ','.join(written(item, order) for item in value) + ']'
    if isinstance(value, dict):
        is_index = lambda name: re.fullmatch('0|[1-9][0-9]{0,9}', name) and int(name) < 2**32 - 1
        names = sorted(value, key=order or (lambda name: int(name) if is_index(name) else 2**32))
        return '{' + ','.join(f'{written(name)}:{written(value[name], order)}' for name in names) + '}'
    if isinstance(value, float):
        usual = re.sub(r'\.0$', '', f'{Decimal(repr(value)):f}') if 1e-6 <= abs(value) < 1e21 else repr(value)
        return 'null' if abs(value) == float('inf') else usual.replace('e-0', 'e-')
    return json.dumps(value)
canonical = lambda value: written(value, lambda name: name.encode('utf-16-be', 'surrogatepass'))  # RFC 8785

# Digests and signatures. An unpaired surrogate has no bytes in UTF-8, so nothing with one was recorded or signed.
def parts(purpose, *texts):
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError: return None
    return f'statewright/2 {purpose}\n'.encode() + b''.join(b'%d:%s' % (len(text), text) for text in encoded)
def sha256(purpose, *texts):
    text = parts(purpose, *texts)
    return text and hashlib.sha256(text).hexdigest()

# Ed25519 (RFC 8032, section 5.1), with points in extended coordinates.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
def point_of(encoded):
    negative, y = encoded[31] >> 7, int.from_bytes(encoded, 'little') % 2**255 % P
    u, v = y * y - 1, D * y * y + 1
    x = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    x = x if (v * x * x - u) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    x = -x % P if x % 2 != negative else x
    return (x, y, 1, x * y % P) if (v * x * x - u) % P == 0 else None
def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * D * p[3] * q[3] % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P
double = lambda p: add(p, p)
is_of_small_order = lambda p: double(double(double(p)))[0] == 0
BASE = point_of((4 * pow(5, -1, P) % P).to_bytes(32, 'little'))
def is_signed(public_key, signature, purpose, statement):
    """Whether S is below the order, and R has the bytes of S*BASE - k*A. Neither A nor R may be of small order."""
    text = parts(purpose, canonical(statement))
    key, r, s = (bytes.fromhex(part) for part in (public_key, signature[:64], signature[64:]))
    a, s = point_of(key), int.from_bytes(s, 'little')
    if text is None or a is None or is_of_small_order(a) or s >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(r + key + text).digest(), 'little') % ORDER
    zero, minus_a = (0, 1, 1, 0), (-a[0] % P, a[1], 1, -a[3] % P)
    total, table = zero, [zero, BASE, minus_a, add(BASE, minus_a)]
    for i in range(252, -1, -1):
        total = add(double(total), table[(s >> i & 1) + 2 * (k >> i & 1)])
    x, y = (coordinate * pow(total[2], -1, P) % P for coordinate in total[:2])
    return (y | (x & 1) << 255).to_bytes(32, 'little') == r and not is_of_small_order(total)

# Shapes: functions that say whether a value fits. Python counts True as 1, so types are compared.
one_of = lambda *types: lambda value: type(value) in types
list_of = lambda fits: lambda value: type(value) is list and all(map(fits, value))
or_null = lambda fits: lambda value: value is None or fits(value)
hex_of = lambda digits: lambda value: type(value) is str and re.fullmatch('[0-9a-f]{%d}' % digits, value) is not None
text = lambda value: type(value) is str and not re.search('[\ud800-\udfff]', value)
number, count = one_of(int, float), lambda value: type(value) is int and value >= 0
def members(shape, optional=()):  # An object that has these members in this order, and no others.
    return lambda value: (type(value) is dict and all(name in shape and shape[name](value[name]) for name in value)
                          and list(value) == [name for name in shape if name in value or name not in optional])
concerns = 'run_id agent_id turn_id call_id execution_id interaction_id coordination_id goal_id task_id request_id'
shared = {'actor': text, 'at': number, **dict.fromkeys(['visibility', *concerns.split()], or_null(text))}
reading = members({'because': text, 'guard': text, 'holds': one_of(bool)})
own = {'guards': lambda value: list_of(reading)(value) and value != [], 'kind': text, 'payload_sha256': text,
       'move': lambda value: list_of(or_null(text))(value) and len(value) == 4 and None not in (value[0], value[3]),
       'schema_version': number, 'subject_id': text, **shared}
runes = list_of(members(dict(sorted(own.items())), {*own} - {'kind'}))
is_header = members(dict(sorted({'event_id': number, 'runes': runes, 'session_id': text, **shared}.items())), shared)
record = dict(event_id=number, header=one_of(str), payload=one_of(str), salt=one_of(str), hash=one_of(str))
is_record = lambda value: all(name in value and record[name](value[name]) for name in record)
is_checkpoint = members({'session_id': text, 'event_id': count, 'hash': hex_of(64), 'at': count,
                         'public_key': hex_of(64), 'signature': hex_of(128)})
is_last_line = members({'checkpoint': is_checkpoint, 'signature': one_of(str, int, float, bool, type(None))}, ['signature'])
is_first_line = members({
    'format': lambda value: value == 'statewright-bundle', 'version': lambda value: value == 2, 'session_id': text,
    'machines': lambda value: type(value) is dict and all(map(text, [*value, *value.values()]))})
redaction = {'event_id': one_of(int), 'reason': text, 'remains_sha256': hex_of(64), 'blobs': list_of(text),
             'redacted_by': or_null(text), 'public_key': or_null(hex_of(64)), 'signature': or_null(hex_of(128))}

def verify(data, trusted):
    """The number of events of a sound bundle, and the key that signed it. The last line may lack its line feed."""
    lines = data.removesuffix(b'\n').split(b'\n')
    is_written = lambda value, line: written(value).encode() == line
    head, *values = map(parse, lines)
    check(is_first_line(head) and is_written(head, lines[0]), 0, 'the file does not begin like a bundle of version 2.')
    end, events, last_hash, erased, redacted = None, 0, '0' * 64, {}, []
    for value, line in zip(values, lines[1:]):
        here = events + 1
        check(type(value) is dict and not end, here, 'its line is not a JSON object, or comes after the last one.')
        if 'checkpoint' in value:
            check(is_last_line(value) and is_written(value, line), here, 'the checkpoint in its place cannot be read.')
            end = signed_end(value['checkpoint'], value.get('signature'), head, trusted)
            continue
        check(is_record(value), here, 'it is not a record: event_id, header, payload, salt and hash.')
        runes = runes_of(value, head['session_id'], here, last_hash)
        erased.update((event, (value['hash'], sha256('remains', payload)))
                      for event, rune, payload, salt in runes if salt == '' and 'payload_sha256' in rune)
        for event, rune, payload, _ in runes:
            if rune['kind'] == 'rune.redacted':
                redacted.append(redaction_of(event, rune['at'], payload, erased, head['session_id'], trusted))
        check([*value] == [*record] and is_written(value, line), here, 'its line is not written like an export.')
        events, last_hash = value['event_id'], value['hash']
    check(not erased, min(erased, default=0), 'its payload was erased and no redaction vouches for that.')
    check(end, events + 1, 'the bundle ends without its checkpoint.')
    session_id, signed, signed_hash, _, own_key, _ = end.values()
    check(session_id == head['session_id'], 1, 'the checkpoint is one of another session.')
    check(signed == events, min(signed, events) + 1, f'{signed} events were signed, and there are {events}.')
    check(signed_hash == last_hash, events, 'its hash is not the one that was signed.')
    for event, key in redacted:
        check(trusted or key == own_key, event, f'its redaction was signed with another key, {key}.')
    return events, own_key

def runes_of(record, session_id, first, last_hash):
    """The runes of a record: event, entry with actor and time, payload, salt."""
    header, payloads, salts = parse(record['header']), record['payload'].split('\n'), record['salt'].split('\n')
    check(is_header(header) and written(header) == record['header'], first, 'its header is not canonical.')
    runes = [{**{name: header[name] for name in ('actor', 'at') if name in header}, **rune} for rune in header['runes']]
    is_whole = runes and all('actor' in rune and 'at' in rune for rune in runes)
    check(is_whole and len(runes) == len(payloads) == len(salts), first, 'it lacks a rune, a payload or a salt.')
    place = header['session_id'], header['event_id'], record['event_id']
    check(place == (session_id, first, first + len(runes) - 1), first, 'in its place stands another event.')
    check(sha256('commit', last_hash, record['header']) == record['hash'], first, 'its hash does not follow.')
    runes = list(zip(range(first, first + len(runes)), runes, payloads, salts))
    for event, rune, payload, salt in runes:
        if 'payload_sha256' not in rune:
            check(salt == '' and payload == '{}', event, 'its payload was recorded as empty.')
        elif salt != '':  # Without its salt, it was erased, and a redaction must vouch for that.
            is_recorded = hex_of(32)(salt) and sha256('payload', salt, payload) == rune['payload_sha256']
            check(is_recorded, event, 'its payload is not the one that was recorded.')
    return runes

def redaction_of(recorded_at, at, payload, erased, session_id, trusted):
    """The erased event, and the key that vouches for it."""
    value = {'blobs': [], **value} if type(value := parse(payload)) is dict else {}
    value = {name: value.get(name) for name in redaction}
    check(members(redaction)(value), recorded_at, 'it does not say what was redacted.')
    event, key, signature = value['event_id'], value['public_key'], value.pop('signature')
    of_hash, remains = erased.pop(event, (None, None))
    check(of_hash and remains == value['remains_sha256'], event, 'its payload is there, or its remains were changed.')
    is_known = None not in (key, signature, value['redacted_by']) and (not trusted or key in trusted)
    statement = {**value, 'session_id': session_id, 'at': at, 'hash': of_hash}
    check(is_known and is_signed(key, signature, 'redaction', statement), event, 'its redaction has no trusted signature.')
    return event, key

def signed_end(end, signature, head, trusted):
    """The checkpoint, if its signature and that of the whole bundle fit."""
    event, key, statement = end['event_id'], end['public_key'], {name: end[name] for name in end if name != 'signature'}
    check(not trusted or key in trusted, event, f'its checkpoint was signed with {key}, which is not trusted.')
    check(is_signed(key, end['signature'], 'checkpoint', statement), event, 'its checkpoint has another signature.')
    is_whole = hex_of(128)(signature) and is_signed(key, signature, 'bundle', {'header': head, 'checkpoint': end})
    check(is_whole, event, 'the bundle has another signature: its first line or its checkpoint was changed.')
    return end

if __name__ == '__main__':
    reader, exits = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter), {0}
    reader.add_argument('--key', action='append', default=[], type=lambda key: re.fullmatch('[0-9a-f]{64}', key.lower())[0])
    reader.add_argument('bundle', nargs='+')
    given = reader.parse_args()
    for path in given.bundle:
        try:
            print('sound: %d events, signed with %s' % verify(pathlib.Path(path).read_bytes(), given.key))
        except Bad as bad:
            print('event %s: %s' % bad.args)
            exits.add(5)
        except OSError as error:
            print(f'cannot be read: {error}')
            exits.add(2)
    sys.exit(2 if 2 in exits else max(exits))
