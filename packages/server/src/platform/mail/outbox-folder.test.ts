// Tests mails without an SMTP server, in a real folder.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { deleteOldOutboxFiles } from './outbox-folder.ts';
import { createMailTransport, MailRefusedError, type MailTransport } from './transport.ts';

const mail = {
  to: 'bob@example.com',
  subject: 'Grüße',
  text: 'Hello\nhttps://app.example.com/#s3cr3t',
  html: '<p>Hello</p>',
};
const messageId = '0192f0c1-2345-4678-9abc-def012345678';
const from = 'Castellan <no-reply@castellan.example>';

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'outbox-'));
});
after(() => rm(root, { recursive: true }));

/** Returns a transport and its folder, which does not exist yet. */
async function newFolder(): Promise<{
  transport: MailTransport;
  /** The same without a terminal. */
  unwatched: MailTransport;
  parent: string;
  dir: string;
  printed: string[];
  kept: string[];
}> {
  const parent = await mkdtemp(join(root, 'data-'));
  const dir = join(parent, 'outbox');
  const printed: string[] = [];
  const kept: string[] = [];
  const options = { from, senderName: 'The Keep', outboxDir: dir };
  const transport = createMailTransport({ ...options, print: (text) => void printed.push(text) });
  const unwatched = createMailTransport({ ...options, onKept: (path) => void kept.push(path) });
  return { transport, unwatched, parent, dir, printed, kept };
}

test('a mail becomes one message file for its owner only, with its link in one piece, and is printed', async () => {
  const { transport, dir, printed } = await newFolder();
  await transport.verify();
  await transport.send(mail, { messageId });
  const [name = '', ...others] = await readdir(dir);
  assert.deepEqual(others, []);
  assert.match(name, /^\d{4}-\d\d-\d\dT[\d-]+Z_bob@example\.com_[0-9a-f]{8}\.eml$/);
  const content = await readFile(join(dir, name), 'utf8');
  for (const line of [
    'To: bob@example.com',
    `From: ${from}`,
    'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=',
    `Message-ID: <${messageId}@castellan.example>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Type: text/html; charset=utf-8',
    ...mail.text.split('\n'),
    mail.html,
  ])
    assert.ok(content.split('\n').includes(line), `${line} is not in\n${content}`);
  assert.match(content, /^Date: \w+, \d\d? \w+ \d{4} /m);
  assert.ok(
    printed.join('').includes(`To: bob@example.com\nFrom: ${from}\nSubject: Grüße\n\n${mail.text}\n`),
  );
  assert.ok(printed.join('').includes(join(dir, name)));
  assert.equal((await stat(join(dir, name))).mode & 0o777, 0o600);
  assert.equal((await stat(dir)).mode & 0o777, 0o700);
});

test('without a terminal, only the path of the file is reported', async () => {
  const { unwatched, dir, printed, kept } = await newFolder();
  await unwatched.send(mail, { messageId });
  const [name = ''] = await readdir(dir);
  assert.deepEqual(kept, [join(dir, name)]);
  assert.deepEqual(printed, []);
});

test('a mail cannot inject into the path, the headers or the terminal', async () => {
  const { transport, parent, dir, printed } = await newFolder();
  const to = `../../etc/${'x'.repeat(300)}@example.com`;
  await transport.send(
    { ...mail, to, subject: 'a\r\nBcc: eve@example.com', text: 'red \u001b[31m' },
    { messageId },
  );
  assert.deepEqual(await readdir(parent), ['outbox']);
  const name = (await readdir(dir)).find((one) => one.includes('.._.._etc_'));
  const content = await readFile(join(dir, name ?? ''), 'utf8');
  assert.doesNotMatch(content, /^Bcc:/m);
  assert.ok(!printed.at(-1)?.includes('\u001b'));
});

test('a folder that cannot be written rejects the mail and the check', async () => {
  await writeFile(join(root, 'file'), '');
  const transport = createMailTransport({
    from,
    senderName: 'The Keep',
    outboxDir: join(root, 'file', 'outbox'),
    print: assert.fail,
  });
  await assert.rejects(transport.send(mail, { messageId }), (error) => !(error instanceof MailRefusedError));
  await assert.rejects(transport.verify());
});

test('clean-up deletes old mails, never a younger one or another file', async () => {
  const earlier = '2020-01-01T00-00-00-003Z_old@example.com_0123abcd.txt';
  const own = '2020-01-01T00-00-00-000Z_old@example.com_0123abcd.eml';
  const part = '.2020-01-01T00-00-00-001Z_old@example.com_0123abcd.eml.part';
  const link = '2020-01-01T00-00-00-002Z_link@example.com_0123abcd.eml';
  const foreign = 'notes.txt';
  const { transport, dir } = await newFolder();
  await transport.send(mail, { messageId });
  const youngOnes = await readdir(dir);
  for (const name of [own, earlier, part, foreign]) {
    await writeFile(join(dir, name), '');
    await utimes(join(dir, name), 1_577_836_800, 1_577_836_800);
  }
  await symlink(join(dir, foreign), join(dir, link));
  assert.equal(await deleteOldOutboxFiles(dir, 30, 1), 1);
  assert.equal(await deleteOldOutboxFiles(dir, 30), 2);
  assert.equal(await deleteOldOutboxFiles(dir, 30), 0);
  assert.deepEqual((await readdir(dir)).sort(), [...youngOnes, foreign, link].sort());
  assert.equal(await deleteOldOutboxFiles(join(root, 'missing'), 30), 0);
});
