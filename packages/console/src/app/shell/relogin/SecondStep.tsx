// The second step of signing in again over the page.
import type { SecondFactorRequest } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { auth } from '../../data/auth.ts';
import { isCode } from '../../data/errors.ts';
import { Proofs } from '../proofs/Proofs.tsx';
import type { Proving } from '../proofs/proving.ts';

type Props = {
  request: SecondFactorRequest;
  /** Back to the password: with the error, if this sign-in is over. */
  onOver: (error: unknown) => void;
};

export function SecondStep({ request: { token, methods, passkey }, onOver }: Props): ReactElement {
  const proving: Proving = {
    send: async (proof) => {
      try {
        await auth.completeSignIn({ ...proof, token });
      } catch (error) {
        if (isCode(error, 'sign_in_expired')) onOver(error);
        throw error;
      }
    },
    // The dialog closes with the session that begins.
    onDone: () => {},
    onCancel: () => onOver(null),
  };
  const ways = methods.filter((method) => method !== 'recovery_link');
  return <Proofs methods={ways} passkey={passkey} proving={proving} />;
}
