// Signs in with a passkey alone: by the button, or by a suggestion of the email field.

import type { PasskeyAssertion, PasskeyRequestOptions } from '@castellan/sdk';
import { useEffect, useRef } from 'react';
import { useWork, type Work } from '../work.ts';
import { readPasskeyOptions, signInWithPasskey } from './calls.ts';
import { askForPasskey } from './ceremony.ts';
import { type Offer, offerInSuggestions } from './offer.ts';
import { reportUnknown } from './passkeys.ts';

type Chosen = { answer: PasskeyAssertion; options: PasskeyRequestOptions };

async function ask(): Promise<Chosen> {
  const options = await readPasskeyOptions();
  return { answer: await askForPasskey(options), options };
}

async function signIn({ answer, options }: Chosen): Promise<void> {
  try {
    await signInWithPasskey(answer);
  } catch (error) {
    await reportUnknown(error, options, answer);
    throw error;
  }
}

/** `onStart` is called before, `onSignedIn` after the session has started. */
export function usePasskeySignIn(onStart: () => void, onSignedIn: () => Promise<void>): Work {
  const offer = useRef<Offer | null>(null);
  const suggested = useRef<Chosen | null>(null);
  const start = useRef(() => {});
  const beginOffer = (): void => {
    offer.current = offerInSuggestions(async (answer, options) => {
      suggested.current = { answer, options };
      start.current();
    });
  };
  const endOffer = async (): Promise<void> => {
    const ending = offer.current;
    offer.current = null;
    await ending?.stop();
  };
  const work = useWork(async () => {
    onStart();
    const { current } = suggested;
    suggested.current = null;
    await endOffer();
    try {
      await signIn(current ?? (await ask()));
      await onSignedIn();
    } catch (error) {
      beginOffer();
      throw error;
    }
  });
  start.current = work.start;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    beginOffer();
    return () => void endOffer();
  }, []);
  return work;
}
