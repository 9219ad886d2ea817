// Opens the page of a proof: loads its texts.
import { loadLaterTexts } from '../../../later-text.ts';
import { ProofStep } from './ProofStep.tsx';

/** Returns the page, when its texts are there. */
export async function proofStep(): Promise<typeof ProofStep> {
  await loadLaterTexts();
  return ProofStep;
}
