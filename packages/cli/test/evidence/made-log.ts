// Makes exports of sealed audit logs in memory, whole ones and such as an attacker would leave.
// It must not share code with the verifier but the hashes: it is what the verifier is judged by.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { EntriesSeal, EvidenceLine, PersonalPart, Seal } from '@castellan/contract/evidence';
import { hashOfEntry, hashOfSeal, personalHash } from '@castellan/server/modules/evidence/leaves';
import { rootOf } from '@castellan/server/platform/evidence/merkle-tree';
import { signNote, writeCheckpoint, writeVerifierKey } from '@castellan/server/platform/evidence/signed-note';

export type EntryLine = Extract<EvidenceLine, { line: 'entry' }>;
type Ranges = [number, number][];

const AT = '2026-11-28T20:00:00.000Z';

/** A log to which seals are added, one after the other. */
export class MadeLog {
  readonly id = randomUUID();
  readonly origin = `id.example.com/audit/${this.id}`;
  readonly keyPair;
  readonly lines: EvidenceLine[] = [];
  readonly seals: Seal[] = [];
  private readonly kept: string[] = [];

  private next: number;

  constructor(first = 1, keyPair = generateKeyPairSync('ed25519')) {
    this.next = first;
    this.keyPair = keyPair;
    this.lines.push({ line: 'log', origin: this.origin, keys: [this.key] });
  }

  get key(): string {
    return writeVerifierKey({ name: this.origin, publicKey: this.keyPair.publicKey });
  }

  get nextPosition(): number {
    return this.next;
  }

  /** Seals new entries, without those at positions in `missing`. */
  seal(
    count: number,
    { missing = [] as number[], late = [] as number[], gone = [] as Ranges, at = AT } = {},
  ): this {
    const from = this.next;
    const to = from + count - 1;
    const positions = [...late];
    for (let next = from; next <= to; next += 1) if (!missing.includes(next)) positions.push(next);
    const entries = positions.map((position) => entryAt(position, this.seals.length));
    this.next = to + 1;
    return this.add(
      {
        number: this.seals.length,
        kind: 'entries',
        partition: null,
        from: count === 0 ? null : from,
        to: count === 0 ? null : to,
        missing: missing.map((one): [number, number] => [one, one]),
        late,
        void: gone,
        count: entries.length,
        root: rootOfLines(entries),
        at,
      },
      entries,
    );
  }

  /** Seals entries of earlier releases. */
  sealPast(count: number): this {
    const entries = Array.from({ length: count }, (_, index) => ({
      ...entryAt(null, this.seals.length),
      id: `00000000-0000-7000-8000-${String(this.seals.length * 1_000 + index).padStart(12, '0')}`,
    }));
    const [first, last] = [entries[0]?.id ?? '', entries.at(-1)?.id ?? ''];
    return this.add(
      {
        number: this.seals.length,
        kind: 'before_sealing',
        partition: null,
        from: first,
        to: last,
        missing: [],
        late: [],
        void: [],
        count,
        root: rootOfLines(entries),
        at: AT,
      },
      entries,
    );
  }

  add(seal: Seal, entries: readonly EntryLine[] = []): this {
    this.lines.push(...entries, { line: 'seal', seal, is_removed: false });
    this.seals.push(seal);
    return this;
  }

  /** Returns the signed head of the current size. */
  head(): string {
    return headOf(this, this.seals);
  }

  /** Keeps the current head elsewhere, for `heads`. */
  keepHead(): this {
    this.kept.push(this.head());
    return this;
  }

  /** The file of heads. */
  get heads(): string {
    return this.kept.map((note) => `\n${note}`).join('');
  }

  /** Returns the export. */
  export(): EvidenceLine[] {
    return structuredClone([...this.lines, { line: 'head', checkpoint: this.head() }]);
  }
}

const headOf = ({ origin, keyPair }: Pick<MadeLog, 'origin' | 'keyPair'>, seals: readonly Seal[]): string =>
  signNote(writeCheckpoint({ origin, size: seals.length, root: rootOf(seals.map(hashOfSeal)) }), [
    { name: origin, privateKey: keyPair.privateKey },
  ]);

const leafOf = ({ line: _, seal: __, personal: ___, salt: ____, ...leaf }: EntryLine): Buffer =>
  hashOfEntry(leaf);

export const rootOfLines = (entries: readonly EntryLine[]): string =>
  rootOf(entries.map(leafOf)).toString('base64');

/** Returns an entry with personal data and with values that JSON libraries write in different ways. */
export function entryAt(position: number | null, seal: number): EntryLine {
  const salt = randomUUID();
  const personal: PersonalPart = {
    actor_email: 'ada@example.com',
    actor_name: null,
    resource_name: 'Grüße 😀 \u2028',
    details: { email: 'eve@example.com', before: { first_name: 'Ada\n' } },
  };
  return {
    line: 'entry',
    seal,
    id: randomUUID(),
    position,
    timestamp: '2026-11-28T20:00:00.123456Z',
    action: 'user_updated',
    actor_type: 'user',
    actor_id: randomUUID(),
    acted_by_id: null,
    resource_type: 'user',
    resource_id: randomUUID(),
    details: { ratio: 1e-7, big: 1e21, ﬁ: [true, null, -0.5], before: {}, '😀': 'é' },
    personal_hash: personalHash(salt, personal),
    personal,
    salt,
  };
}

/** Returns the entries that stand before a seal. */
export const entriesOf = (lines: readonly EvidenceLine[], seal: number): EntryLine[] =>
  lines.filter((line): line is EntryLine => line.line === 'entry' && line.seal === seal);

export const sealLine = (lines: readonly EvidenceLine[], number: number) => {
  const found = lines.find((line) => line.line === 'seal' && line.seal.number === number);
  if (found?.line !== 'seal') throw new Error(`there is no seal ${number}`);
  return found;
};

/** Recomputes the seal's root over its entries, as a rewriting operator would, and the head. */
export function resign(log: MadeLog, lines: EvidenceLine[], number: number): void {
  const seal = sealLine(lines, number).seal as EntriesSeal;
  seal.root = rootOfLines(entriesOf(lines, number));
  signAnew(log, lines);
}

export function signAnew(log: Pick<MadeLog, 'origin' | 'keyPair'>, lines: EvidenceLine[]): void {
  const seals = lines.flatMap((line) => (line.line === 'seal' ? [line.seal] : []));
  lines.pop();
  lines.push({ line: 'head', checkpoint: headOf(log, seals) });
}
