// What this browser can do with passkeys. It must not ask for one: ceremony.ts does.

import type { PasskeyAssertion, PasskeyRequestOptions } from '@castellan/sdk';
import { isCode } from '../client.ts';

type Signal = (passkey: { rpId: string; credentialId: string }) => Promise<void>;
type Capabilities = {
  signalUnknownCredential?: Signal;
  isConditionalMediationAvailable?: () => Promise<boolean>;
};

const capabilities: Capabilities | undefined = globalThis.PublicKeyCredential;

/** Returns whether the browser can suggest passkeys in a field. Never rejects. */
export async function canSuggest(): Promise<boolean> {
  try {
    return (await capabilities?.isConditionalMediationAvailable?.()) ?? false;
  } catch {
    return false;
  }
}

/** Returns a passkey that the service refused as unknown to the browser, which then stops offering it. Never rejects. */
export async function reportUnknown(
  error: unknown,
  { rpId }: PasskeyRequestOptions,
  { id }: PasskeyAssertion,
): Promise<void> {
  if (!isCode(error, 'passkey_unknown')) return;
  try {
    await capabilities?.signalUnknownCredential?.({ rpId, credentialId: id });
  } catch {
    // It is a hint for the browser, which may ignore it.
  }
}
