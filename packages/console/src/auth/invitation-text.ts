// The texts of the page of an invitation, in the language of the page. The page loads them first.
import { language, pseudo } from '../common/language.ts';
import type { InvitationTexts } from './messages/en/invitation.ts';

/** The texts. Use it while rendering, after `loadInvitationTexts`. */
export let invitation: InvitationTexts;

export async function loadInvitationTexts(): Promise<void> {
  if (language === 'de') ({ invitation } = await import('./messages/de/invitation.ts'));
  else {
    const { invitation: en } = await import('./messages/en/invitation.ts');
    invitation = language === 'en-XB' ? pseudo(en) : en;
  }
}
