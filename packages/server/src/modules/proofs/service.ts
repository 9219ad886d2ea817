// Signed proofs of applications: what they authenticate themselves with.
export { createAssertions } from './assertions.ts';
export { createKeySources } from './key-sources.ts';
export { proofAlgorithms } from './signed-text.ts';
export { forgetUsedProofs } from './used-proofs.ts';
