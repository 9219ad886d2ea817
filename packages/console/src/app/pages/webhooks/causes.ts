// Why an attempt failed, in words.
import type { WebhookTest } from '@castellan/sdk';
import { later } from '../../text.ts';

export function causeText(cause: NonNullable<WebhookTest['cause']>, status: number | null): string {
  const texts = later.webhooks;
  return cause === 'status' && status !== null ? texts.answered(status) : texts.causes[cause];
}
