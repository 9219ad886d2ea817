// Signs the same person in again over the page, when their session has ended elsewhere. Nothing that they typed is lost.
import { CastellanError } from '@castellan/sdk';
import { Anchor, Modal, Stack } from '@mantine/core';
import { lazy, type ReactElement, Suspense, useEffect, useRef, useState } from 'react';
import { addressOf } from '../../../common/page-settings.ts';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { PasswordField } from '../../components/forms/PasswordField.tsx';
import { auth } from '../../data/auth.ts';
import { t, withLaterTexts } from '../../text.ts';

const SecondStep = lazy(() =>
  withLaterTexts(import('./SecondStep.tsx')).then((file) => ({ default: file.SecondStep })),
);

export function Relogin({ email }: { email: string }): ReactElement {
  const [password, setPassword] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const signIn = async (): Promise<void> => {
    setPending(true);
    setError(null);
    try {
      await auth.signIn({ email, password });
    } catch (failure) {
      setError(failure);
    } finally {
      setPending(false);
    }
  };
  const request = error instanceof CastellanError ? error.secondFactor : null;
  const input = useRef<HTMLInputElement>(null);
  // Also after a second step that was left.
  useEffect(() => {
    if (!request) input.current?.focus();
  }, [request]);
  return (
    <Modal
      opened
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={t.common.session.endedTitle}
      zIndex={400}
    >
      <Stack gap="sm">
        <p>{t.common.session.endedText}</p>
        {request ? (
          <Suspense>
            <SecondStep request={request} onOver={setError} />
          </Suspense>
        ) : (
          <Form
            onSubmit={() => void signIn()}
            isPending={isPending}
            error={error}
            fields={['password']}
            submitLabel={t.common.session.signIn}
          >
            <input
              type="email"
              name="email"
              value={email}
              autoComplete="username"
              readOnly
              className="visually-hidden"
              tabIndex={-1}
              aria-hidden
            />
            <PasswordField
              ref={input}
              data-autofocus
              label={`${t.common.session.password} · ${email}`}
              autoComplete="current-password"
              value={password}
              error={fieldError(error, 'password')}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
          </Form>
        )}
        <Anchor
          href={`${addressOf('/login')}?next=${encodeURIComponent(location.pathname + location.search)}`}
          size="sm"
        >
          {t.common.session.other}
        </Anchor>
      </Stack>
    </Modal>
  );
}
