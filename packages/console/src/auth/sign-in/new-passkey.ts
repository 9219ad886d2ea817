// Lets the browser make a passkey, and says what came of it. It must load on demand, because of the library.
import { CastellanError, type PasskeyCreationOptions, type PasskeyRegistration } from '@castellan/sdk';
import { startRegistration } from '@simplewebauthn/browser';
import { passkeyAnswer } from '../../common/passkey-answer.ts';
import { type NoticeContent, noticeOf } from '../parts.tsx';

/** Rejects if nothing came of it: browsers do not tell whether the person declined or the time ran out. */
export const makePasskey = async (optionsJSON: PasskeyCreationOptions): Promise<PasskeyRegistration> =>
  passkeyAnswer(await startRegistration({ optionsJSON }));

/** Returns what to say about a failure. A request that the person ended says nothing. */
export function newPasskeyNotice(error: unknown, nothing: string): NoticeContent | null {
  if (error instanceof CastellanError) return noticeOf(error);
  const isEnded = !error || (error instanceof Error && error.name === 'AbortError');
  return isEnded ? null : { kind: 'error', text: nothing };
}
