// What Castellan authenticates itself with at a provider, as it comes in a body. Nothing returns it.
import { createPrivateKey } from 'node:crypto';
import type { ProviderKind } from '@castellan/contract/identity-providers';
import { refusal } from './refusal.ts';

export type GivenSecrets = {
  client_secret?: string | null | undefined;
  private_key?: string | null | undefined;
};

/** Returns the secret of a body; null if it removes one, undefined if it says nothing. Throws `validation_failed` (422). */
export function secretIn(
  { client_secret, private_key }: GivenSecrets,
  kind: ProviderKind,
): string | null | undefined {
  if (kind === 'apple') {
    if (client_secret != null)
      throw refusal('client_secret', 'not_allowed', 'must be left out; Apple takes a private_key');
    return typeof private_key === 'string' ? cleanKey(private_key) : private_key;
  }
  if (private_key != null) throw refusal('private_key', 'not_allowed', 'must be left out; it is for Apple');
  if (typeof client_secret === 'string' && !/^[\x20-\x7e]+$/.test(client_secret))
    throw refusal(
      'client_secret',
      'unsafe_character',
      'must consist of visible ASCII characters and spaces, without line breaks',
    );
  return client_secret;
}

/** Returns the key in its one spelling. */
function cleanKey(text: string): string {
  const key = text.includes('-----BEGIN PRIVATE KEY-----') ? parsed(text) : undefined;
  if (key?.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw refusal(
      'private_key',
      'invalid_key',
      'must be a P-256 key in PEM (PKCS #8), the whole .p8 file from Apple with its first and last line',
    );
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

function parsed(pem: string) {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    // The library's message could repeat a part of the key.
    return undefined;
  }
}
