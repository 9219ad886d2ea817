// Whether somebody acts as another user on this page. It does not change while the page runs: to begin and to end it, another one loads.
// It must not let a page of one person go on as the other.

import { addressOf } from '../page-settings.ts';
import { dropToken, forgetKept, type Kept, keep, readKept } from './storage.ts';

type Acting = Kept & { token: string };

const found = readKept();

const isLive = (kept: Kept | null): kept is Acting => kept?.token !== undefined && kept.untilMs > Date.now();

/** Null if the person of this page acts as themselves. */
export const acting: Acting | null = isLive(found) ? found : null;

/** The name of the user as whom the person acted on the page before; null if they did not. */
export const formerName: string | null = acting ? null : (found?.name ?? null);

let isOver = acting === null;

if (acting) {
  dropToken();
  addEventListener('pagehide', () => {
    if (!isOver) keep(acting);
  });
} else forgetKept();

// Only of pages: tests of single modules have none.
globalThis.addEventListener?.('pageshow', (event) => {
  // A page that the browser kept is of the person who used it then.
  if (event.persisted && (acting || readKept())) location.reload();
});

/** Loads the page anew, as the user. `minutes`: how long the token lives. Throws if the browser blocks storage. */
export function beginActing(as: { token: string; name: string; minutes: number }): void {
  const untilMs = Date.now() + as.minutes * 60_000;
  const from = location.pathname + location.search;
  keep({ token: as.token, name: as.name, untilMs, from });
  location.replace(addressOf('/overview'));
}

/** Loads the page where the person was before, as themselves. */
export function leaveActing(): void {
  isOver = true;
  location.replace(acting?.from ?? addressOf('/overview'));
}
