// The ways to accept an invitation without a password: a passkey, or an account at a provider.
// Passkeys load only where the service and the browser have them.
import { type ReactElement, useEffect, useState } from 'react';
import { isCode } from '../../client.ts';
import { canUsePasskeys } from '../../sign-in/waiting.ts';
import { ProviderWays, RequiredProvider } from '../ProviderWays.tsx';
import type { AcceptByPasskey, AcceptByPasskeyProps } from '../passkey/AcceptByPasskey.tsx';

type Props = AcceptByPasskeyProps & {
  /** Whether the service would take a passkey. */
  isPasskeyOffered: boolean;
  /** The last refusal: of an address whose people must use a provider, that one is the only way. */
  error: unknown;
};

export function Ways({ isPasskeyOffered, error, ...props }: Props): ReactElement {
  const PasskeyWay = usePasskeyWay(isPasskeyOffered);
  if (isCode(error, 'provider_required')) return <RequiredProvider error={error} />;
  return (
    <>
      {PasskeyWay && <PasskeyWay {...props} />}
      <ProviderWays onSay={(notice) => props.onRefused(null, notice)} />
    </>
  );
}

function usePasskeyWay(isOffered: boolean): typeof AcceptByPasskey | null {
  const [loaded, setLoaded] = useState<typeof AcceptByPasskey | null>(null);
  useEffect(() => {
    if (!isOffered || !canUsePasskeys()) return;
    import('../passkey/acceptance.ts')
      .then(({ passkeyAcceptance }) => passkeyAcceptance())
      // Without it, the password still works.
      .then(
        (way) => setLoaded(() => way),
        () => {},
      );
  }, [isOffered]);
  return loaded;
}
