import { type BrowserClient, CastellanError, type SecondFactorRequest } from '@castellan/sdk';
import { passkeys } from '@castellan/sdk/passkeys';
import { useState } from 'react';
import { type Failure, Field, Fields, failureOf, submit } from './form.tsx';

type Props = { client: BrowserClient; needed: SecondFactorRequest; onExpired: () => void };

/** The second step of a sign-in whose password was right. */
export function SecondStep({ client, needed, onExpired }: Props) {
  const { token, methods, passkey } = needed;
  const [failure, setFailure] = useState<Failure>();

  const complete = async (proof: Parameters<BrowserClient['auth']['completeSignIn']>[0]) => {
    try {
      await client.auth.completeSignIn(proof);
    } catch (error) {
      if (!(error instanceof CastellanError && error.code === 'sign_in_expired')) throw error;
      onExpired();
    }
  };

  return (
    <main>
      <h1>Confirm that it is you</h1>
      <form
        onSubmit={submit(async ({ code = '' }) => {
          // A code of the app has six digits, a recovery code sixteen characters.
          await complete(/^[\d ]{6,7}$/.test(code) ? { token, totp: code } : { token, recovery_code: code });
        }, setFailure)}
      >
        <Fields failure={failure}>
          <Field
            label={methods.includes('totp') ? 'Code of your app, or a recovery code' : 'Recovery code'}
            name="code"
            autoComplete="one-time-code"
          />
        </Fields>
        <button type="submit">Confirm</button>
      </form>
      {passkey && (
        <button
          type="button"
          onClick={async () => {
            try {
              await complete({ token, passkey: await passkeys.get(passkey) });
            } catch (error) {
              setFailure(failureOf(error));
            }
          }}
        >
          Use your passkey or security key
        </button>
      )}
    </main>
  );
}
