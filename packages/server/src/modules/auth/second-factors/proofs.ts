// Reads the one proof of a body, and turns a refused one into its answer.
import type { SecondFactorBody } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import { type AssertionJSON, isAssertionShape } from '../../../platform/security/factors/passkeys.ts';
import { type PasskeyVerdict, totpCodeIn, type Verdict } from '../../factors/service.ts';

/** Each operation that proves or changes a factor, per session: enough for a person, too few for guesses. */
export const factorRule: RateLimitRule = { limit: 30, windowSeconds: 60 };

export type ProofInput =
  | { method: 'totp'; code: string }
  | { method: 'recovery_code'; text: string }
  | { method: 'passkey'; response: AssertionJSON };

/** Returns what a session began with before any factor, by its `proof`. */
export const firstProofOf = (began: string | null): 'password' | 'provider' =>
  began?.startsWith('provider') ? 'provider' : 'password';

/** A proof that was refused. */
export type Refusal = Extract<Verdict | PasskeyVerdict, { refused: string }>;

/** Throws `validation_failed` (422) unless exactly one of the fields is there. */
export function requireOne(input: Readonly<Record<string, unknown>>, fields: readonly string[]): void {
  const given = fields.filter((field) => input[field] !== undefined);
  if (given.length === 1) return;
  const message = `send exactly one of ${fields.join(', ')}`;
  const wrong = given.length === 0 ? fields : given;
  throw new AppError('validation_failed', {
    errors: wrong.map((field) => ({ field, code: given.length === 0 ? 'required' : 'not_allowed', message })),
  });
}

/** Returns the proof. Throws `validation_failed` (422) for none, for several, and for one that has not the form of its kind. */
export function onlyProof(input: Omit<SecondFactorBody, 'token'>): ProofInput {
  requireOne(input, ['totp', 'recovery_code', 'passkey']);
  const { totp, recovery_code: recoveryCode = '', passkey } = input;
  if (passkey !== undefined) return { method: 'passkey', response: readAssertion(passkey) };
  return totp === undefined
    ? { method: 'recovery_code', text: recoveryCode }
    : { method: 'totp', code: readTotp(totp) };
}

/** Throws `validation_failed` (422) unless the text is six digits. */
export function readTotp(input: string): string {
  const code = totpCodeIn(input);
  if (code !== null) return code;
  throw new AppError('validation_failed', {
    errors: [{ field: 'totp', code: 'pattern', message: 'send the six digits that the app shows' }],
  });
}

/** Throws `validation_failed` (422) unless each member is canonical base64url and the ids are equal. */
export function readAssertion(input: unknown): AssertionJSON {
  if (isAssertionShape(input)) return input;
  throw malformedPasskey();
}

/** The refusal of what no browser answers. */
export const malformedPasskey = (): AppError =>
  new AppError('validation_failed', {
    errors: [
      {
        field: 'passkey',
        code: 'pattern',
        message: 'send `credential.toJSON()` as it is: base64url without padding, with `id` equal to `rawId`',
      },
    ],
  });

/** `attemptsLeft`: of this sign-in; undefined where nothing was counted. */
export function refusalOf(refusal: Refusal, attemptsLeft?: number): AppError {
  if (refusal.refused === 'passkey_unknown') return new AppError('passkey_unknown');
  if (refusal.refused === 'passkey_refused' || refusal.refused === 'expired')
    return new AppError('passkey_refused');
  const { refused } = refusal;
  const lockedSeconds = 'lockedSeconds' in refusal ? refusal.lockedSeconds : undefined;
  if (refused === 'used_code') return new AppError('code_already_used');
  if (refused === 'locked')
    return new AppError(
      'second_factor_locked',
      lockedSeconds === undefined ? {} : { retryAfterSeconds: lockedSeconds },
    );
  return new AppError(
    'second_factor_invalid',
    attemptsLeft === undefined ? {} : { members: { attempts_left: attemptsLeft } },
  );
}
