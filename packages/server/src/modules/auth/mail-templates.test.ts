// Tests the mail templates: the built-in ones are complete, and the operator's are used or refused with file and line.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SettingsError } from '../../platform/config/config.ts';
import { languages } from '../../platform/languages.ts';
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
  last_name: 'Lovelace',
  link: 'https://app.example.com/confirm?x=1&token=abc',
  link_lifetime: '24 hours',
  lock_duration: '15 minutes',
  time: '27 November 2026, 07:03 UTC',
  network: '2001:db8:1:2::/64',
  device: 'Firefox on Windows',
  factor: 'Ada\'s "key" <3',
  provider: 'Acme "Co" <3',
  codes_left: '7',
  new_email: 'ada@new.example',
};
const warnings: MailName[] = [
  'second-factor-added',
  'second-factor-removed',
  'second-factor-reset',
  'recovery-code-used',
  'second-factor-attack',
  'app-suspended',
  'new-sign-in',
  'identity-connected',
  'identity-disconnected',
  'account-made',
  'account-taken-over',
  'provider-attempt',
  'email-change-attempt',
  'email-change-requested',
  'email-changed',
];
const names: MailName[] = ['verification', 'password-reset', 'account-locked', 'email-change', ...warnings];

for (const language of languages)
  for (const name of names)
    test(`the built-in ${name} mail (${language}) names the service and the email, and has the link in both parts`, () => {
      const mail = loadMailTemplates(undefined, 'en')[language][name];
      const [subject, text, html] = [mail.subject(values), mail.text(values), mail.html(values)];
      assert.match(subject, /Tom & Co/);
      assert.doesNotMatch(subject, /\n/);
      for (const value of [values.service_name, values.email, values.link, values.app_url])
        assert.ok(text.includes(value), `${value} is not in\n${text}`);
      assert.ok(html.includes(`<html lang="${language}">`));
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

for (const language of languages)
  for (const name of warnings)
    test(`the built-in ${name} mail (${language}) says when and from where, and leaves out what is unknown`, () => {
      const mail = loadMailTemplates(undefined, 'en')[language][name];
      const [text, html] = [mail.text(values), mail.html(values)];
      for (const value of [values.time, values.network, values.device])
        assert.ok(text.includes(value) && html.includes(value), `${value} is not in\n${text}`);
      const unknown = { ...values, network: '', device: '', factor: '', provider: '', codes_left: '' };
      const details = mail.text(unknown).match(/^[\p{L} ]+: .*$/gmu);
      assert.deepEqual(
        details?.filter((line) => !line.includes(values.app_url)),
        [language === 'en' ? `Time: ${values.time}` : `Zeit: ${values.time}`],
      );
      assert.doesNotMatch(
        mail.html(unknown),
        /(Network|Device|factor|Provider|left|Netzwerk|Gerät|Faktor|Anmeldedienst|codes): /,
      );
    });

test('the mail about a reset says who has the link if it has none', () => {
  const { en, de } = loadMailTemplates(undefined, 'en');
  const without = { ...values, link: '' };
  for (const part of ['text', 'html'] as const) {
    assert.match(en['second-factor-reset'][part](without), /The administrator hands you the link\./);
    assert.match(de['second-factor-reset'][part](without), /Den Link erhalten Sie vom Administrator\./);
    assert.doesNotMatch(en['second-factor-reset'][part](without), /works once|href=""/);
    assert.doesNotMatch(de['second-factor-reset'][part](without), /gilt einmal|href=""/);
    assert.doesNotMatch(en['second-factor-reset'][part](values), /hands you/);
    assert.doesNotMatch(de['second-factor-reset'][part](values), /vom Administrator/);
  }
});

test('a mail has the same sentences with the same values in each language, and none of another language', () => {
  const { en, de } = loadMailTemplates(undefined, 'en');
  const marked = Object.fromEntries(Object.keys(values).map((name) => [name, `[${name}]`]));
  const used = (text: string): string[] => [...new Set(text.match(/\[\w+\]/g))].sort();
  const own: readonly string[] = ['[last_name]'];
  for (const name of names)
    for (const part of ['subject', 'text', 'html'] as const) {
      const [english, german] = [en[name][part](marked), de[name][part](marked)];
      assert.deepEqual(
        used(german).filter((one) => !own.includes(one)),
        used(english),
        `${name} ${part}`,
      );
      const words = german.replace(/<style>.*<\/style>|<[^>]*>|\[\w+\]/gs, ' ');
      assert.doesNotMatch(words, /\b(the|you|your|account|link works|password|hello)\b/i, `${name} ${part}`);
      assert.match(words, /\b(Ihr|Sie|Ihre|für|Passwort)\b/, `${name} ${part}`);
    }
});

for (const language of languages)
  test(`the built-in provider-code mail (${language}) has the code, the service and the email in both parts, and no link but APP_URL`, () => {
    const mail = loadMailTemplates(undefined, 'en')[language]['provider-code'];
    const code = '01234567';
    const given = { ...values, code, code_lifetime: '15 minutes' };
    const [text, html] = [mail.text(given), mail.html(given)];
    assert.match(mail.subject(given), /Tom & Co/);
    for (const value of [code, '15 minutes', values.service_name, values.email, values.provider])
      assert.ok(text.includes(value), `${value} is not in\n${text}`);
    assert.ok(html.includes(`>${code}</p>`));
    assert.doesNotMatch(text + html, /\{\{|undefined|link\.example|confirm\?/);
    assert.doesNotMatch(html, /<3/);
    assert.deepEqual(
      [...html.matchAll(/href="([^"]*)"/g)].map(([, address]) => address),
      ['https://app.example.com/?a=1&amp;b=2'],
    );
    const unknown = { ...given, provider: '' };
    assert.doesNotMatch(mail.text(unknown) + mail.html(unknown), /(Provider|Anmeldedienst): /);
  });

test('a template of the mail with a code needs the code', () => {
  const dir = folderWith({ 'provider-code.text.txt': 'Hello {{email}}' });
  assert.throws(() => loadMailTemplates(dir, 'en'), /\{\{code\}\} is missing/);
});

test('a sentence with an empty APP_URL or first name is left out', () => {
  const { en, de } = loadMailTemplates(undefined, 'en');
  const mail = en['password-reset'];
  const bare = { ...values, app_url: '', first_name: '', last_name: '' };
  assert.match(mail.text(bare), /^Hello,$/m);
  assert.match(de['password-reset'].text(bare), /^Guten Tag,$/m);
  assert.match(de['password-reset'].text({ ...bare, first_name: 'Ada' }), /^Guten Tag Ada,$/m);
  assert.match(de['password-reset'].text({ ...values, first_name: 'Ada' }), /^Guten Tag Ada Lovelace,$/m);
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
  const custom = loadMailTemplates(dir, 'en').en.verification;
  const builtIn = loadMailTemplates(undefined, 'en').en.verification;
  assert.equal(custom.subject(values), 'Bienvenue chez Tom & Co');
  assert.match(custom.html(values), /^<p>o&#39;brien&amp;co@example\.com <a href="https:/);
  assert.equal(custom.text(values), builtIn.text(values));
});

test('a file without a language is for the default language, and one with a language for that one', () => {
  const ours = loadMailTemplates(undefined, 'en');
  const subjects = (files: Record<string, string>, language: 'en' | 'de') => {
    const { en, de } = loadMailTemplates(folderWith(files), language);
    return [en.verification.subject(values), de.verification.subject(values)];
  };
  const [en, de] = [ours.en.verification.subject(values), ours.de.verification.subject(values)];
  assert.notEqual(en, de);
  assert.deepEqual(subjects({ 'verification.subject.txt': 'own' }, 'en'), ['own', de]);
  assert.deepEqual(subjects({ 'verification.subject.txt': 'own' }, 'de'), [en, 'own']);
  assert.deepEqual(subjects({ 'verification.de.subject.txt': 'eigen' }, 'en'), [en, 'eigen']);
  assert.deepEqual(subjects({ 'verification.de.subject.txt': 'eigen' }, 'de'), [en, 'eigen']);
  const both = { 'verification.subject.txt': 'own', 'verification.de.subject.txt': 'eigen' };
  assert.deepEqual(subjects(both, 'en'), ['own', 'eigen']);
  assert.throws(
    () => subjects(both, 'de'),
    /has verification\.subject\.txt and verification\.de\.subject\.txt, which are the same text while LANGUAGE is de; remove one/,
  );
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
  [{ 'password-reset.html': '{{^app_url}}{{link}}{{/app_url}}' }, /\{\{link\}\} is missing/],
  [
    { 'verification.subject.txt': 'Hello\nBcc: eve@example.com' },
    /verification\.subject\.txt, line 1: .* one line/,
  ],
  [{ 'verification.subject.txt': ' \n' }, /one line/],
  [{ 'verification.de.html': 'x' }, /verification\.de\.html, line 1: .*\{\{link\}\} is missing/],
  [
    { 'verification.fr.html': '{{link}}' },
    /verification\.fr\.html, which is not a template; .* verification\.de\.html/,
  ],
  [
    { 'verfication.html': '{{link}}' },
    /verfication\.html, which is not a template; use verification\.subject\.txt/,
  ],
  [{ 'verification.html': Buffer.from([0x7b, 0xff]) }, /verification\.html: is not UTF-8/],
  [{ 'verification.html': `{{link}}${'x'.repeat(300_000)}` }, /is larger than 256 KiB/],
] as const)
  test(`${JSON.stringify(files).slice(0, 80)} is refused`, () => {
    assert.throws(
      () => loadMailTemplates(folderWith(files), 'en'),
      (error) => error instanceof SettingsError && problem.test(error.message),
    );
  });

test('all problems are listed at once, including a missing folder', () => {
  const dir = folderWith({ 'verification.html': '', 'password-reset.html': '{{x}}' });
  assert.throws(
    () => loadMailTemplates(dir, 'en'),
    (error) => error instanceof SettingsError && error.problems.length === 2,
  );
  assert.throws(
    () => loadMailTemplates(join(root, 'missing'), 'en'),
    /MAIL_TEMPLATES_DIR \(.*missing\) cannot be read/,
  );
  mkdirSync(join(root, 'folder', 'verification.html'), { recursive: true });
  assert.throws(() => loadMailTemplates(join(root, 'folder'), 'en'), /verification\.html: EISDIR/);
});
