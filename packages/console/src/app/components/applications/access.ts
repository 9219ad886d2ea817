// What is said of access that an application has.
import type { OwnAccess } from '@castellan/sdk';
import { formatAgo, formatDay } from '../../../common/format.ts';
import { later } from '../../text.ts';

type Access = Pick<OwnAccess, 'since' | 'last_used_at' | 'until'>;

/** Returns since when, when last and until when an application has access, in one line. */
export function accessTimes({ since, last_used_at: used, until }: Access): string {
  const texts = later.applicationAccess;
  return [
    texts.since(formatDay(since)),
    used === null ? texts.unused : texts.used(formatAgo(used)),
    texts.until(formatDay(until)),
  ].join(' · ');
}
