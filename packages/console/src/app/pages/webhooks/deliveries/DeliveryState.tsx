// The state of a delivery in a word.
import type { WebhookDelivery } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { Tag } from '../../../components/text/badges.tsx';
import { later } from '../../../text.ts';

const tones = { waiting: 'warn', sent: 'good', dead: 'bad' } as const;

export const DeliveryState = ({ state }: Pick<WebhookDelivery, 'state'>): ReactElement => (
  <Tag tone={tones[state]}>{later.webhooks.deliveries.states[state]}</Tag>
);
