// Offers passkeys as suggestions of the email field. It must not say anything: the button and the password are still there.
import type { PasskeyAssertion, PasskeyRequestOptions } from '@castellan/sdk';
import { readPasskeyOptions } from './calls.ts';
import { endRequest, offerPasskeys } from './ceremony.ts';
import { canSuggest } from './passkeys.ts';

/** The challenge of an offer counts for 10 minutes. */
const RENEW_MS = 8 * 60_000;

/** Ends when the promise of `stop` is settled: only then can another request begin. */
export type Offer = { stop(): Promise<void> };

/**
 * Offers passkeys as suggestions of the email field for as long as the page shows, where the browser can. `use` is called
 * with each that is chosen. Failures of the offer itself are silent: the button and the password are still there.
 */
export function offerInSuggestions(
  use: (answer: PasskeyAssertion, options: PasskeyRequestOptions) => Promise<void>,
): Offer {
  const ended = new AbortController();
  const { signal } = ended;
  let current = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = true;

  /** The one before must have ended: browsers refuse a second request. */
  async function offerAfter(before: Promise<void>): Promise<void> {
    endRequest();
    await before;
    if (signal.aborted) return;
    const options = await readPasskeyOptions(signal);
    if (!signal.aborted) await use(await offerPasskeys(options), options);
  }

  /** An offer that is still fresh stays when the page shows again: some systems hide the page while they ask. */
  function renewIfDue(): void {
    if (!isDue || document.visibilityState !== 'visible' || signal.aborted) return;
    isDue = false;
    current = offerAfter(current).catch(() => {});
    timer = setTimeout(() => {
      isDue = true;
      renewIfDue();
    }, RENEW_MS);
  }

  async function begin(): Promise<void> {
    if (!(await canSuggest()) || signal.aborted) return;
    document.addEventListener('visibilitychange', renewIfDue, { signal });
    renewIfDue();
  }

  const begun = begin();
  return {
    async stop() {
      ended.abort();
      clearTimeout(timer);
      await begun;
      endRequest();
      await current;
    },
  };
}
