// Loads what the page of an invitation needs to accept it with a passkey. Most people never see it.
import { loadLaterTexts } from '../../later-text.ts';
import type { AcceptByPasskey } from './AcceptByPasskey.tsx';

export async function passkeyAcceptance(): Promise<typeof AcceptByPasskey> {
  const [accepting] = await Promise.all([import('./AcceptByPasskey.tsx'), loadLaterTexts()]);
  return accepting.AcceptByPasskey;
}
