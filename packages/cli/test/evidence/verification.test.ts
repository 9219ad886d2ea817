// Verifies whole and altered exports with both verifiers, Castellan's and the one in Python: they must agree.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { EntriesSeal, EvidenceLine } from '@castellan/contract/evidence';
import { writeVerifierKey } from '@castellan/server/platform/evidence/signed-note';
import { Verification } from '../../src/evidence/verification.ts';
import { castellan } from '../castellan.ts';
import { entriesOf, entryAt, MadeLog, resign, rootOfLines, sealLine, signAnew } from './made-log.ts';

const script = fileURLToPath(new URL('../../../../examples/audit-verifier/verify.py', import.meta.url));
const run = promisify(execFile);
let folder: string;
let made = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-evidence-'));
});
after(() => rm(folder, { recursive: true, force: true }));

type Given = { heads?: string | undefined; keys?: string[] };
type Verdict = { code: number; text: string };

async function write(content: string): Promise<string> {
  made += 1;
  const path = join(folder, `file-${made}`);
  await writeFile(path, content);
  return path;
}

/** Returns the verdict, on which both verifiers must agree. */
async function verify(
  lines: readonly EvidenceLine[] | string,
  { heads, keys = [] }: Given = {},
): Promise<Verdict> {
  const text = typeof lines === 'string' ? lines : lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const path = await write(text);
  const options = [
    ...(heads === undefined ? [] : ['--heads', await write(heads)]),
    ...keys.flatMap((key) => ['--key', key]),
  ];
  const [own, other] = await Promise.all([
    castellan(['audit', 'verify', '--export', path, ...options], {}),
    run('python3', [script, path, ...options]).then(
      ({ stdout }) => ({ code: 0, text: stdout }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        text: stdout + stderr,
      }),
    ),
  ]);
  assert.equal(own.code, other.code, `${own.out}${own.err}\n${other.text}`);
  return { code: own.code, text: own.out + own.err };
}

/** A log with a rolled-back position, a late entry, entries of an earlier release, and a kept head. */
const wholeLog = (): MadeLog =>
  new MadeLog()
    .sealPast(3)
    .seal(5, { missing: [2, 4] })
    .seal(4, { late: [4] })
    .keepHead()
    .seal(0, { gone: [[2, 2]] })
    .seal(7)
    .keepHead();

/** Changes a copy of the export, and returns it. */
function altered(lines: EvidenceLine[], change: (lines: EvidenceLine[]) => void): EvidenceLine[] {
  change(lines);
  return lines;
}

test('a whole log is whole, with its kept heads and its key', async () => {
  const log = wholeLog();
  const { code, text } = await verify(log.export(), { heads: log.heads, keys: [log.key] });
  assert.equal(code, 0, text);
  assert.match(text, /^seals: 5$/m);
  assert.match(text, /^entries: 18$/m);
  assert.match(text, /^void: 1$/m);
});

test('without a kept head, nothing is shown against the operator', async () => {
  const { code, text } = await verify(wholeLog().export());
  assert.equal(code, 3);
  assert.match(text, /an operator who rewrote the whole log would pass/);
});

const alterations: [string, RegExp, (lines: EvidenceLine[]) => void][] = [
  [
    'an entry changed',
    /an entry of seal 2 .* was changed/,
    (lines) => Object.assign(entriesOf(lines, 2)[1] ?? {}, { action: 'user_deleted' }),
  ],
  [
    'a detail changed',
    /an entry of seal 1 .* was changed/,
    (lines) => Object.assign(entriesOf(lines, 1)[0]?.details ?? {}, { ratio: 2e-7 }),
  ],
  [
    'a microsecond changed',
    /an entry of seal 4 .* was changed/,
    (lines) => Object.assign(entriesOf(lines, 4)[6] ?? {}, { timestamp: '2026-11-28T20:00:00.123457Z' }),
  ],
  [
    'a member added',
    /an entry of seal 1 .* was changed/,
    (lines) => Object.assign(entriesOf(lines, 1)[0] ?? {}, { actor_email: 'bob@example.com' }),
  ],
  [
    'personal data changed',
    /personal data of entry/,
    (lines) => Object.assign(entriesOf(lines, 1)[0]?.personal ?? {}, { actor_email: 'bob@example.com' }),
  ],
  [
    'another salt',
    /personal data of entry/,
    (lines) => Object.assign(entriesOf(lines, 1)[0] ?? {}, { salt: entriesOf(lines, 1)[1]?.salt }),
  ],
  [
    'no salt',
    /personal data of entry/,
    (lines) => Object.assign(entriesOf(lines, 1)[0] ?? {}, { salt: null }),
  ],
  [
    'an entry deleted',
    /seal 2 .* has 5 entries, and 4 are there: the entry at position 7/,
    (lines) => lines.splice(lines.indexOf(entriesOf(lines, 2)[2] as EvidenceLine), 1),
  ],
  [
    'an entry of an earlier release deleted',
    /seal 0 .* has 3 entries, and 2 are there/,
    (lines) => lines.splice(lines.indexOf(entriesOf(lines, 0)[1] as EvidenceLine), 1),
  ],
  [
    'an entry inserted',
    /seal 2 .* has 5 entries, and 6 are there/,
    (lines) => lines.splice(lines.indexOf(sealLine(lines, 2)), 0, entryAt(8, 2)),
  ],
  [
    'positions exchanged',
    /an entry of seal 4 .* was changed/,
    (lines) => {
      const [one, other] = entriesOf(lines, 4);
      if (one && other) [one.position, other.position] = [other.position, one.position];
    },
  ],
  [
    'entries reordered',
    /an entry of seal 4 .* was changed/,
    (lines) => {
      const at = lines.indexOf(entriesOf(lines, 4)[0] as EvidenceLine);
      lines.splice(at, 2, ...lines.slice(at, at + 2).reverse());
    },
  ],
  [
    'an entry in a void position',
    /position 2, which is sealed without it/,
    (lines) => lines.splice(-1, 0, { ...entryAt(2, 9), line: 'unsealed' }),
  ],
  [
    'an unsealed entry in a sealed position',
    /position 3, which is sealed without it/,
    (lines) => lines.splice(-1, 0, { ...entryAt(3, 9), line: 'unsealed' }),
  ],
  [
    'a seal left out',
    /seal 3 .* is in the place of seal 2/,
    (lines) => {
      const end = lines.indexOf(sealLine(lines, 2));
      lines.splice(lines.indexOf(entriesOf(lines, 2)[0] as EvidenceLine), entriesOf(lines, 2).length + 1);
      assert.ok(end > 0);
    },
  ],
  [
    'a seal doubled',
    /seal 3 .* is in the place of seal 4/,
    (lines) => lines.splice(lines.indexOf(sealLine(lines, 3)), 0, sealLine(lines, 3)),
  ],
  [
    'a root rewritten',
    /a seal was rewritten/,
    (lines) => {
      Object.assign(entriesOf(lines, 4)[0] ?? {}, { action: 'user_deleted' });
      const seal = sealLine(lines, 4).seal as EntriesSeal;
      Object.assign(seal, { at: '2026-11-28T20:00:01.000Z', root: rootAfter(lines, 4) });
    },
  ],
  [
    'entries removed in silence',
    /were removed, and no seal says so/,
    (lines) => {
      for (const entry of entriesOf(lines, 1)) lines.splice(lines.indexOf(entry), 1);
      sealLine(lines, 1).is_removed = true;
    },
  ],
  ['the end cut off', /does not end with a head/, (lines) => lines.pop()],
  [
    'seals cut off',
    /not that of its 4 seals/,
    (lines) => {
      lines.splice(lines.indexOf(entriesOf(lines, 4)[0] as EvidenceLine), 8);
    },
  ],
];

for (const [what, message, change] of alterations)
  test(`${what}: altered, and where`, async () => {
    const log = wholeLog();
    const { code, text } = await verify(altered(log.export(), change), { heads: log.heads });
    assert.equal(code, 1, text);
    assert.match(text, message);
  });

test('an operator who signs a rewritten log is found by a kept head alone', async () => {
  const log = wholeLog();
  const lines = altered(log.export(), (all) => {
    Object.assign(entriesOf(all, 1)[0] ?? {}, { action: 'user_deleted' });
    resign(log, all, 1);
  });
  const { code, text } = await verify(lines, { heads: log.heads });
  assert.equal(code, 1);
  assert.match(text, /the first 3 seals of .* are not those of a kept head/);
  assert.equal((await verify(lines)).code, 3);
});

test('a head of another key is refused where the key is given', async () => {
  const [log, forger] = [wholeLog(), new MadeLog()];
  const lines = altered(log.export(), (all) => {
    Object.assign(entriesOf(all, 4)[0] ?? {}, { action: 'user_deleted' });
    Object.assign(sealLine(all, 4).seal, { root: rootAfter(all, 4) });
    signAnew({ origin: log.origin, keyPair: forger.keyPair }, all);
  });
  const { code, text } = await verify(lines, { keys: [log.key] });
  assert.equal(code, 1);
  assert.match(text, /has no signature of a key that is trusted/);
});

test('a head of another key that the export names too is not whole, unless the key is given', async () => {
  const [log, forger] = [wholeLog().seal(2), new MadeLog()];
  const lines = altered(log.export(), (all) => {
    const [first] = all;
    assert.ok(first?.line === 'log');
    const other = { origin: log.origin, keyPair: forger.keyPair };
    first.keys.unshift(writeVerifierKey({ name: log.origin, publicKey: forger.keyPair.publicKey }));
    signAnew(other, all);
  });
  const { code, text } = await verify(lines, { heads: log.heads });
  assert.equal(code, 3, text);
  assert.match(text, /signed by a key that signed none of the given heads/);
  assert.ok(lines[0]?.line === 'log');
  assert.equal((await verify(lines, { heads: log.heads, keys: lines[0].keys })).code, 0);
});

test('erased entries verify, and are counted', async () => {
  const log = wholeLog();
  const lines = altered(log.export(), (all) => {
    for (const entry of entriesOf(all, 2).slice(0, 3)) Object.assign(entry, { personal: null, salt: null });
  });
  const { code, text } = await verify(lines, { heads: log.heads });
  assert.equal(code, 0, text);
  assert.match(text, /^erased: 3$/m);
});

test('an entry that is late for longer than transactions last was inserted, and so was an old one without a position', async () => {
  const log = wholeLog().seal(3, { missing: [18] });
  const late = { ...entryAt(18, 9), line: 'unsealed' } as const;
  const verdictWith = (line: EvidenceLine) =>
    verify(
      altered(log.export(), (lines) => void lines.splice(-1, 0, line)),
      { heads: log.heads },
    );
  assert.equal((await verdictWith(late)).code, 0);
  log.seal(1, { at: '2026-11-28T22:00:00.000Z' });
  assert.equal((await verdictWith(late)).code, 0);
  log.seal(1, { at: '2026-11-28T22:00:00.001Z' });
  const { code, text } = await verdictWith(late);
  assert.equal(code, 1, text);
  assert.match(text, /position 18.* sealed/);
  const past = { ...late, position: null, id: '00000000-0000-7000-8000-000000000000' };
  const old = await verdictWith(past);
  assert.equal(old.code, 1, old.text);
});

test('entries that a seal says were removed are counted, and may be in an export that had passed them', async () => {
  const log = wholeLog();
  const seal = {
    number: 5,
    kind: 'removed',
    log: log.id,
    seals: [[0, 1]],
    at: '2026-11-28T21:00:00.000Z',
  } as const;
  log.add({ ...seal, seals: [[0, 1]] });
  const there = await verify(log.export(), { heads: log.heads });
  assert.equal(there.code, 0, there.text);
  assert.match(there.text, /^removed: 0$/m);
  const partly = altered(log.export(), (all) => {
    for (const entry of entriesOf(all, 1)) all.splice(all.indexOf(entry), 1);
    sealLine(all, 1).is_removed = true;
  });
  assert.equal((await verify(partly, { heads: log.heads })).code, 0);
  const gone = altered(log.export(), (all) => {
    for (const number of [0, 1]) {
      for (const entry of entriesOf(all, number)) all.splice(all.indexOf(entry), 1);
      sealLine(all, number).is_removed = true;
    }
  });
  const { code, text } = await verify(gone, { heads: log.heads });
  assert.equal(code, 0, text);
  assert.match(text, /^removed: 6$/m);
});

test('how soon entries were removed after their seal is said', async () => {
  const log = new MadeLog()
    .sealPast(2)
    .seal(3, { at: '2026-11-01T23:59:00.000Z' })
    .seal(2, { at: '2026-11-03T00:01:00.000Z' })
    .seal(1, { at: '2026-11-20T12:00:00.000Z' })
    .keepHead();
  const kind = { kind: 'removed', log: log.id } as const;
  log.add({ ...kind, number: 4, seals: [[0, 1]], at: '2026-12-01T00:30:00.000Z' });
  log.add({ ...kind, number: 5, seals: [[2, 2]], at: '2026-12-02T23:30:00.000Z' });
  const gone = altered(log.export(), (all) => {
    for (const number of [0, 1, 2]) {
      for (const entry of entriesOf(all, number)) all.splice(all.indexOf(entry), 1);
      sealLine(all, number).is_removed = true;
    }
  });
  const { code, text } = await verify(gone, { heads: log.heads });
  assert.equal(code, 0, text);
  assert.match(text, /^Entries were removed 29 days after their seal at the earliest\./m);
  assert.doesNotMatch((await verify(log.export(), { heads: log.heads })).text, /at the earliest/);
});

test('after a restore, the lost seals are named, and nothing counts as altered', async () => {
  const log = new MadeLog().seal(3).seal(2);
  const restored = log.export();
  const [size, root] = [2, checkpointRoot(log.head())];
  log.seal(4).keepHead();
  const next = new MadeLog(6).add({
    number: 0,
    kind: 'continues',
    origin: log.origin,
    size,
    root,
    known_size: 3,
    known_root: checkpointRoot(log.head()),
    reason: 'restored',
    at: '2026-11-28T21:00:00.000Z',
  });
  next.seal(3).keepHead();
  const { code, text } = await verify([...restored, ...next.export()], { heads: log.heads + next.heads });
  assert.equal(code, 3, text);
  assert.match(text, /the seals from 2 to 2 of id\.example\.com\/audit\/\S+ were lost/);
  const alone = await verify(next.export(), { heads: next.heads });
  assert.equal(alone.code, 1);
  assert.match(alone.text, /the export was cut off/);
});

/** Returns a log that continues another one after a restore that lost nothing. */
const continuing = (log: MadeLog, keyPair?: MadeLog['keyPair']): MadeLog =>
  new MadeLog(log.nextPosition, keyPair).add({
    number: 0,
    kind: 'continues',
    origin: log.origin,
    size: log.seals.length,
    root: checkpointRoot(log.head()),
    known_size: log.seals.length,
    known_root: checkpointRoot(log.head()),
    reason: 'restored',
    at: '2026-11-28T21:00:00.000Z',
  });

test('a key counts under the name of each log that it signs', async () => {
  const log = new MadeLog().seal(3).keepHead();
  const next = continuing(log, log.keyPair).seal(2);
  const lines = [...log.export(), ...next.export()];
  const { heads } = log;
  for (const keys of [[], [log.key], [next.key]]) {
    const { code, text } = await verify(lines, { heads, keys });
    assert.equal(code, 0, text);
  }
  const { code, text } = await verify(lines, { heads, keys: [new MadeLog().key] });
  assert.equal(code, 1, text);
});

test('a log that somebody else adds after a whole one leaves it incomplete; one before it is refused', async () => {
  const log = new MadeLog().sealPast(2).seal(3).keepHead();
  const { heads } = log;
  const after = await verify([...log.export(), ...continuing(log).seal(2).export()], { heads });
  assert.equal(after.code, 3, after.text);
  assert.match(after.text, /signed by a key that signed none of the given heads/);
  const forged = new MadeLog().sealPast(1);
  Object.assign(entriesOf(forged.lines, 0)[0] ?? {}, { id: '00000000-0000-7000-7000-000000000000' });
  const [from, to] = Array(2).fill('00000000-0000-7000-7000-000000000000');
  Object.assign(sealLine(forged.lines, 0).seal, { from, to, root: rootAfter(forged.lines, 0) });
  const before = await verify([...forged.export(), ...log.export()], { heads });
  assert.equal(before.code, 1, before.text);
  assert.match(before.text, /does not continue the log that is before it/);
});

test('a log that continues one of which an instance had seen other seals: not altered, and not whole', async () => {
  const log = new MadeLog().seal(3).seal(2);
  const next = new MadeLog(6).add({
    number: 0,
    kind: 'continues',
    origin: log.origin,
    size: 2,
    root: checkpointRoot(log.head()),
    known_size: 2,
    known_root: checkpointRoot(log.head()),
    reason: 'other_history',
    at: '2026-11-28T21:00:00.000Z',
  });
  next.seal(3).keepHead();
  const { code, text } = await verify([...log.export(), ...next.export()], { heads: next.heads });
  assert.equal(code, 3, text);
  assert.match(text, /of which an instance had seen other seals/);
});

test('a log whose key was lost is whole as far as a kept head covers it', async () => {
  const log = new MadeLog().seal(3).keepHead();
  const early = log.heads;
  log.seal(2).keepHead();
  const next = new MadeLog(6).add({
    number: 0,
    kind: 'continues',
    origin: log.origin,
    size: 2,
    root: checkpointRoot(log.head()),
    known_size: 2,
    known_root: checkpointRoot(log.head()),
    reason: 'key_lost',
    at: '2026-11-28T21:00:00.000Z',
  });
  next.seal(3).keepHead();
  const lines = [...log.export(), ...next.export()];
  const { code, text } = await verify(lines, { heads: early + next.heads });
  assert.equal(code, 3, text);
  assert.match(text, /no kept head covers all of its 2 seals/);
  assert.equal((await verify(lines, { heads: log.heads + next.heads })).code, 0);
});

test('a seal that names more positions than memory holds is altered', async () => {
  const log = wholeLog();
  const lines = altered(log.export(), (all) => Object.assign(sealLine(all, 4).seal, { to: 9e15, count: 7 }));
  const { code, text } = await verify(lines, { heads: log.heads });
  assert.equal(code, 1, text);
  const more = altered(log.export(), (all) =>
    Object.assign(sealLine(all, 2).seal, { missing: [[6, 9e15]], to: 9e15 + 9 }),
  );
  assert.equal((await verify(more, { heads: log.heads })).code, 1);
});

test('a seal that has positions of others as missing is altered: they could be sealed again', async () => {
  for (const [number, range] of [
    [3, [3, 3]],
    [4, [5, 9]],
    [4, [17, 20]],
    [4, [16, 15]],
  ] as const) {
    const log = wholeLog();
    const lines = altered(log.export(), (all) => {
      Object.assign(sealLine(all, number).seal, { missing: [range] });
      signAnew(log, all);
    });
    const { code, text } = await verify(lines);
    assert.equal(code, 1, text);
  }
});

test('heads of many months are compared with the log', () => {
  const log = new MadeLog().seal(1).seal(1);
  const { origin } = log;
  const note = log.head();
  // More than a call can have arguments. Of a note, only its signature counts here.
  const root = Buffer.alloc(32);
  const heads = Array.from({ length: 130_000 }, (_, index) => ({ origin, note, size: index + 3, root }));
  const verification = new Verification(heads, []);
  for (const line of log.export()) verification.read(line);
  assert.equal(verification.finish().counts.lost, heads.length);
});

test('entries that wait for more than a minute, and heads of another log, leave it incomplete', async () => {
  const log = wholeLog();
  const waiting = altered(log.export(), (all) =>
    all.splice(
      -1,
      0,
      { ...entryAt(17, 0), line: 'unsealed' },
      { ...entryAt(18, 0), line: 'unsealed', timestamp: '2026-11-28T20:01:01.000000Z' },
    ),
  );
  const { code, text } = await verify(waiting, { heads: log.heads + wholeLog().heads });
  assert.equal(code, 3, text);
  assert.match(text, /for more than a minute/);
  assert.match(text, /which is not in the export/);
});

test('an entry without a position that no seal has leaves it incomplete', async () => {
  const log = wholeLog();
  const lines = altered(log.export(), (all) => all.splice(-1, 0, { ...entryAt(null, 0), line: 'unsealed' }));
  const { code, text } = await verify(lines, { heads: log.heads });
  assert.equal(code, 3, text);
  assert.match(text, /1 entries without a position/);
});

test('what is no export is refused with its line', async () => {
  const log = wholeLog();
  const text = log
    .export()
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
  const lines = text.split('\n');
  for (const [content, message] of [
    ['', /it has no log|has no log/],
    ['{"id":"a"}\n', /line 1/],
    [text.slice(0, -20), new RegExp(`line ${lines.length - 1}\\b`)],
    [`${lines[0]}\n[]\n`, /line 2/],
    [`${lines[0]}\n{"line":"entry"}\n`, /line 2/],
    [`${lines[0]}\n{"line":"seal","seal":null}\n`, /line 2/],
    [
      text.replace('"is_removed":false', '"seals":[]'),
      /line \d+ is no line of an export|line \d+: it is no line/,
    ],
    [text.replace('"acted_by_id":null,', ''), /line 2\b/],
    [text.replaceAll('"at":"2026', '"at":"later'), /line \d+ is no line of an export/],
    [text.replace('"details":{', `"details":{"n":1${'0'.repeat(400)},`), /line \d+/],
    [text.replace('"details":{', `"details":{"n":${'['.repeat(20_000)}${']'.repeat(20_000)},`), /line \d+/],
  ] as const) {
    const { code, text: said } = await verify(content);
    assert.ok(code === 1 || code === 2, `${code} ${said}`);
    assert.match(said, message);
  }
});

test('a file of heads may have one that was cut off; one without any is refused', async () => {
  const log = wholeLog();
  const cut = `${log.heads}\n${log.head().slice(0, 60)}`;
  assert.equal((await verify(log.export(), { heads: cut })).code, 0);
  assert.equal((await verify(log.export(), { heads: 'nothing\n' })).code, 2);
  assert.equal((await verify(log.export(), { keys: ['a+b+c'] })).code, 2);
});

const checkpointRoot = (note: string): string => note.split('\n')[2] ?? '';

function rootAfter(lines: readonly EvidenceLine[], number: number): string {
  return rootOfLines(entriesOf(lines, number));
}
