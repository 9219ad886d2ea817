// A proof by a passkey or a security key. Nothing starts by itself: the person presses the button.
import type { PasskeyRequestOptions } from '@castellan/sdk';
import { Alert, Button, Group } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactElement, useEffect, useRef } from 'react';
import { ErrorAlert } from '../../components/page/states.tsx';
import { useCeremony } from '../../components/second-factors/use-ceremony.ts';
import { authenticate, ceremonyFailure } from '../../data/second-factors/ceremony.ts';
import { later, t } from '../../text.ts';
import type { Proving } from './proving.ts';

type Props = {
  options: PasskeyRequestOptions;
  proving: Proving;
  /** Asks for other options after a refusal. */
  onAgain: (() => unknown) | undefined;
};

export function ByPasskey({ options, proving, onAgain }: Props): ReactElement {
  const texts = later.secondFactors;
  const button = useRef<HTMLButtonElement>(null);
  // Another way, or Cancel: the browser's own dialog closes, too.
  const signalOf = useCeremony();
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => proving.send({ passkey: await authenticate(options, signalOf()) }),
    onSuccess: proving.onDone,
    onError: (failure) => {
      if (!ceremonyFailure(failure)) void onAgain?.();
    },
  });
  // What had the focus is gone: the password, or the button of this way.
  useEffect(() => button.current?.focus(), []);
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
        <Button variant="default" onClick={proving.onCancel}>
          {t.common.actions.cancel}
        </Button>
        <Button ref={button} loading={isPending} onClick={() => mutate()} data-autofocus>
          {texts.stepUp.usePasskey}
        </Button>
      </Group>
    </>
  );
}
