// Makes a sample of an event of each type, from its schema: for the API, and for tests of webhooks.
// It must not read the audit log.

import type { EventSource } from '@castellan/contract/event-messages';
import { aboutOf, type EventType, entryDetails } from '@castellan/contract/events';
import { fieldExamples } from '@castellan/contract/examples';
import { createSampler, schemaOf } from '@castellan/openapi';
import { isObject } from '../../platform/unknown-values.ts';

const ID = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
const ACTOR_ID = '0192f0c1-2d4a-7e11-8c55-94b0a61d7f03';
const RESOURCE_ID = '0192f0c1-5e90-7b26-a1d7-0f3c82e4b965';
const TIMESTAMP = '2026-03-14T09:26:53.589Z';

const sampleOf = createSampler(new Map(), {
  ...fieldExamples,
  address: '203.0.113.7',
  network: '203.0.113.0/24',
  reason: 'administrator',
  via: 'command_line',
});

/** Members of entries that stand for others, or of programs: most entries have none. */
const unusual: ReadonlySet<string> = new Set(['more_left_out', 'key_id', 'token_id']);

/** Returns a made-up entry with every member of its type. The same type always gives the same one. */
export function sampleEntry(type: EventType): EventSource {
  const details = sampleOf(schemaOf(entryDetails(type)));
  const [resourceType = 'security_event'] = aboutOf(type);
  const isAccount = resourceType === 'user' || resourceType === 'security_event';
  return {
    id: ID,
    actor_id: ACTOR_ID,
    actor_type: 'user',
    actor_name: null,
    actor_email: 'grace@example.com',
    action: type,
    resource_type: resourceType,
    resource_id: RESOURCE_ID,
    resource_name: isAccount ? 'ada@example.com' : 'Editor',
    details: isObject(details)
      ? Object.fromEntries(Object.entries(details).filter(([name]) => !unusual.has(name)))
      : {},
    timestamp: TIMESTAMP,
  };
}
