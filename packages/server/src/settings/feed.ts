// Settings: the change feed, which tells services what to forget of the answers that they keep.
import { flag, integer, setting } from '../platform/config/config.ts';

export const feedSettings = {
  feed: setting(
    'FEED',
    flag,
    'Whether services can read what has changed, and so keep answers until then. While none does, it costs next to nothing.',
    { default: 'true' },
  ),
  feedStreams: setting(
    'FEED_STREAMS',
    integer(1, 100_000),
    'Readers of the change feed at a time. A further one gets 503. Each worker of each instance counts separately.',
    { default: '2000' },
  ),
  feedStreamsPerCaller: setting(
    'FEED_STREAMS_PER_CALLER',
    integer(1, 100_000),
    'Readers of the change feed of one service account at a time. A further one gets 429. Each worker of each instance counts separately.',
    { default: '1000' },
  ),
};
