import type { BrowserClient } from '@castellan/sdk';
import { useAccount } from '@castellan/sdk/react';
import { Orders } from './orders.tsx';
import { SignIn } from './sign-in.tsx';
import { VerifyEmail } from './verify-email.tsx';

const verificationToken = new URLSearchParams(location.hash.slice(1)).get('verify');

export function App({ client }: { client: BrowserClient }) {
  const { status, user, reload } = useAccount();
  if (verificationToken) return <VerifyEmail client={client} token={verificationToken} />;
  if (status === 'failed')
    return (
      <main>
        <h1>Orders</h1>
        <p role="alert">The sign-in service cannot be reached.</p>
        <button type="button" onClick={reload}>
          Try again
        </button>
      </main>
    );
  return user ? <Orders client={client} user={user} /> : <SignIn client={client} />;
}
