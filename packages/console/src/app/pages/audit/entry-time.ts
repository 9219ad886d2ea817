// When an entry was written, as its id tells: ids are UUIDs of version 7 (RFC 9562, section 5.7).

const AROUND_MS = 5_000;
const HEX = 16;

/** Returns the seconds around the time of the id; null for an id of another kind. */
export function periodAround(id: string): { from: string; to: string } | null {
  const found = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.exec(id);
  if (!found) return null;
  const at = Number.parseInt(`${found[1]}${found[2]}`, HEX);
  return { from: new Date(at - AROUND_MS).toISOString(), to: new Date(at + AROUND_MS).toISOString() };
}
