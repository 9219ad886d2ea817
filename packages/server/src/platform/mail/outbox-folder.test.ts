// Mails without an SMTP server, in a real folder.
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

/** A transport and a folder of its own, which is not there yet. */
async function newFolder(): Promise<{
  transport: MailTransport;
  parent: string;
  dir: string;
  printed: string[];
}> {
  const parent = await mkdtemp(join(root, 'data-'));
  const dir = join(parent, 'outbox');
  const printed: string[] = [];
  const transport = createMailTransport({ from, outboxDir: dir, print: (text) => void printed.push(text) });
  return { transport, parent, dir, printed };
}

test('a mail becomes one readable file for its owner only, and is printed', async () => {
  const { transport, dir, printed } = await newFolder();
  await transport.verify();
  await transport.send(mail, { messageId });
  const [name, ...others] = await readdir(dir);
  assert.deepEqual(others, []);
  assert.match(name ?? '', /^\d{4}-\d\d-\d\dT[\d-]+Z_bob@example\.com_[0-9a-f]{8}\.txt$/);
  const content = await readFile(join(dir, name ?? ''), 'utf8');
  const date = /^Date: (.*)$/m.exec(content)?.[1];
  assert.equal(
    content,
    `To: bob@example.com\nFrom: ${from}\nSubject: Grüße\nDate: ${date}\n` +
      `Message-ID: <${messageId}@castellan.example>\n\n${mail.text}\n`,
  );
  assert.ok(printed.join('').includes(content));
  assert.equal((await stat(join(dir, name ?? ''))).mode & 0o777, 0o600);
  assert.equal((await stat(dir)).mode & 0o777, 0o700);
});

test('neither path, headers nor terminal can be led astray', async () => {
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
    outboxDir: join(root, 'file', 'outbox'),
    print: assert.fail,
  });
  await assert.rejects(transport.send(mail, { messageId }), (error) => !(error instanceof MailRefusedError));
  await assert.rejects(transport.verify());
});

test('clean-up removes old mails, never a younger one or a file of someone else', async () => {
  const own = '2020-01-01T00-00-00-000Z_old@example.com_0123abcd.txt';
  const part = '.2020-01-01T00-00-00-001Z_old@example.com_0123abcd.txt.part';
  const link = '2020-01-01T00-00-00-002Z_link@example.com_0123abcd.txt';
  const foreign = 'notes.txt';
  const { transport, dir } = await newFolder();
  await transport.send(mail, { messageId });
  const youngOnes = await readdir(dir);
  for (const name of [own, part, foreign]) {
    await writeFile(join(dir, name), '');
    await utimes(join(dir, name), 1_577_836_800, 1_577_836_800);
  }
  await symlink(join(dir, foreign), join(dir, link));
  assert.equal(await deleteOldOutboxFiles(dir, 30, 1), 1);
  assert.equal(await deleteOldOutboxFiles(dir, 30), 1);
  assert.equal(await deleteOldOutboxFiles(dir, 30), 0);
  assert.deepEqual((await readdir(dir)).sort(), [...youngOnes, foreign, link].sort());
  assert.equal(await deleteOldOutboxFiles(join(root, 'missing'), 30), 0);
});
