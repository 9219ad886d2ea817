// The texts of the pages between an application's request and its answer, in the language of the page.
// Whatever shows them loads them first.
import { language, pseudo } from '../../common/language.ts';
import type { InteractionTexts } from '../messages/en/interaction.ts';

/** The texts. Use it while rendering, after `loadInteractionTexts`. */
export let asked: InteractionTexts;

export async function loadInteractionTexts(): Promise<void> {
  if (language === 'de') ({ asked } = await import('../messages/de/interaction.ts'));
  else {
    const { asked: en } = await import('../messages/en/interaction.ts');
    asked = language === 'en-XB' ? pseudo(en) : en;
  }
}
