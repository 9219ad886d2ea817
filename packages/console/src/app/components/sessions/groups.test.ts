// Which sessions stand together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupSessions, type ListedSession } from './groups.ts';

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0';

const session = (id: string, change: Partial<ListedSession> = {}): ListedSession => ({
  id,
  origin_address: null,
  last_address: null,
  unusual_network: null,
  user_agent: FIREFOX,
  created_at: '',
  last_used_at: '',
  expires_at: '',
  current: false,
  ...change,
});
const of = (id: string): Partial<ListedSession> => ({
  user: { id, email: '', first_name: '', last_name: '' },
});
const ids = (sessions: readonly ListedSession[]): string[] =>
  groupSessions(sessions).map((group) => group.sessions.map(({ id }) => id).join());

test('sessions of one person on one device stand where the first of them stood', () => {
  const sessions = [
    session('1', of('grace')),
    session('2', of('omar')),
    session('3', of('grace')),
    session('4', { ...of('grace'), user_agent: 'curl/8.5.0' }),
    session('5', of('omar')),
    session('6', of('grace')),
  ];
  assert.deepEqual(ids(sessions), ['1,3,6', '2,5', '4']);
});

test('devices with one name are one, whatever else their User-Agent says', () => {
  assert.deepEqual(
    ids([
      session('1', { user_agent: 'curl/8.5.0' }),
      session('2', { user_agent: 'curl/8.5.1' }),
      session('3', { user_agent: 'curl/8.6.0' }),
    ]),
    ['1,2', '3'],
  );
});

test('devices without a name are one only if all of their User-Agent is the same', () => {
  assert.deepEqual(
    ids([
      session('1', { user_agent: null }),
      session('2', { user_agent: '???' }),
      session('3', { user_agent: null }),
      session('4', { user_agent: '!!!' }),
      session('5', { user_agent: '???' }),
    ]),
    ['1,3', '2,5', '4'],
  );
});

test('the session in use stands alone, and sessions of an unusual network beside the others', () => {
  assert.deepEqual(
    ids([
      session('1'),
      session('2', { current: true }),
      session('3', { unusual_network: 'new' }),
      session('4', { unusual_network: 'changed' }),
      session('5'),
      session('6', { unusual_network: 'new' }),
    ]),
    ['1,5', '2', '3,6', '4'],
  );
});
