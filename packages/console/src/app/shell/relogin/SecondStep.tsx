// The second step of signing in again over the page.
import type { SecondFactorRequest } from '@castellan/sdk';
import { Alert, Button, Group } from '@mantine/core';
import type { ReactElement } from 'react';
import { auth } from '../../data/auth.ts';
import { isCode } from '../../data/errors.ts';
import { later, t } from '../../text.ts';
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
  // The link of a recovery opens the page of sign-in.
  const ways = methods.filter((method) => method !== 'recovery_link');
  if (ways.length === 0)
    return (
      <>
        <Alert color="yellow" variant="light" role="alert">
          {later.secondFactors.stepUp.noWay}
        </Alert>
        <Group justify="flex-end">
          <Button variant="default" onClick={proving.onCancel} data-autofocus>
            {t.common.actions.cancel}
          </Button>
        </Group>
      </>
    );
  return <Proofs methods={ways} passkey={passkey} proving={proving} />;
}
