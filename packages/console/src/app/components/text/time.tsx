// Times: relative in lists, with the exact moment on hover and focus.
import { Tooltip } from '@mantine/core';
import { type ReactElement, useSyncExternalStore } from 'react';
import { currentZone, formatAgo, formatDay, formatMoment, subscribeZone } from '../../../common/format.ts';

const useZone = (): void => void useSyncExternalStore(subscribeZone, currentZone);

/** The date; date, time and zone on hover and focus. */
export function Day({ at }: { at: string }): ReactElement {
  useZone();
  return (
    <Tooltip label={formatMoment(at)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards reach the tooltip by it */}
      <time dateTime={at} tabIndex={0} className="time">
        {formatDay(at)}
      </time>
    </Tooltip>
  );
}

/** Date, time and zone. */
export function Moment({ at }: { at: string }): ReactElement {
  useZone();
  return <time dateTime={at}>{formatMoment(at)}</time>;
}

/** For rows of long lists: no tooltip component per cell, but the one of the page. */
export function PlainAgo({ at }: { at: string | null }): ReactElement {
  useZone();
  if (at === null) return <span className="muted">–</span>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards reach the tooltip by it
    <time dateTime={at} tabIndex={0} className="time" data-moment={formatMoment(at)}>
      {formatAgo(at)}
    </time>
  );
}

export function PlainDay({ at }: { at: string }): ReactElement {
  useZone();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards reach the tooltip by it
    <time dateTime={at} tabIndex={0} className="time" data-moment={formatMoment(at)}>
      {formatDay(at)}
    </time>
  );
}
