// Sends the proof and goes on with its tokens.
import { useMutation } from '@tanstack/react-query';
import { renewLater, type StepUpProof } from '../../data/second-factor-types.ts';
import { stepUp } from '../../data/second-factors/step-up.ts';

/** `run(proof)`, `isPending`, `error`. A right proof closes the dialog. */
export function useProof() {
  const { mutate, isPending, error } = useMutation({
    mutationFn: (body: StepUpProof) => renewLater('POST /api/v1/auth/step-up', { body }),
    onSuccess: stepUp.done,
  });
  return { run: mutate, isPending, error };
}
