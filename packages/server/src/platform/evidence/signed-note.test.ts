// Tests signed notes with the vectors of Go's golang.org/x/mod/sumdb/note and of c2sp.org/tlog-checkpoint, and with broken ones.
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import {
  keyHashOf,
  NoteFormatError,
  publicKeyOf,
  rawPublicKey,
  readCheckpoint,
  readNote,
  readVerifierKey,
  signNote,
  verifiedBy,
  writeCheckpoint,
  writeVerifierKey,
} from './signed-note.ts';

// golang.org/x/mod/sumdb/note, example_test.go: the private key is the seed after the type.
const goVerifier = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const goSeed = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1);
const goText =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const goNote = `${goText}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`;
const goKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), goSeed]),
  format: 'der',
  type: 'pkcs8',
});

const fresh = (name: string) => ({ name, ...generateKeyPairSync('ed25519') });

test("Go's note is verified, and written to the byte", () => {
  const verifier = readVerifierKey(goVerifier);
  assert.deepEqual(verifiedBy(readNote(goNote), [verifier]), [verifier]);
  assert.equal(writeVerifierKey(verifier), goVerifier);
  assert.equal(writeVerifierKey({ name: 'PeterNeumann', publicKey: createPublicKey(goKey) }), goVerifier);
  assert.equal(signNote(goText, [{ name: 'PeterNeumann', privateKey: goKey }]), goNote);
});

test('a note has the signatures of several keys; unknown ones are skipped', () => {
  const [first, second, third] = [fresh('a'), fresh('a'), fresh('b')];
  const note = readNote(signNote('text\n\nwith a paragraph\n', [first, second]));
  assert.equal(note.text, 'text\n\nwith a paragraph\n');
  assert.deepEqual(verifiedBy(note, [first, second, third]), [first, second]);
  assert.deepEqual(verifiedBy(note, [third]), []);
});

test('a wrong signature by a known key makes the note worthless', () => {
  const signer = fresh('example.com/log');
  const note = signNote('text\n', [signer]);
  assert.throws(() => verifiedBy(readNote(note.replace('text', 'test')), [signer]), NoteFormatError);
  const { signatures } = readNote(note);
  const cut = signatures.map((one) => ({ ...one, signature: one.signature.subarray(1) }));
  assert.throws(() => verifiedBy({ text: 'text\n', signatures: cut }, [signer]), NoteFormatError);
});

test('what is no note, no key and no checkpoint is refused', () => {
  const note = signNote('text\n', [fresh('a')]);
  const faulty = [
    '',
    'text\n',
    note.trimEnd(),
    note.replace('— ', '- '),
    `${note}\n`,
    note.replace('text', 'te\tt'),
    `${note}— a !\n`,
  ];
  for (const one of faulty) assert.throws(() => readNote(one), NoteFormatError, one);
  for (const one of [
    '',
    'a+b',
    goVerifier.replace('c74f', 'c74e'),
    goVerifier.replace('ARpc', 'Arpc'),
    goVerifier.slice(0, -4),
  ])
    assert.throws(() => readVerifierKey(one), NoteFormatError, one);
  for (const name of ['', 'a b', 'a+b', 'a\nb', 'a\u2028b'])
    assert.throws(() => signNote('text\n', [fresh(name)]), NoteFormatError);
  assert.throws(() => signNote('text', []), NoteFormatError);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  assert.throws(() => rawPublicKey(publicKey), NoteFormatError);
  assert.throws(() => publicKeyOf(Buffer.alloc(31)), NoteFormatError);
});

test('a checkpoint is read as it is written, as in the example of c2sp.org/tlog-checkpoint', () => {
  const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
  const checkpoint = readCheckpoint(text);
  assert.equal(checkpoint.size, 20_852_163);
  assert.equal(writeCheckpoint(checkpoint), text);
  assert.deepEqual(readCheckpoint(`${text}an extension\n`), checkpoint);
  const faulty = [
    '',
    text.trimEnd(),
    text.replace('20852163', '020'),
    text.replace('20852163', '-1'),
    text.replace('20852163', '9'.repeat(16)),
    text.replace('2I=', '2I'),
    text.replace('CsUY', ''),
  ];
  for (const one of faulty) assert.throws(() => readCheckpoint(one), NoteFormatError, one);
  assert.throws(() => writeCheckpoint({ ...checkpoint, origin: 'two words' }), NoteFormatError);
});

test('the hash of a key depends on its name', () => {
  const raw = rawPublicKey(fresh('a').publicKey);
  assert.notDeepEqual(keyHashOf('a', raw), keyHashOf('b', raw));
});
