// Loads what the page of an invitation needs to accept it with a passkey. Most people never see it.
import { loadLaterTexts } from '../../later-text.ts';
import type { AcceptByPasskey } from './AcceptByPasskey.tsx';
import type { KeepCodes } from './KeepCodes.tsx';

export type Acceptance = { AcceptByPasskey: typeof AcceptByPasskey; KeepCodes: typeof KeepCodes };

export async function loadAcceptance(): Promise<Acceptance> {
  const [button, codes] = await Promise.all([
    import('./AcceptByPasskey.tsx'),
    import('./KeepCodes.tsx'),
    loadLaterTexts(),
  ]);
  return { AcceptByPasskey: button.AcceptByPasskey, KeepCodes: codes.KeepCodes };
}
