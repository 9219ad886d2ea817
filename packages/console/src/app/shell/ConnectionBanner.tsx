// Says that the browser is offline.
import { type ReactElement, useSyncExternalStore } from 'react';
import { t } from '../text.ts';

function subscribe(listener: () => void): () => void {
  window.addEventListener('online', listener);
  window.addEventListener('offline', listener);
  return () => {
    window.removeEventListener('online', listener);
    window.removeEventListener('offline', listener);
  };
}

export function ConnectionBanner(): ReactElement | null {
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  return isOnline ? null : (
    <p className="banner" role="status">
      {t.common.session.offline}
    </p>
  );
}
