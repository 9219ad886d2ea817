// The texts of the page that keeps an account, in the language of the page. The page loads them first.
import { language, pseudo } from '../common/language.ts';
import type { LeavingTexts } from './messages/en/leaving.ts';

/** The texts. Use it while rendering, after `loadLeavingTexts`. */
export let leaving: LeavingTexts;

export async function loadLeavingTexts(): Promise<void> {
  if (language === 'de') ({ leaving } = await import('./messages/de/leaving.ts'));
  else {
    const { leaving: en } = await import('./messages/en/leaving.ts');
    leaving = language === 'en-XB' ? pseudo(en) : en;
  }
}
