// Runs before the app has loaded, and begins what its first page waits for: the session, the texts, the file of the page,
// the person's record and the first list.
// It must not show anything, nor import a library: it is there to be loaded first.
import { client } from '../common/client.ts';
import { readFirst } from '../common/first-reads.ts';
import { pageSettings } from '../common/page-settings.ts';
import { rememberFor } from '../common/preferences.ts';
import { firstList, knownListPath, type ListPath, readableListPath } from './first-list.ts';
import { ownRecord } from './own-record.ts';
import { pageAt } from './pages.ts';
import { loadTexts } from './text.ts';

const path = location.pathname.slice(pageSettings.basePath.length);

const readList = (list: ListPath | undefined): void => {
  if (list) void readFirst(`GET ${list}`, firstList());
};

/** Sends what the app asks for once somebody is signed in. */
function readFor(subject: string): void {
  const own = readFirst('GET /api/v1/users/me', ownRecord);
  rememberFor(subject);
  if (path !== '/users' || location.search !== '') return;
  const known = knownListPath();
  if (known) readList(known);
  // In a browser that does not know yet, the record says it, long before the app runs.
  else
    own
      .then(({ result: { data } }) => {
        // Until then, every other operation is refused.
        if (!data.must_change_password)
          readList(readableListPath((permission) => data.permissions.includes(permission)));
      })
      .catch(() => {});
}

async function begin(): Promise<void> {
  // In the event, because the app may listen by now, and asks as soon as it hears.
  const stop = client.auth.subscribe(({ state, subject }) => {
    if (state === 'authenticated' && subject !== null) readFor(subject);
  });
  const state = await client.auth.restore().finally(stop);
  // After the requests, because a browser has few connections, and the files would keep them waiting.
  if (state === 'authenticated') await pageAt(path)?.load();
}

// The app asks for all of it again, and shows a failure.
for (const begun of [begin(), loadTexts()]) begun.catch(() => {});
