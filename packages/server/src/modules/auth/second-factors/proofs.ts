// Reads the one proof of a body, and turns a refused one into its answer.
import type { SecondFactorBody } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import { totpCodeIn, type Verdict } from '../../factors/service.ts';

export type CodeInput = { method: 'totp'; code: string } | { method: 'recovery_code'; text: string };

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

/** Returns the proof of a code. Throws `validation_failed` (422) for none, for several, and for text that is no code of an app. */
export function onlyProof(input: Omit<SecondFactorBody, 'token'>): CodeInput {
  requireOne(input, ['totp', 'recovery_code']);
  const { totp, recovery_code: recoveryCode = '' } = input;
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

/** `attemptsLeft`: of this sign-in; undefined where nothing was counted. */
export function refusalOf(
  { refused, lockedSeconds }: Extract<Verdict, { refused: string }>,
  attemptsLeft?: number,
): AppError {
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
