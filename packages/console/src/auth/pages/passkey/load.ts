// Finds out whether a passkey signs in here, and loads what the button needs.
import { loadLaterTexts } from '../../later-text.ts';
import { readSignInMethods } from '../../sign-in/calls.ts';
import type { PasskeyButton } from './PasskeyButton.tsx';

/** Returns null where the service does not offer it. Rejects if it does not know passkeys, or does not respond. */
export async function passkeyButton(): Promise<typeof PasskeyButton | null> {
  const { passkey } = await readSignInMethods();
  if (!passkey.available) return null;
  const [button] = await Promise.all([import('./PasskeyButton.tsx'), loadLaterTexts()]);
  return button.PasskeyButton;
}
