// Opens the second step: keeps what the service told about it, and loads its texts.
import { CastellanError } from '@castellan/sdk';
import { later, loadLaterTexts } from '../../later-text.ts';
import { readSignInMethods } from '../../sign-in/calls.ts';
import { keepPending, type Pending, pendingIn } from '../../sign-in/pending.ts';
import { SecondStep } from './SecondStep.tsx';

/**
 * Keeps the sign-in that the service refused with `second_factor_required`. Throws a CastellanError if it names no method that
 * works.
 */
export const beginSecondStep = (refusal: unknown, email: string): Promise<void> =>
  keepSecondStep(refusal instanceof CastellanError ? refusal.body?.second_factor : null, email);

/** Does the same with what the service told about the second step. */
export async function keepSecondStep(told: unknown, email: string): Promise<void> {
  const pending = pendingIn(told, email);
  if (!pending) {
    await loadLaterTexts();
    throw new CastellanError('no_method', later.secondStep.noMethod);
  }
  const [known] = await Promise.all([withTrust(pending), loadLaterTexts()]);
  keepPending(known);
}

/** Adds for how long the device can be trusted, where it can be. */
async function withTrust(pending: Pending): Promise<Pending> {
  if (pending.trustDays !== null) return pending;
  const trustDays = await readSignInMethods().then(
    (methods) => methods.trusted_device_days,
    () => null,
  );
  return { ...pending, trustDays };
}

/** Returns the page, when its texts are there. */
export async function secondStep(): Promise<typeof SecondStep> {
  await loadLaterTexts();
  return SecondStep;
}
