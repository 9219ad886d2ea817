// Lets the browser make a passkey. It must load on demand, because of the library.
import type { PasskeyCreationOptions, PasskeyRegistration } from '@castellan/sdk';
import { startRegistration } from '@simplewebauthn/browser';
import { passkeyAnswer } from '../../common/passkey-answer.ts';

/** Rejects if nothing came of it: browsers do not tell whether the person declined or the time ran out. */
export const makePasskey = async (optionsJSON: PasskeyCreationOptions): Promise<PasskeyRegistration> =>
  passkeyAnswer(await startRegistration({ optionsJSON }));
