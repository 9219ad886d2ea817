// What a second step and a passkey say about their failures.
import { CastellanError } from '@castellan/sdk';
import { formatIn } from '../../common/format.ts';
import { isCode } from '../client.ts';
import { later } from '../later-text.ts';
import { type NoticeContent, noticeOf } from '../parts.tsx';

/** Returns the tries that are left in this sign-in; null if the service did not tell. */
function triesLeft(error: unknown): number | null {
  const left = error instanceof CastellanError ? error.body?.attempts_left : null;
  return typeof left === 'number' ? left : null;
}

/** Returns what to say on the page of the password, where the sign-in must begin again; null if it goes on. */
export function endOf(error: unknown): NoticeContent | null {
  if (isCode(error, 'sign_in_expired')) return { kind: 'error', text: later.secondStep.expired };
  return triesLeft(error) === 0 ? { kind: 'error', text: later.secondStep.noneLeft } : null;
}

function codeText(error: unknown): string | null {
  const left = triesLeft(error);
  if (left !== null) return later.secondStep.left(left);
  const isLocked = error instanceof CastellanError && error.code === 'second_factor_locked';
  if (!isLocked || error.retryAfterMs === null) return null;
  return later.secondStep.locked(formatIn(error.retryAfterMs / 1_000));
}

/** Returns what to say about a code. The focus stays in its field. */
export function codeNotice(error: unknown): NoticeContent | null {
  const text = codeText(error);
  const notice: NoticeContent | null = text === null ? noticeOf(error) : { kind: 'error', text };
  return notice && { ...notice, isQuiet: true };
}

/** Returns what to say about a passkey. A request that the person or the page ended says nothing. */
export function passkeyNotice(
  error: unknown,
  texts: { failed: string; unknown: string },
): NoticeContent | null {
  if (!error || (error instanceof Error && error.name === 'AbortError')) return null;
  if (isCode(error, 'passkey_unknown')) return { kind: 'error', text: texts.unknown };
  // The challenge: the dialog of the browser was open for too long.
  if (isCode(error, 'sign_in_expired')) return { kind: 'error', text: texts.failed };
  // Whatever else the browser reports: it does not tell what the person did.
  return error instanceof CastellanError ? noticeOf(error) : { kind: 'error', text: texts.failed };
}
