// Opens the page of a sign-in with a provider: loads its texts.
import { loadProviderTexts } from '../../provider/text.ts';
import { ProviderPage } from './ProviderPage.tsx';

/** Returns the page, when its texts are there. */
export async function providerPage(): Promise<typeof ProviderPage> {
  await loadProviderTexts();
  return ProviderPage;
}
