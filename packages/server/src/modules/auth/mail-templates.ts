// Loads the texts of account mails, built-in or from MAIL_TEMPLATES_DIR, and checks all of them at startup.
// It must not compose a mail: mails.ts has the values.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SettingsError } from '../../platform/config.ts';
import { compileTemplate, TemplateError, type TextTemplate } from '../../platform/mail/text-template.ts';

/** Mail → the placeholders of its templates. Only `app_url` and `first_name` may be empty. */
const placeholders = {
  verification: ['service_name', 'app_url', 'email', 'link', 'link_lifetime'],
  'password-reset': ['service_name', 'app_url', 'email', 'first_name', 'link', 'link_lifetime'],
  'account-locked': ['service_name', 'app_url', 'email', 'first_name', 'link', 'lock_duration'],
} as const;
export type MailName = keyof typeof placeholders;
export type MailValues<N extends MailName> = Readonly<Record<(typeof placeholders)[N][number], string>>;

/** Part → suffix of its file name. */
const parts = { subject: '.subject.txt', text: '.text.txt', html: '.html' } as const;
type Part = keyof typeof parts;

export type MailTemplates = Readonly<Record<MailName, Readonly<Record<Part, TextTemplate>>>>;

// Far above the size of any mail; a larger file is a mistake.
const MAX_TEMPLATE_BYTES = 256 * 1024;
const ownFolder = fileURLToPath(new URL('./mail-templates/', import.meta.url));

/**
 * Reads every template; a template that is not in `dir` falls back to the built-in one. Throws a SettingsError that
 * lists every unusable file with its line.
 */
export function loadMailTemplates(dir: string | undefined): MailTemplates {
  const problems: string[] = [];
  const files = dir === undefined ? [] : templatesIn(dir, problems);
  const load = (name: MailName, part: Part): TextTemplate => {
    const file = `${name}${parts[part]}`;
    const path = dir !== undefined && files.includes(file) ? join(dir, file) : join(ownFolder, file);
    try {
      return compile(readTemplate(path), name, part);
    } catch (error) {
      const line = error instanceof TemplateError ? `, line ${error.line}` : '';
      problems.push(`MAIL_TEMPLATES_DIR has ${resolve(path)}${line}: ${messageOf(error)}`);
      return () => '';
    }
  };
  const loadMail = (name: MailName) => ({
    subject: load(name, 'subject'),
    text: load(name, 'text'),
    html: load(name, 'html'),
  });
  const templates = {
    verification: loadMail('verification'),
    'password-reset': loadMail('password-reset'),
    'account-locked': loadMail('account-locked'),
  };
  if (problems.length > 0) throw new SettingsError(problems);
  return templates;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Returns the file names in the folder. Reports a .txt or .html file with an unknown name, which is probably
 * misspelled.
 */
function templatesIn(dir: string, problems: string[]): string[] {
  const known = Object.keys(placeholders).flatMap((name) =>
    Object.values(parts).map((suffix) => `${name}${suffix}`),
  );
  try {
    const files = readdirSync(dir).filter((file) => /^[^.].*\.(txt|html)$/.test(file));
    for (const file of files.filter((one) => !known.includes(one)))
      problems.push(
        `MAIL_TEMPLATES_DIR has ${resolve(dir, file)}, which is not a template; use ${known.join(', ')}`,
      );
    return files;
  } catch (error) {
    problems.push(`MAIL_TEMPLATES_DIR (${resolve(dir)}) cannot be read: ${messageOf(error)}`);
    return [];
  }
}

function readTemplate(path: string): string {
  const bytes = readFileSync(path);
  if (bytes.length > MAX_TEMPLATE_BYTES) throw new Error(`is larger than ${MAX_TEMPLATE_BYTES / 1024} KiB`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('is not UTF-8');
  }
}

const SAMPLE_LINK = 'https://link.example/';

function compile(source: string, name: MailName, part: Part): TextTemplate {
  if (part === 'subject') {
    const line = source.trim();
    if (line === '' || /\p{Cc}/u.test(line)) throw new TemplateError(1, 'a subject must be one line of text');
    return compileTemplate(line, 'text', placeholders[name]);
  }
  const template = compileTemplate(source, part, placeholders[name]);
  if (!template({ link: SAMPLE_LINK }).includes(SAMPLE_LINK))
    throw new TemplateError(1, 'the placeholder {{link}} is missing');
  return template;
}
