// The texts of the pages, in the language of the page. Loaded once, before the first page renders.
import { language, pseudo } from '../common/language.ts';
import type { AuthTexts } from './messages/en/index.ts';

/** The texts. Use it while rendering, never while a module loads: the texts may not be there yet. */
export let t: AuthTexts;

export async function loadTexts(): Promise<void> {
  if (language === 'de') t = (await import('./messages/de/index.ts')).de;
  else {
    const { en } = await import('./messages/en/index.ts');
    t = language === 'en-XB' ? pseudo(en) : en;
  }
}
