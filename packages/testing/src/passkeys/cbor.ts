// Encodes what authenticators write in CBOR (RFC 8949): integers, byte strings, texts, arrays and maps, in the order given.
// It must not be used outside of tests.

export type Cbor = number | string | Uint8Array | readonly Cbor[] | ReadonlyMap<number | string, Cbor>;

const UNSIGNED = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;

export function encodeCbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(NEGATIVE, -1 - value) : head(UNSIGNED, value);
  if (typeof value === 'string') return withBytes(TEXT, Buffer.from(value));
  if (value instanceof Uint8Array) return withBytes(BYTES, value);
  if (value instanceof Map) {
    const entries = [...value].map(([key, each]) => Buffer.concat([encodeCbor(key), encodeCbor(each)]));
    return Buffer.concat([head(MAP, value.size), ...entries]);
  }
  const items = [...value].map((each) => encodeCbor(each));
  return Buffer.concat([head(ARRAY, items.length), ...items]);
}

const withBytes = (type: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([head(type, bytes.length), bytes]);

/** Returns the type and its argument, up to 32 bits, in the shortest form. */
function head(type: number, argument: number): Buffer {
  const first = type << 5;
  if (argument < 24) return Buffer.from([first | argument]);
  if (argument < 0x100) return Buffer.from([first | 24, argument]);
  const wide = Buffer.alloc(argument < 0x10000 ? 3 : 5);
  wide[0] = first | (argument < 0x10000 ? 25 : 26);
  if (argument < 0x10000) wide.writeUInt16BE(argument, 1);
  else wide.writeUInt32BE(argument, 1);
  return wide;
}
