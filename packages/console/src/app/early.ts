// Runs before the app has loaded, and begins what its first page waits for: the session, the texts, the file of the page,
// the person's record and the first list.
// It must not show anything, nor import a library: it is there to be loaded first.
import { client } from '../common/client.ts';
import { readFirst } from '../common/first-reads.ts';
import { pageSettings } from '../common/page-settings.ts';
import { rememberFor } from '../common/preferences.ts';
import { firstUsers, knownListPath, withActivity } from './first-list.ts';
import { ownRecord } from './own-record.ts';
import { loadPage } from './page-files.ts';
import { loadTexts } from './text.ts';

const path = location.pathname.slice(pageSettings.basePath.length);

/** Sends what the app asks for once somebody is signed in. */
function readFor(subject: string): void {
  readFirst('GET /api/v1/users/me', ownRecord);
  rememberFor(subject);
  const list = path === '/users' && location.search === '' ? knownListPath() : undefined;
  if (list) readFirst(`GET ${list}`, { query: { ...firstUsers(), ...withActivity } });
}

async function begin(): Promise<void> {
  // In the event, because the app may listen by now, and asks as soon as it hears.
  const stop = client.auth.subscribe(({ state, subject }) => {
    if (state === 'authenticated' && subject !== null) readFor(subject);
  });
  const state = await client.auth.restore().finally(stop);
  // After the requests, because a browser has few connections, and the files would keep them waiting.
  if (state === 'authenticated') await loadPage(path);
}

// The app asks for all of it again, and shows a failure.
for (const begun of [begin(), loadTexts()]) begun.catch(() => {});
