// Runs before the app has loaded, and begins what its first page waits for: the session, the texts, the file of the page,
// the person's record and the first list.
// It must not show anything, nor import a library: it is there to be loaded first.

import { pageSettings } from '../common/page-settings.ts';
import { auth } from './data/auth.ts';
import { readFor } from './data/early-reads.ts';
import { pageAt } from './pages.ts';
import { loadTexts } from './text.ts';

const path = location.pathname.slice(pageSettings.basePath.length);

async function begin(): Promise<void> {
  // In the event, because the app may listen by now, and asks as soon as it hears.
  const stop = auth.subscribe(({ state, subject }) => {
    if (state === 'authenticated' && subject !== null)
      readFor(subject, path === '/users' && location.search === '');
  });
  const state = await auth.restore().finally(stop);
  // After the requests, because a browser has few connections, and the files would keep them waiting.
  if (state === 'authenticated') await pageAt(path)?.load();
}

// The app asks for all of it again, and shows a failure.
for (const begun of [begin(), loadTexts()]) begun.catch(() => {});
