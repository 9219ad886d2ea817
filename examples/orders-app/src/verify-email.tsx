import type { BrowserClient } from '@castellan/sdk';
import { useState } from 'react';
import { type Failure, Fields, submit } from './form.tsx';

/** The page behind the link in the mail. It asks for a click, because programs that scan mails open every link. */
export function VerifyEmail({ client, token }: { client: BrowserClient; token: string }) {
  const [isVerified, setVerified] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  if (isVerified)
    return (
      <main>
        <h1>Your email is verified</h1>
        <a href="/">Sign in</a>
      </main>
    );
  return (
    <main>
      <h1>Verify your email</h1>
      <form
        onSubmit={submit(async () => {
          await client.auth.verifyEmail({ token });
          // The token works once and has no business in the history.
          history.replaceState(null, '', '/');
          setVerified(true);
        }, setFailure)}
      >
        <Fields failure={failure} />
        <button type="submit">Verify</button>
      </form>
    </main>
  );
}
