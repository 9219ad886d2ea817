// Verifies the proof of an audit entry in the browser: from the entry up to the root of the signed head (docs/evidence.md).
// It must not judge the signature: the page has no key that it could trust more than the service.
import { canonicalJson } from '@castellan/contract/canonical-json';
import { sidesOfPath } from '@castellan/contract/inclusion';
import type { EntryProof } from '@castellan/sdk';

/** What was found: whether the entry leads to the root of its seal, the seal to that of the head, and what became of the personal data. */
export type ProofChecks = { isInSeal: boolean; isInHead: boolean; personal: 'same' | 'other' | 'erased' };

type Bytes = Uint8Array<ArrayBuffer>;

const bytesOf = (base64: string): Bytes => Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
const base64Of = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes));
const ofHex = (digits: string): Bytes =>
  Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const utf8 = (value: unknown): Bytes => new TextEncoder().encode(canonicalJson(value));

/** Browsers hash in pages from HTTPS and from this machine only. */
export const canHash = (): boolean => 'subtle' in crypto;

async function sha256(...parts: readonly Bytes[]): Promise<Bytes> {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', all));
}

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

type Place = { index: number; size: number; path: readonly string[] };

/** Returns the root in base64 to which the path leads from a leaf with this content; null for a path that none has. */
async function rootOf(content: unknown, { index, size, path }: Place): Promise<string | null> {
  const sides = sidesOfPath(index, size, path.length);
  if (!sides) return null;
  let root = await sha256(LEAF, utf8(content));
  for (const [at, side] of sides.entries()) {
    const hash = bytesOf(path[at] ?? '');
    root = await (side === 'left' ? sha256(NODE, hash, root) : sha256(NODE, root, hash));
  }
  return base64Of(root);
}

export async function checkProof(proof: EntryProof): Promise<ProofChecks> {
  const { personal, ...leaf } = proof.entry;
  const { seal, salt } = proof;
  const [, size = '', root] = proof.checkpoint.split('\n');
  const inSeal = { index: proof.index, size: seal.count, path: proof.path };
  const inLog = { index: proof.log_index, size: Number(size), path: proof.log_path };
  const isNamed = seal.number === proof.log_index;
  return {
    isInSeal: (await rootOf(leaf, inSeal)) === seal.root,
    isInHead: isNamed && (await rootOf(seal, inLog)) === root,
    personal:
      personal === null || salt === null
        ? 'erased'
        : base64Of(await sha256(ofHex(salt.replaceAll('-', '')), utf8(personal))) === leaf.personal_hash
          ? 'same'
          : 'other',
  };
}
