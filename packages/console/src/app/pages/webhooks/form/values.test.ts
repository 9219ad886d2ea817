import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventDescription, Webhook } from '@castellan/sdk';
import { bodyOf, emptyValues, newBodyOf, resourceTypesIn, toldOf, valuesOf } from './values.ts';

const described = (
  type: EventDescription['type'],
  about: EventDescription['resource_types'],
  result: EventDescription['result'] = 'success',
): EventDescription => ({
  type,
  version: 1,
  description: '',
  result,
  resource_types: about,
  schema: {},
  sample: {},
});
const catalogue = [
  described('role_created', ['role']),
  described('login_failed', ['security_event'], 'failure'),
  described('logout', ['security_event']),
];
const known = resourceTypesIn(catalogue);

const webhook: Webhook = {
  id: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210',
  name: 'Billing',
  url: 'https://billing.example.com/events',
  events: ['role_*', 'logout'],
  resource_types: ['role'],
  results: 'failure',
  personal: true,
  status: 'active',
  paused_reason: null,
  waiting: 0,
  dead: 0,
  oldest_waiting_at: null,
  last_success_at: null,
  secrets: [],
  created_at: '2026-03-14T09:26:53.589Z',
  updated_at: '2026-03-14T09:26:53.589Z',
  created_by_id: null,
};

test('the fields of a webhook come back as they are', () => {
  const { name, url, events, resource_types, results, personal } = webhook;
  assert.deepEqual(newBodyOf(valuesOf(webhook), known), {
    name,
    url,
    events,
    resource_types,
    results,
    personal,
  });
});

test('a change has only what differs; no type of record means all of them', () => {
  const values = valuesOf(webhook);
  assert.deepEqual(bodyOf(values, { ...values, name: 'Bills' }, known), { name: 'Bills' });
  assert.deepEqual(bodyOf(values, { ...values, resource_types: '' }, known), { resource_types: null });
  assert.deepEqual(bodyOf(values, values, known), {});
});

test('what a webhook is told of follows from patterns, results and types of records', () => {
  assert.deepEqual(known, ['role', 'security_event']);
  const told = (change: Partial<typeof emptyValues>) =>
    toldOf({ ...emptyValues, events: '*', ...change }, catalogue);
  assert.deepEqual(told({}), ['role_created', 'login_failed', 'logout']);
  assert.deepEqual(told({ results: 'failure' }), ['login_failed']);
  assert.deepEqual(told({ resource_types: 'role' }), ['role_created']);
  assert.deepEqual(told({ events: 'log*', resource_types: 'role' }), []);
  assert.deepEqual(told({ events: '' }), []);
});
