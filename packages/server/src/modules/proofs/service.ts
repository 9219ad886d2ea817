// Signed proofs of applications: what they authenticate themselves with, and what shows that a token is sent by the holder of its key.
export { createAssertions } from './assertions.ts';
export {
  type KeyProof,
  keyChallenge,
  proofIn,
  readKeyProof,
  useKeyProof,
} from './dpop.ts';
export { createKeySources } from './key-sources.ts';
export { proofAlgorithms } from './signed-text.ts';
export { forgetUsedProofs } from './used-proofs.ts';
