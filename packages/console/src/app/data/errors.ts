// Failures as people read them.
import { CastellanError } from '@castellan/sdk';
import { acting } from '../../common/acting/acting.ts';
import { formatIn } from '../../common/format.ts';
import { t } from '../text.ts';

export type Failure = {
  message: string;
  code: string;
  requestId: string | null;
  /** Field → message. */
  fields: ReadonlyMap<string, string>;
  /** Every rule that a refused password breaks. */
  reasons: readonly string[];
  /** What the caller would need; null for other failures. */
  requiredPermission: string | null;
};

const sentenceOf = ({ code, message, status, retryAfterMs }: CastellanError): string => {
  if (code === 'network_error') return t.common.errors.offline;
  if (code === 'timeout') return t.common.errors.timeout;
  if (acting && code === 'step_up_required') return t.common.errors.actingProof;
  const own = t.common.errors.byCode[code] ?? message;
  const isWait = retryAfterMs !== null && (status === 429 || status === 503);
  return isWait ? `${own} ${t.common.errors.retryAfter(formatIn(retryAfterMs / 1_000))}` : own;
};

/** The field that a code is about. Responses with these codes name none. */
const fieldOfCode: Readonly<Record<string, string>> = {
  email_taken: 'email',
  external_id_taken: 'external_id',
  invalid_email: 'email',
  name_taken: 'name',
  wrong_current_password: 'current_password',
  second_factor_invalid: 'code',
  code_already_used: 'code',
  second_factor_locked: 'code',
};

function fieldsOf(error: CastellanError): Map<string, string> {
  const field = fieldOfCode[error.code];
  if (field !== undefined && error.fields.length === 0) return new Map([[field, sentenceOf(error)]]);
  return new Map(error.fields.map(({ field, ...told }) => [field, textOfField(told)]));
}

/** Returns what is wrong with a field, in the language of the page. */
export const textOfField = ({ code, message }: { code: string; message: string }): string =>
  t.common.errors.byField[code] ?? t.common.errors.byCode[code] ?? message;

/** Returns the sentence for a code in the language of the page; undefined if there is none. */
export const messageOfCode = (code: string): string | undefined => t.common.errors.byCode[code];

/** Returns what to show for anything that was thrown. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof CastellanError))
    return {
      message: t.common.errors.unexpected,
      code: 'unexpected',
      requestId: null,
      fields: new Map(),
      reasons: [],
      requiredPermission: null,
    };
  const required = error.body?.required_permission;
  return {
    message: sentenceOf(error),
    code: error.code,
    requestId: error.requestId,
    fields: fieldsOf(error),
    reasons: error.reasons,
    requiredPermission: typeof required === 'string' ? required : null,
  };
}

export const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof CastellanError && codes.includes(error.code);
