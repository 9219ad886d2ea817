// Sends the proof and goes on with its tokens.
import type { StepUp } from '@castellan/sdk';
import { useMutation } from '@tanstack/react-query';
import { renew } from '../../data/api.ts';
import { stepUp } from '../../data/second-factors/step-up.ts';

/** `run(proof)`, `isPending`, `error`. A right proof closes the dialog. */
export function useProof() {
  const { mutate, isPending, error } = useMutation({
    mutationFn: (body: StepUp) => renew('POST /api/v1/auth/step-up', { body }),
    onSuccess: stepUp.done,
  });
  return { run: mutate, isPending, error };
}
