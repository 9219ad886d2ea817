// Tests the mail templates: the built-in ones are complete, and the operator's are used or refused with file and line.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SettingsError } from '../../platform/config.ts';
import { loadMailTemplates, type MailName } from './mail-templates.ts';

const root = mkdtempSync(join(tmpdir(), 'mail-templates-'));
after(() => rmSync(root, { recursive: true }));

function folderWith(files: Record<string, string | Buffer>): string {
  const dir = mkdtempSync(join(root, 'dir-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  return dir;
}

const values = {
  service_name: 'Tom & Co',
  app_url: 'https://app.example.com/?a=1&b=2',
  email: "o'brien&co@example.com",
  first_name: 'Ada "<3"',
  link: 'https://app.example.com/confirm?x=1&token=abc',
  link_lifetime: '24 hours',
  lock_duration: '15 minutes',
};
const names: MailName[] = ['verification', 'password-reset', 'account-locked'];

for (const name of names)
  test(`the built-in ${name} mail names the service and the email, and has the link in both parts`, () => {
    const mail = loadMailTemplates(undefined)[name];
    const [subject, text, html] = [mail.subject(values), mail.text(values), mail.html(values)];
    assert.match(subject, /Tom & Co/);
    assert.doesNotMatch(subject, /\n/);
    for (const value of [values.service_name, values.email, values.link, values.app_url])
      assert.ok(text.includes(value), `${value} is not in\n${text}`);
    assert.ok(html.includes('<a href="https://app.example.com/confirm?x=1&amp;token=abc"'));
    assert.ok(html.includes('o&#39;brien&amp;co@example.com'));
    assert.ok(html.includes('Tom &amp; Co'));
    assert.doesNotMatch(text + html, /\{\{|undefined/);
    assert.doesNotMatch(html, /<3/);
    // RFC 5321, 4.5.3.1.6: no line of a message is longer than 1,000 octets.
    for (const line of `${text}\n${html}`.split('\n')) assert.ok(Buffer.byteLength(line) < 998, line);
    // The mail loads nothing: no image, no style sheet, no script.
    assert.doesNotMatch(html, /<(img|link|script|iframe)\b|url\(|@import/i);
  });

test('a sentence with an empty APP_URL or first name is left out', () => {
  const { 'password-reset': mail } = loadMailTemplates(undefined);
  const bare = { ...values, app_url: '', first_name: '' };
  assert.match(mail.text(bare), /^Hello,$/m);
  assert.doesNotMatch(mail.html(bare), /Open Tom/);
  assert.match(mail.html(values), />Open Tom &amp; Co<\/a>/);
});

test('a template in the folder replaces the built-in one, and a missing template falls back to it', () => {
  const dir = folderWith({
    'verification.subject.txt': 'Bienvenue chez {{service_name}} \n',
    'verification.html': '\uFEFF<p>{{email}} <a href="{{link}}">ok</a></p>',
    'notes.md': 'not a template',
    '.verification.html.swp': '',
  });
  const custom = loadMailTemplates(dir).verification;
  const builtIn = loadMailTemplates(undefined).verification;
  assert.equal(custom.subject(values), 'Bienvenue chez Tom & Co');
  assert.match(custom.html(values), /^<p>o&#39;brien&amp;co@example\.com <a href="https:/);
  assert.equal(custom.text(values), builtIn.text(values));
});

for (const [files, problem] of [
  [
    { 'verification.html': 'x\n{{link}}\n{{nmae}}' },
    /verification\.html, line 3: unknown placeholder \{\{nmae\}\}/,
  ],
  [
    { 'verification.text.txt': '{{link}} {{first_name}}' },
    /line 1: unknown placeholder \{\{first_name\}\}; use/,
  ],
  [
    { 'password-reset.text.txt': '{{#app_url}}\n{{link}}' },
    /password-reset\.text\.txt, line 1: .* never closed/,
  ],
  [{ 'password-reset.text.txt': 'no link' }, /\{\{link\}\} is missing/],
  [{ 'password-reset.html': '{{#app_url}}{{link}}{{/app_url}}' }, /\{\{link\}\} is missing/],
  [
    { 'verification.subject.txt': 'Hello\nBcc: eve@example.com' },
    /verification\.subject\.txt, line 1: .* one line/,
  ],
  [{ 'verification.subject.txt': ' \n' }, /one line/],
  [
    { 'verfication.html': '{{link}}' },
    /verfication\.html, which is not a template; use verification\.subject\.txt/,
  ],
  [{ 'verification.html': Buffer.from([0x7b, 0xff]) }, /verification\.html: is not UTF-8/],
  [{ 'verification.html': `{{link}}${'x'.repeat(300_000)}` }, /is larger than 256 KiB/],
] as const)
  test(`${JSON.stringify(files).slice(0, 80)} is refused`, () => {
    assert.throws(
      () => loadMailTemplates(folderWith(files)),
      (error) => error instanceof SettingsError && problem.test(error.message),
    );
  });

test('all problems are listed at once, including a missing folder', () => {
  const dir = folderWith({ 'verification.html': '', 'password-reset.html': '{{x}}' });
  assert.throws(
    () => loadMailTemplates(dir),
    (error) => error instanceof SettingsError && error.problems.length === 2,
  );
  assert.throws(
    () => loadMailTemplates(join(root, 'missing')),
    /MAIL_TEMPLATES_DIR \(.*missing\) cannot be read/,
  );
  mkdirSync(join(root, 'folder', 'verification.html'), { recursive: true });
  assert.throws(() => loadMailTemplates(join(root, 'folder')), /verification\.html: EISDIR/);
});
