// The texts of signing in with a provider, in the language of the page. Whatever shows them loads them first.
import { language, pseudo } from '../../common/language.ts';
import type { ProviderTexts } from '../messages/en/provider.ts';

/** The texts. Use it while rendering, after `loadProviderTexts`. */
export let via: ProviderTexts;

export async function loadProviderTexts(): Promise<void> {
  if (language === 'de') ({ via } = await import('../messages/de/provider.ts'));
  else {
    const { via: en } = await import('../messages/en/provider.ts');
    via = language === 'en-XB' ? pseudo(en) : en;
  }
}
