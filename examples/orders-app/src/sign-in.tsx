import { type BrowserClient, CastellanError, type SecondFactorRequest } from '@castellan/sdk';
import { useState } from 'react';
import { type Failure, Field, Fields, submit } from './form.tsx';
import { SecondStep } from './second-step.tsx';

type View = 'sign in' | 'sign up' | 'mail sent';

export function SignIn({ client }: { client: BrowserClient }) {
  const [view, setView] = useState<View>('sign in');
  const [failure, setFailure] = useState<Failure>();
  const [secondFactor, setSecondFactor] = useState<SecondFactorRequest>();
  const show = (next: View) => {
    setFailure(undefined);
    setView(next);
  };

  if (secondFactor)
    return <SecondStep client={client} needed={secondFactor} onExpired={() => setSecondFactor(undefined)} />;

  if (view === 'mail sent')
    return (
      <main>
        <h1>Check your mail</h1>
        <p>Open the link in the mail to verify your address. Then sign in.</p>
        <button type="button" onClick={() => show('sign in')}>
          Sign in
        </button>
      </main>
    );

  if (view === 'sign up')
    return (
      <main>
        <h1>Sign up</h1>
        <form
          onSubmit={submit(async ({ email = '', password = '', first_name = '', last_name = '' }) => {
            await client.auth.register({ email, password, first_name, last_name });
            show('mail sent');
          }, setFailure)}
        >
          <Fields failure={failure}>
            <Field label="First name" name="first_name" autoComplete="given-name" />
            <Field label="Last name" name="last_name" autoComplete="family-name" />
            <Field label="Email" name="email" type="email" autoComplete="email" />
            <Field label="Password" name="password" type="password" autoComplete="new-password" />
          </Fields>
          <button type="submit">Sign up</button>
        </form>
        <button type="button" className="link" onClick={() => show('sign in')}>
          I have an account
        </button>
      </main>
    );

  return (
    <main>
      <h1>Sign in</h1>
      <form
        onSubmit={submit(async ({ email = '', password = '' }) => {
          try {
            await client.auth.signIn({ email, password });
          } catch (error) {
            if (!(error instanceof CastellanError && error.secondFactor)) throw error;
            setSecondFactor(error.secondFactor);
          }
        }, setFailure)}
      >
        <Fields failure={failure}>
          <Field label="Email" name="email" type="email" autoComplete="username" />
          <Field label="Password" name="password" type="password" autoComplete="current-password" />
        </Fields>
        <button type="submit">Sign in</button>
      </form>
      <button type="button" className="link" onClick={() => show('sign up')}>
        Sign up
      </button>
    </main>
  );
}
