// A proof by a passkey or a security key. Nothing starts by itself: the person presses the button.
import type { PasskeyRequestOptions } from '@castellan/sdk';
import { Alert, Button, Group } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactElement, useEffect } from 'react';
import { ErrorAlert } from '../../components/page/states.tsx';
import { renew } from '../../data/api.ts';
import { authenticate, cancelCeremony, ceremonyFailure } from '../../data/second-factors/ceremony.ts';
import { stepUp } from '../../data/second-factors/step-up.ts';
import { later, t } from '../../text.ts';

type Props = {
  options: PasskeyRequestOptions;
  /** Asks for other options: a challenge that was refused counts once. */
  onAgain: () => unknown;
};

export function ByPasskey({ options, onAgain }: Props): ReactElement {
  const texts = later.secondFactors;
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () =>
      renew('POST /api/v1/auth/step-up', { body: { passkey: await authenticate(options) } }),
    onSuccess: stepUp.done,
    onError: (failure) => {
      if (!ceremonyFailure(failure)) void onAgain();
    },
  });
  // Another way, or Cancel: the browser's own dialog closes, too.
  useEffect(() => () => void cancelCeremony(), []);
  return (
    <>
      {ceremonyFailure(error) && (
        <Alert color="yellow" variant="light" role="alert">
          {texts.stepUp.nothing}
        </Alert>
      )}
      {Boolean(error) && !ceremonyFailure(error) && <ErrorAlert error={error} />}
      <p role="status">{isPending && texts.passkeys.follow}</p>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={stepUp.cancel}>
          {t.common.actions.cancel}
        </Button>
        <Button loading={isPending} onClick={() => mutate()} data-autofocus>
          {texts.stepUp.usePasskey}
        </Button>
      </Group>
    </>
  );
}
