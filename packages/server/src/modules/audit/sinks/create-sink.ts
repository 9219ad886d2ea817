// Creates the sink of an address.
import { type Logger, outputOf } from '../../../platform/logging/log.ts';
import type { SinkAddress } from './address.ts';
import type { Sink } from './sink.ts';
import { createStdoutSink } from './stdout.ts';
import { createSyslogSink } from './syslog.ts';
import { createWebhookSink } from './webhook.ts';

/** `ca`: certificates to trust instead of the system's, for tests. */
export function createSink(address: SinkAddress, secrets: readonly Buffer[], log: Logger, ca?: string): Sink {
  const trusted = ca === undefined ? {} : { ca };
  if (address.kind === 'stdout') return createStdoutSink(outputOf(log), 'audit');
  if (address.kind === 'syslog') return createSyslogSink(address, trusted);
  return createWebhookSink({ url: address.url, type: 'audit.entries', secrets, ...trusted });
}
