import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditLogEntry } from '@castellan/sdk';
import { openingsIn } from './openings.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const opened = (minutesAgo: number, details: Record<string, unknown> = { stream: true }): AuditLogEntry => ({
  id: '00000000-0000-7000-8000-000000000001',
  actor_id: null,
  actor_type: 'service_account',
  actor_name: 'Orders',
  actor_email: null,
  action: 'feed_opened',
  resource_type: 'service_account',
  resource_id: '1',
  resource_name: 'Orders',
  details,
  timestamp: new Date(now - minutesAgo * 60_000).toISOString(),
});
const at = (minutesAgo: number): string => new Date(now - minutesAgo * 60_000).toISOString();

test('streams that were opened within the life of a stream count, polls do not', () => {
  const entries = [opened(1), opened(2, { stream: false }), opened(15.9), opened(16.1), opened(900)];
  assert.deepEqual(openingsIn(entries, 100, now), { lastAt: at(1), most: 2, isLowerBound: false });
});

test('openings that were only counted may all be streams', () => {
  const entries = [opened(1, { more_left_out: 40 }), opened(1)];
  assert.deepEqual(openingsIn(entries, 100, now), { lastAt: at(1), most: 41, isLowerBound: false });
});

test('if all that was read is recent, there may be more; without any, nothing was opened', () => {
  assert.equal(openingsIn([opened(1), opened(2)], 2, now).isLowerBound, true);
  assert.equal(openingsIn([opened(1), opened(17)], 2, now).isLowerBound, false);
  assert.deepEqual(openingsIn([], 100, now), { lastAt: null, most: 0, isLowerBound: false });
});
