// Warns of an address at which browsers offer no passkeys, and of a domain that must help. It must not open a connection.
import { type PasskeySettings, passkeySiteOf } from '../../platform/security/factors/passkey-site.ts';

type Judged = PasskeySettings & {
  secondFactors: readonly string[];
  passkeySignIn: boolean;
};

/** Returns the warnings; none if nobody is to have passkeys. */
export function passkeyWarnings(settings: Judged): string[] {
  if (!settings.secondFactors.includes('passkey') && !settings.passkeySignIn) return [];
  const { rpId, isFit, coversHost, origins } = passkeySiteOf(settings);
  if (!isFit)
    return [
      `Browsers offer no passkeys at ${settings.publicUrl}, so nobody can set one up or use one. Serve Castellan over https at a host with a name and set PUBLIC_URL to it, or set SECOND_FACTORS=totp and PASSKEY_SIGN_IN=false.`,
    ];
  return coversHost
    ? []
    : [
        `PASSKEY_RP_ID is ${rpId}, which does not cover the host of PUBLIC_URL. Browsers then use its passkeys here only if https://${rpId}/.well-known/webauthn lists ${origins.join(', ')}: serve there what this service answers at /.well-known/webauthn, or set PASSKEY_RP_ID to the host of PUBLIC_URL or a domain above it.`,
      ];
}
