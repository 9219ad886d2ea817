// The texts of passkeys and of the second step, in the language of the page. Whatever shows them loads them first.
import { language, pseudo } from '../common/language.ts';
import type { LaterTexts } from './messages/en/later.ts';

/** The texts. Use it while rendering, after `loadLaterTexts`. */
export let later: LaterTexts;

export async function loadLaterTexts(): Promise<void> {
  if (language === 'de') ({ later } = await import('./messages/de/later.ts'));
  else {
    const { later: en } = await import('./messages/en/later.ts');
    later = language === 'en-XB' ? pseudo(en) : en;
  }
}
