// The mails that warn people about the sign-in of their account: what they say, their links, and how many there are.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import { eventually, startTestService, type TestMail, type TestService } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { startSmtpSink } from '@castellan/testing/smtp-sink';
import { addPerson, type Person } from '@castellan/testing/users/people';
import type { MailKind, MailPayloads, WarningKind } from '../../src/modules/auth/mails/payloads.ts';
import { mayWarn } from '../../src/modules/auth/mails/warning-limit.ts';
import { consumeOneTimeToken } from '../../src/modules/auth/one-time-tokens.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';

const PUBLIC_URL = 'https://id.example.org/castellan';
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0';
const service = await startTestService({ after }, { PUBLIC_URL });

const event = {
  at: '2026-11-27T07:03:59.123Z',
  network: '203.0.113.0/24',
  user_agent: FIREFOX,
};

/** Queues a mail as the operation that causes it does. */
async function queue<K extends MailKind>(on: TestService, kind: K, payload: MailPayloads[K]): Promise<void> {
  const { db, accountMail } = on.service.deps;
  await inTransaction(db, (tx) => accountMail.enqueue(tx, kind, payload));
  accountMail.wake();
}

/** Queues a mail and returns it when it was sent. */
async function sent<K extends MailKind>(
  kind: K,
  payload: MailPayloads[K],
  on: TestService = service,
): Promise<TestMail> {
  const before = mailsTo(on, payload.email, kind).length;
  await queue(on, kind, payload);
  return eventually(() => mailsTo(on, payload.email, kind)[before], `${kind} to ${payload.email}`);
}

async function addWriter(language: 'en' | 'de', state: { isPending?: boolean } = {}): Promise<Person> {
  const person = await addPerson(service);
  await service.sql('update users set language = $2, recovery_pending = $3 where id = $1', [
    person.id,
    language,
    state.isPending ?? false,
  ]);
  return person;
}

const cases: readonly (readonly [
  kind: Exclude<WarningKind, 'second_factor_reset'>,
  values: { factor?: string; left?: number; provider?: string; token?: string; new_email?: string },
  en: RegExp,
  de: RegExp,
])[] = [
  ['second_factor_added', { factor: 'app' }, /factor: authenticator app/, /Faktor: Authenticator-App/],
  ['second_factor_removed', { factor: "Ada's key" }, /factor: Ada's key/, /Faktor: Ada's key/],
  ['recovery_code_used', { left: 0 }, /codes left: 0/, /Wiederherstellungscodes: 0/],
  ['second_factor_attack', {}, /several wrong codes/, /mehrere falsche Codes/],
  ['app_suspended', {}, /is suspended/, /gesperrt/],
  ['new_sign_in', {}, /signed in to/, /angemeldet/],
  ['personal_token_created', { token: 'CI' }, /Token: CI/, /Token: CI/],
  ['identity_connected', { provider: 'Acme' }, /Provider: Acme/, /Anmeldedienst: Acme/],
  [
    'email_change_requested',
    { new_email: 'ada@new.example' },
    /address to ada@new\.example\./,
    /E-Mail-Adresse in ada@new\.example ändern/,
  ],
  ['identity_disconnected', { provider: 'Acme' }, /was disconnected/, /getrennt/],
];

for (const [kind, values, en, de] of cases)
  test(`the mail of ${kind} says when, from where and what to do, and has no link that acts`, async () => {
    const english = await addWriter('en');
    const mail = await sent(kind, { email: english.email, ...event, ...values });
    assert.match(mail.text, en);
    assert.match(mail.text, /^Hello Ada,$/m);
    assert.match(mail.text, /^Time: 27 November 2026, 07:03 UTC$/m);
    assert.match(mail.text, /^Network: 203\.0\.113\.0\/24$/m);
    assert.match(mail.text, /^Device: Firefox on Windows$/m);
    assert.match(mail.text, /^If .* not (you|yours), somebody/m);
    assert.deepEqual(mail.text.match(/https?:\/\/\S+/g), [`${PUBLIC_URL}/forgot`]);
    assert.equal(mail.token, null);

    const german = await addWriter('de');
    const brief = await sent(kind, { email: german.email, ...event, ...values });
    assert.match(brief.text, de);
    assert.match(brief.text, /^Guten Tag Ada Lovelace,$/m);
    assert.match(brief.text, /^Zeit: 27\. November 2026, 07:03 UTC$/m);
    assert.match(brief.text, /^Netzwerk: 203\.0\.113\.0\/24$/m);
    assert.match(brief.text, /^Gerät: Firefox unter Windows$/m);
    assert.deepEqual(brief.text.match(/https?:\/\/\S+/g), [`${PUBLIC_URL}/forgot`]);
  });

test('the mail about somebody who acts as the owner says for how long, and links to the account', async () => {
  for (const [language, texts, time] of [
    [
      'en',
      /is using your account.*ends after 15 minutes at the latest/s,
      /^Time: 27 November 2026, 07:03 UTC$/m,
    ],
    ['de', /benutzt Ihr Konto.*endet spätestens nach 15 Minuten/s, /^Zeit: 27\. November 2026, 07:03 UTC$/m],
  ] as const) {
    const { email } = await addWriter(language);
    const mail = await sent('acted_as', { email, at: event.at, network: '', user_agent: null, minutes: 15 });
    assert.match(mail.text, texts);
    assert.match(mail.text, time);
    assert.doesNotMatch(mail.text, /^(Network|Netzwerk|Device|Gerät):/m);
    assert.deepEqual(mail.text.match(/https?:\/\/\S+/g), [`${PUBLIC_URL}/account`]);
  }
});

test('no text of a request and no name that looks like an address gets into a mail', async () => {
  const { email } = await addWriter('en');
  const mail = await sent('second_factor_added', {
    email,
    at: event.at,
    network: '',
    user_agent: 'visit https://evil.example Windows',
    factor: 'www．evil.example',
  });
  assert.doesNotMatch(mail.text, /evil/);
  assert.match(mail.text, /^Time: .*\nDevice: Windows$/m);
});

test('the name of a factor is escaped in HTML and stays on one line', async (t) => {
  const sink = await startSmtpSink();
  t.after(() => sink.close());
  const mailing = await startTestService(t, { SMTP_URL: sink.url() });
  const { email } = await addPerson(mailing);
  const factor = 'Tom & <b "Jo">\r\nBcc eve';
  await queue(mailing, 'second_factor_removed', { email, ...event, factor });
  const mail = await eventually(() => sink.mails[0], 'the mail');
  const raw = mail.raw.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
  assert.ok(raw.includes('Second factor: Tom & <b "Jo"> Bcc eve'), raw);
  assert.ok(raw.includes('Second factor: Tom &amp; &lt;b &quot;Jo&quot;&gt; Bcc eve<br>'), raw);
  assert.deepEqual(mail.to, [email]);
});

test('the link of a reset works once, for a day, and ends the earlier one', async () => {
  const person = await addWriter('en', { isPending: true });
  const { db } = service.service.deps;
  const use = (token: string | null) =>
    inTransaction(db, (tx) => consumeOneTimeToken(tx, 'recover', token ?? assert.fail('no token')));
  const payload = { email: person.email, ...event };
  const first = await sent('second_factor_reset', payload);
  assert.deepEqual(first.text.match(/https?:\/\/\S+/g), [`${PUBLIC_URL}/login#recovery=${first.token}`]);
  assert.match(first.text, /works once, for 24 hours/);
  const second = await sent('second_factor_reset', payload);
  assert.notEqual(second.token, first.token);
  const [row] = await service.sql<{ minutes: number }>(
    `select extract(epoch from expires_at - created_at)::integer / 60 as minutes from one_time_tokens
     where user_id = $1 and purpose = 'recover'`,
    [person.id],
  );
  assert.equal(row?.minutes, 24 * 60);
  assert.equal(await use(first.token), undefined);
  const other = await inTransaction(db, (tx) =>
    consumeOneTimeToken(tx, 'reset_password', second.token ?? ''),
  );
  assert.equal(other, undefined, 'a recovery link resets no password');
  assert.equal((await use(second.token))?.user_id, person.id);
  assert.equal(await use(second.token), undefined);
});

test('a mail about a reset has no link that the administrator shows, or that would not work', async () => {
  const shown = await addWriter('de', { isPending: true });
  const mail = await sent('second_factor_reset', { email: shown.email, ...event, deliver: 'show' });
  assert.equal(mail.token, null);
  assert.match(mail.text, /Den Link erhalten Sie vom Administrator\./);

  const recovered = await addWriter('en');
  assert.equal((await sent('second_factor_reset', { email: recovered.email, ...event })).token, null);

  const ended = await addWriter('en', { isPending: true });
  await service.service.deps.outbox.stop();
  await queue(service, 'second_factor_reset', { email: ended.email, ...event });
  await service.sql('update users set link_epoch = link_epoch + 1 where id = $1', [ended.id]);
  service.service.deps.outbox.start();
  const late = await eventually(() => mailsTo(service, ended.email, 'second_factor_reset')[0], 'the mail');
  assert.equal(late.token, null);
  const tokens = await service.sql(
    `select from one_time_tokens where purpose = 'recover' and user_id = any($1)`,
    [[shown.id, recovered.id, ended.id]],
  );
  assert.equal(tokens.length, 0);
});

test('an account that is gone or inactive gets no warning, and none is counted', async () => {
  const inactive = await addWriter('en');
  await service.sql('update users set is_active = false where id = $1', [inactive.id]);
  for (const email of [inactive.email, 'nobody@example.com'])
    await queue(service, 'new_sign_in', { email, ...event });
  await waitForEmptyOutbox(service);
  assert.deepEqual(mailsTo(service, inactive.email, 'new_sign_in'), []);
  const counts = await service.sql('select from rate_limits where key like $1', [`%${inactive.id}`]);
  assert.equal(counts.length, 0);
});

test('an account gets ten warnings an hour, one of them about an attack, and one sign-in in ten minutes', async () => {
  const { email, id } = await addWriter('en');
  const payload = { email, ...event };
  for (let count = 0; count < 3; count += 1) {
    await queue(service, 'new_sign_in', payload);
    await queue(service, 'second_factor_attack', payload);
  }
  for (let count = 0; count < 9; count += 1) await queue(service, 'recovery_code_used', payload);
  await waitForEmptyOutbox(service);
  const counts = () =>
    (['new_sign_in', 'second_factor_attack', 'recovery_code_used'] as const).map(
      (kind) => mailsTo(service, email, kind).length,
    );
  assert.deepEqual(counts(), [1, 1, 8]);

  const windows = await service.sql<{ key: string; minutes: number }>(
    `select key, ceil(extract(epoch from reset_at - now()) / 60)::integer as minutes from rate_limits
     where key like $1 order by key`,
    [`%${id}`],
  );
  assert.deepEqual(windows, [
    { key: `new_sign_in-mail|${id}`, minutes: 10 },
    { key: `second_factor_attack-mail|${id}`, minutes: 60 },
    { key: `warning-mail|${id}`, minutes: 60 },
  ]);

  // The way back in is counted apart.
  await service.sql('update users set recovery_pending = true where id = $1', [id]);
  assert.notEqual((await sent('second_factor_reset', payload)).token, null);
  assert.equal(await mayWarn(service.service.deps, id, 'app_suspended'), false);
  assert.equal(await mayWarn(service.service.deps, (await addWriter('en')).id, 'app_suspended'), true);
});

test('a warning that waits for the mail server is counted once, and is not dropped', async (t) => {
  const port = await freePort();
  const mailing = await startTestService(t, { SMTP_URL: `smtp://127.0.0.1:${port}` });
  const { email, id } = await addPerson(mailing);
  await queue(mailing, 'new_sign_in', { email, ...event });
  for (const attempts of [1, 2]) {
    await eventually(async () => {
      const rows = await mailing.sql(
        'select from outbox where attempts = $1 and last_error is not null and locked_until is null',
        [attempts],
      );
      return rows.length === 1 || undefined;
    }, `attempt ${attempts} to fail`);
    if (attempts === 1) await mailing.sql('update outbox set run_at = now()');
  }
  const sink = await startSmtpSink({}, port);
  t.after(() => sink.close());
  await mailing.sql('update outbox set run_at = now() where sent_at is null');
  await eventually(() => sink.mails[0], 'the mail');
  await waitForEmptyOutbox(mailing);
  assert.equal(sink.mails.length, 1);
  const counts = await mailing.sql<{ hits: number }>('select hits from rate_limits where key like $1', [
    `%-mail|${id}`,
  ]);
  assert.deepEqual(counts, [{ hits: 1 }, { hits: 1 }]);
});

test('templates of the operator replace the built-in ones, and FORGOT_URL their link', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-warnings-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'new-sign-in.text.txt'), '{{time}} {{network}} {{device}} {{link}}');
  const own = await startTestService(t, {
    MAIL_TEMPLATES_DIR: folder,
    FORGOT_URL: 'https://app.example.com/forgot-password',
  });
  const { email } = await addPerson(own);
  const mail = await sent('new_sign_in', { email, ...event }, own);
  assert.equal(mail.subject, 'New sign-in to your Castellan account');
  assert.match(
    mail.text,
    /^27 November 2026, 07:03 UTC 203\.0\.113\.0\/24 Firefox on Windows https:\/\/app\.example\.com\/forgot-password$/m,
  );
});

test('a row without a time is no mail, and is tried again', async () => {
  const { email } = await addWriter('en');
  const [row] = await service.sql<{ id: string }>(
    `insert into outbox (kind, payload) values ('app_suspended', jsonb_build_object('email', $1::text)) returning id`,
    [email],
  );
  service.service.deps.accountMail.wake();
  const failed = await eventually(async () => {
    const rows = await service.sql<{ last_error: string | null }>(
      'select last_error from outbox where id = $1',
      [row?.id],
    );
    return rows[0]?.last_error ?? undefined;
  }, 'the attempt to fail');
  assert.match(failed, /the mail has no time/);
  await service.sql('delete from outbox where id = $1', [row?.id]);
});
