// Sends the proof of a second factor: to step up, or to sign in again.
import type { StepUp } from '@castellan/sdk';
import { useMutation } from '@tanstack/react-query';

/** What becomes of a proof. */
export type Proving<P = Omit<StepUp, 'password'>> = {
  send: (proof: P) => Promise<unknown>;
  /** After the right one. */
  onDone: () => void;
  onCancel: () => void;
};

/** `run(proof)`, `isPending`, `error`. */
export function useProof<P>({ send, onDone }: Proving<P>) {
  const { mutate, isPending, error } = useMutation({ mutationFn: send, onSuccess: onDone });
  return { run: mutate, isPending, error };
}
