import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EventSource, renderEvent } from '@castellan/contract/event-messages';
import { eventSchema } from '@castellan/contract/events';
import { personalMembers, sampleFor } from './sample.ts';

const entry: EventSource = {
  id: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210',
  timestamp: '2026-03-14T09:26:53.589Z',
  action: 'user_updated',
  actor_id: '0192f0c1-2d4a-7e11-8c55-94b0a61d7f03',
  actor_type: 'user',
  actor_name: null,
  actor_email: 'grace@example.com',
  resource_type: 'user',
  resource_id: '0192f0c1-5e90-7b26-a1d7-0f3c82e4b965',
  resource_name: 'ada@example.com',
  details: {
    before: { email: 'ada@example.com', is_active: true },
    after: { email: 'lovelace@example.com', is_active: false },
    address: '203.0.113.7',
  },
};
const rendered = (personal: boolean, test = false) => ({
  ...renderEvent(entry, { sequence: 1, replay: false, personal, test }),
});
const schema = JSON.parse(JSON.stringify(eventSchema('user_updated')));

test('a sample is what the service sends when it has happened, with personal data and without', () => {
  const event = { sample: rendered(true, true), schema };
  assert.deepEqual(sampleFor(event, true), rendered(true));
  assert.deepEqual(sampleFor(event, false), rendered(false));
  assert.doesNotMatch(JSON.stringify(sampleFor(event, false)), /@|203\.0\.113/);
});

test('personal members are named by their place, also those of records', () => {
  const members = personalMembers(schema);
  for (const one of ['data.actor.email', 'data.resource.name', 'data.details.after.email'])
    assert.ok(members.includes(one), one);
  assert.ok(!members.includes('data.details.after.is_active'));
  assert.deepEqual(personalMembers({}), []);
});
