// The one client of a page.
import { type BrowserOptions, createClient } from '@castellan/sdk';
import { createActingClient } from '@castellan/sdk/acting';
import { acting } from './acting/acting.ts';
import { seeingOwnWrites } from './own-writes.ts';
import { pageSettings } from './page-settings.ts';
import { remembering } from './recent-requests.ts';
import { noticing } from './second-factor-notice.ts';

/** After this time, a page says that the service does not respond, and offers to try again. */
const TIMEOUT_MS = 15_000;

const options: BrowserOptions = {
  baseUrl: `${location.origin}${pageSettings.basePath}`,
  timeoutMs: TIMEOUT_MS,
  fetch: seeingOwnWrites(noticing(remembering((input, init) => fetch(input, init)))),
};

export const client = acting ? createActingClient(options, acting.token) : createClient(options);
