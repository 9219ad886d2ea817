import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unencryptedConnections } from './unencrypted-connections.ts';

const database = (databaseUrl: string) => unencryptedConnections({ databaseUrl }).length;
const smtp = (smtpUrl: string) => unencryptedConnections({ smtpUrl }).length;

test('a database on another machine without TLS gives a warning, in every form of the URL', () => {
  for (const query of ['', '?sslmode=disable', '?application_name=x'])
    assert.equal(database(`postgres://u:p@db.example.com:5432/castellan${query}`), 1, query);
  assert.equal(database('postgres://localhost/castellan?host=10.0.0.9'), 1);
  assert.match(
    unencryptedConnections({ databaseUrl: 'postgres://u:p%40ss@10.0.0.5/c' }).join(),
    /^DATABASE_URL [^@]*$/,
  );
});

test('so does a standby on another machine', () => {
  const warnings = (databaseReplicaUrl: string) => unencryptedConnections({ databaseReplicaUrl });
  assert.match(warnings('postgres://u@10.0.0.5/c').join(), /^DATABASE_REPLICA_URL [^@]*$/);
  assert.deepEqual(warnings('postgres://u@10.0.0.5/c?sslmode=verify-full'), []);
});

test('TLS, this machine and a socket give no warning', () => {
  for (const mode of ['require', 'verify-ca', 'verify-full'])
    assert.equal(database(`postgres://u@db.example.com/castellan?sslmode=${mode}`), 0, mode);
  assert.equal(database('postgres://u@db.example.com/castellan?ssl=true'), 0);
  for (const host of ['localhost', '127.0.0.1', '127.8.0.1', '[::1]', '%2Fvar%2Frun%2Fpostgresql', ''])
    assert.equal(database(`postgres://${host}/castellan`), 0, host);
  assert.equal(database('postgres:///castellan?host=/var/run/postgresql'), 0);
  assert.equal(unencryptedConnections({}).length, 0);
});

test('a mail server on another machine gives a warning unless TLS is required', () => {
  assert.equal(smtp('smtp://u:p@mail.example.com:587'), 1);
  assert.equal(smtp('smtp://u:p@mail.example.com:587/?requireTLS=false'), 1);
  assert.equal(smtp('smtp://u:p@mail.example.com:587/?requireTLS=true'), 0);
  assert.equal(smtp('smtps://u:p@mail.example.com'), 0);
  assert.equal(smtp('smtp://127.0.0.1:1025'), 0);
});
