// The frame in grey, as app.html shows it before the app runs. The file of the page loads while the session is continued.
import { type ReactElement, useEffect, useState } from 'react';
import { loadFirstPage } from '../router.tsx';
import { t } from '../text.ts';

const lines = ['title', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'];

/** Continuing a session takes less. More means that the service asked to wait, or that the network is slow. */
const PATIENCE_MS = 2_500;

export function Boot(): ReactElement {
  const [isSlow, setSlow] = useState(false);
  useEffect(loadFirstPage, []);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="boot" aria-busy="true">
      <div className="boot-header" />
      <div className="boot-nav" />
      <div className="boot-main">
        {isSlow && <p role="status">{t.common.session.reconnecting}</p>}
        {lines.map((line) => (
          <i key={line} />
        ))}
      </div>
    </div>
  );
}
