// Loads the texts of account mails in every language, built-in or from MAIL_TEMPLATES_DIR, and checks all of them at
// startup.
// It must not compose a mail: mails.ts has the values.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SettingsError } from '../../platform/config/config.ts';
import { type Language, languages } from '../../platform/languages.ts';
import { compileTemplate, TemplateError, type TextTemplate } from '../../platform/mail/text-template.ts';

const person = ['service_name', 'app_url', 'email', 'first_name', 'last_name'] as const;
const warning = [...person, 'link', 'time', 'network', 'device'] as const;

/**
 * Mail → the placeholders of its templates. Only `app_url`, `first_name`, `last_name`, `network`, `device`, `factor`, `provider`, `token`,
 * `webhook`, `failing`, `gone` and `codes_left` may be empty, and the `link` of a reset of second factors.
 */
const placeholders = {
  verification: ['service_name', 'app_url', 'email', 'link', 'link_lifetime'],
  'password-reset': [...person, 'link', 'link_lifetime'],
  'account-locked': [...person, 'link', 'lock_duration'],
  invitation: [...person, 'link', 'link_lifetime'],
  'second-factor-added': [...warning, 'factor'],
  'second-factor-removed': [...warning, 'factor'],
  'second-factor-reset': [...warning, 'link_lifetime'],
  'recovery-code-used': [...warning, 'codes_left'],
  'second-factor-attack': warning,
  'app-suspended': warning,
  'new-sign-in': warning,
  'personal-token-created': [...warning, 'token'],
  'identity-connected': [...warning, 'provider'],
  'identity-disconnected': [...warning, 'provider'],
  'acted-as': [...person, 'link', 'time', 'acting_time'],
  'webhook-paused': [...person, 'link', 'time', 'webhook', 'failing', 'gone'],
  'account-made': [...warning, 'provider'],
  'account-taken-over': [...warning, 'provider'],
  'email-change': ['service_name', 'app_url', 'email', 'link', 'link_lifetime'],
  'email-change-attempt': warning,
  'email-change-requested': [...warning, 'new_email'],
  'email-changed': [...warning, 'new_email', 'link_lifetime'],
  'provider-attempt': [...warning, 'provider'],
  'deletion-planned': [...warning, 'due'],
  'provider-code': ['service_name', 'app_url', 'email', 'provider', 'code', 'code_lifetime'],
} as const;
export type MailName = keyof typeof placeholders;
export type MailValues<N extends MailName> = Readonly<Record<(typeof placeholders)[N][number], string>>;

/** Part → suffix of its file name. */
const parts = { subject: '.subject.txt', text: '.text.txt', html: '.html' } as const;
type Part = keyof typeof parts;

type MailsOfLanguage = Readonly<Record<MailName, Readonly<Record<Part, TextTemplate>>>>;
export type MailTemplates = Readonly<Record<Language, MailsOfLanguage>>;

// Far above the size of any mail; a larger file is a mistake.
const MAX_TEMPLATE_BYTES = 256 * 1024;
const ownFolder = fileURLToPath(new URL('./mail-templates/', import.meta.url));

/**
 * Reads every template. For a language, `<mail>.<language>.<part>` in `dir` counts; for the default language also
 * `<mail>.<part>`. A template that is missing falls back to the built-in one in the same language. Throws a
 * SettingsError that lists every unusable file with its line.
 */
export function loadMailTemplates(dir: string | undefined, defaultLanguage: Language): MailTemplates {
  const problems: string[] = [];
  const files = dir === undefined ? [] : templatesIn(dir, problems);
  if (dir !== undefined) refuseDoubles(dir, files, defaultLanguage, problems);
  const load = (language: Language, name: MailName, part: Part): TextTemplate => {
    const file = `${name}.${language}${parts[part]}`;
    const plain = `${name}${parts[part]}`;
    const own = language === defaultLanguage ? [file, plain] : [file];
    const given = own.find((one) => files.includes(one));
    const path = dir !== undefined && given !== undefined ? join(dir, given) : join(ownFolder, file);
    try {
      return compile(readTemplate(path), name, part);
    } catch (error) {
      const line = error instanceof TemplateError ? `, line ${error.line}` : '';
      problems.push(`MAIL_TEMPLATES_DIR has ${resolve(path)}${line}: ${messageOf(error)}`);
      return () => '';
    }
  };
  const loadMail = (language: Language, name: MailName) => ({
    subject: load(language, name, 'subject'),
    text: load(language, name, 'text'),
    html: load(language, name, 'html'),
  });
  const loadLanguage = (language: Language): MailsOfLanguage => ({
    verification: loadMail(language, 'verification'),
    'password-reset': loadMail(language, 'password-reset'),
    'account-locked': loadMail(language, 'account-locked'),
    invitation: loadMail(language, 'invitation'),
    'second-factor-added': loadMail(language, 'second-factor-added'),
    'second-factor-removed': loadMail(language, 'second-factor-removed'),
    'second-factor-reset': loadMail(language, 'second-factor-reset'),
    'recovery-code-used': loadMail(language, 'recovery-code-used'),
    'second-factor-attack': loadMail(language, 'second-factor-attack'),
    'app-suspended': loadMail(language, 'app-suspended'),
    'new-sign-in': loadMail(language, 'new-sign-in'),
    'personal-token-created': loadMail(language, 'personal-token-created'),
    'identity-connected': loadMail(language, 'identity-connected'),
    'identity-disconnected': loadMail(language, 'identity-disconnected'),
    'acted-as': loadMail(language, 'acted-as'),
    'webhook-paused': loadMail(language, 'webhook-paused'),
    'account-made': loadMail(language, 'account-made'),
    'account-taken-over': loadMail(language, 'account-taken-over'),
    'email-change': loadMail(language, 'email-change'),
    'email-change-attempt': loadMail(language, 'email-change-attempt'),
    'email-change-requested': loadMail(language, 'email-change-requested'),
    'email-changed': loadMail(language, 'email-changed'),
    'provider-attempt': loadMail(language, 'provider-attempt'),
    'deletion-planned': loadMail(language, 'deletion-planned'),
    'provider-code': loadMail(language, 'provider-code'),
  });
  const templates = { en: loadLanguage('en'), de: loadLanguage('de') };
  if (problems.length > 0) throw new SettingsError(problems);
  return templates;
}

const mailNames = Object.keys(placeholders);
const suffixes = Object.values(parts);

/** Reports two files for the same part of the same mail, of which one would be without effect. */
function refuseDoubles(
  dir: string,
  files: readonly string[],
  defaultLanguage: Language,
  problems: string[],
): void {
  for (const name of mailNames)
    for (const suffix of suffixes) {
      const [plain, named] = [`${name}${suffix}`, `${name}.${defaultLanguage}${suffix}`];
      if (files.includes(plain) && files.includes(named))
        problems.push(
          `MAIL_TEMPLATES_DIR (${resolve(dir)}) has ${plain} and ${named}, which are the same text while LANGUAGE is ${defaultLanguage}; remove one of them`,
        );
    }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Returns the file names in the folder. Reports a .txt or .html file with an unknown name, which is probably
 * misspelled.
 */
function templatesIn(dir: string, problems: string[]): string[] {
  const withMiddle = (middle: string): string[] =>
    mailNames.flatMap((name) => suffixes.map((suffix) => `${name}${middle}${suffix}`));
  const plain = withMiddle('');
  const known = [...plain, ...languages.flatMap((language) => withMiddle(`.${language}`))];
  try {
    const files = readdirSync(dir).filter((file) => /^[^.].*\.(txt|html)$/.test(file));
    for (const file of files.filter((one) => !known.includes(one)))
      problems.push(
        `MAIL_TEMPLATES_DIR has ${resolve(dir, file)}, which is not a template; use ${plain.join(', ')}, or one of them with the language before the part, such as verification.de.html`,
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
  const filled = Object.fromEntries(placeholders[name].map((one) => [one, 'x']));
  // What the mail is for. A section may hold it only if it appears whatever the other values are.
  const purpose = name === 'provider-code' ? 'code' : 'link';
  const hasPurpose = [{}, filled].every((others) =>
    template({ ...others, [purpose]: SAMPLE_LINK }).includes(SAMPLE_LINK),
  );
  if (!hasPurpose) throw new TemplateError(1, `the placeholder {{${purpose}}} is missing`);
  return template;
}
