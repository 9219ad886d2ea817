// The texts of the app, in the language of the page. Most load once, before the first page renders; the others with what they
// belong to.
import { language, pseudo } from '../common/language.ts';
import type { Messages } from './messages/en/index.ts';
import type { LaterMessages } from './messages/en/later.ts';

/** The texts. Use it while rendering, never while a module loads: the texts may not be there yet. */
export let t: Messages;

export async function loadTexts(): Promise<void> {
  if (language === 'de') t = (await import('./messages/de/index.ts')).de;
  else {
    const { en } = await import('./messages/en/index.ts');
    t = language === 'en-XB' ? pseudo(en) : en;
  }
}

/** The texts of what opens late. Use it only while rendering a component that was loaded by `withLaterTexts`. */
export let later: LaterMessages;

/** Returns the file once the later texts are there, too: `lazy(() => withLaterTexts(import('./Rare.tsx')).then(…))`. */
export async function withLaterTexts<F>(file: Promise<F>): Promise<F> {
  if (language === 'de') later ??= (await import('./messages/de/later.ts')).later;
  else {
    const { later: english } = await import('./messages/en/later.ts');
    later ??= language === 'en-XB' ? pseudo(english) : english;
  }
  return file;
}
