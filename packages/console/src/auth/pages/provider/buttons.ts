// Finds out which providers there are, and loads what their buttons need.
import { CastellanError } from '@castellan/sdk';
import type { ComponentProps } from 'react';
import { interactionId } from '../../interaction/address.ts';
import { pathAfterSignIn } from '../../next.ts';
import { type Provider, type Purpose, readProviders } from '../../provider/calls.ts';
import { loadProviderTexts } from '../../provider/text.ts';
import type { ProviderButtons } from './ProviderButtons.tsx';

export type LoadedButtons = {
  Buttons: typeof ProviderButtons;
  props: Omit<ComponentProps<typeof ProviderButtons>, 'onSay'>;
};

/** Returns the provider that an email address requires, as the service told. */
function requiredIn(error: unknown): Provider[] {
  const { slug, name } = Object(error instanceof CastellanError && error.body?.provider);
  return typeof slug === 'string' && typeof name === 'string' ? [{ slug, name }] : [];
}

/** What the sign-in is for, as the address of the page has it. */
function purpose(): Purpose {
  const id = interactionId();
  const next = pathAfterSignIn(location.search, location.origin, '');
  return id ? { interaction_id: id } : next ? { next } : {};
}

/**
 * Returns null where there is no provider. `refusal`: of an email address whose people must use one, which is then the only one.
 * `known`: those that the page knows already. Rejects if the service does not respond.
 */
export async function providerButtons(
  refusal: unknown,
  known: readonly Provider[] | undefined,
): Promise<LoadedButtons | null> {
  const providers = refusal ? requiredIn(refusal) : (known ?? (await readProviders()));
  if (providers.length === 0) return null;
  const [{ ProviderButtons: Buttons }] = await Promise.all([
    import('./ProviderButtons.tsx'),
    loadProviderTexts(),
  ]);
  return { Buttons, props: { providers, purpose: purpose(), isOnly: Boolean(refusal) } };
}
