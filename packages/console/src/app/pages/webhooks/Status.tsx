// The state of a webhook in a word, and why it is paused.
import type { Webhook } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { Tag } from '../../components/text/badges.tsx';
import { later } from '../../text.ts';

type State = Pick<Webhook, 'status' | 'paused_reason'>;

/** Somebody wanted a pause; every other one needs somebody. */
const toneOf = ({ status, paused_reason }: State): string => {
  if (status === 'active') return 'good';
  if (status === 'failing') return 'warn';
  return paused_reason === 'requested' ? 'gray' : 'bad';
};

export const Status = ({ webhook }: { webhook: State }): ReactElement => (
  <Tag tone={toneOf(webhook)}>{later.webhooks.statuses[webhook.status]}</Tag>
);
