// The texts of the pages that change an email address, in the language of the page. The pages load them first.
import { language, pseudo } from '../common/language.ts';
import type { EmailLinkTexts } from './messages/en/email-link.ts';

/** The texts. Use it while rendering, after `loadEmailLinkTexts`. */
export let emailLink: EmailLinkTexts;

export async function loadEmailLinkTexts(): Promise<void> {
  if (language === 'de') ({ emailLink } = await import('./messages/de/email-link.ts'));
  else {
    const { emailLink: en } = await import('./messages/en/email-link.ts');
    emailLink = language === 'en-XB' ? pseudo(en) : en;
  }
}
