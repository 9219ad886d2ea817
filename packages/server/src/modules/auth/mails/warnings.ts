// Says in words what a warning is about: which factor, when, and from where.
// It must not put the text of a request into a mail: a browser is named by our own words, and a name that looks like an
// address is left out.
import { duration } from '../../../platform/counted.ts';
import { describeUserAgent } from '../../../platform/http/user-agent.ts';
import type { Language } from '../../../platform/languages.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import { greetableName } from './greetable-name.ts';
import type { Warning, WarningKind } from './payloads.ts';

/** Kind of a warning → the name of its templates. */
export const warningNames = {
  second_factor_added: 'second-factor-added',
  second_factor_removed: 'second-factor-removed',
  second_factor_reset: 'second-factor-reset',
  recovery_code_used: 'recovery-code-used',
  second_factor_attack: 'second-factor-attack',
  app_suspended: 'app-suspended',
  new_sign_in: 'new-sign-in',
  personal_token_created: 'personal-token-created',
  identity_connected: 'identity-connected',
  identity_disconnected: 'identity-disconnected',
  acted_as: 'acted-as',
  account_made: 'account-made',
  account_taken_over: 'account-taken-over',
  email_change_requested: 'email-change-requested',
  webhook_paused: 'webhook-paused',
} as const satisfies Record<WarningKind, string>;

export const isWarning = (kind: string): kind is WarningKind => Object.hasOwn(warningNames, kind);

type Words = { app: string; on: string; locale: string };
const words: Readonly<Record<Language, Words>> = {
  // British English writes the day before the month, which cannot be misread.
  en: { app: 'authenticator app', on: 'on', locale: 'en-GB' },
  de: { app: 'Authenticator-App', on: 'unter', locale: 'de' },
};

/** Returns the values of a warning, which are empty where nothing is known. */
export const warningValues = (warning: Warning, language: Language) => ({
  time: utcTime(warning.at, language),
  network: warning.network,
  device: deviceName(warning.userAgent, language),
  factor: warning.factor === 'app' ? words[language].app : greetableName(warning.factor),
  provider: greetableName(warning.provider),
  token: greetableName(warning.token),
  webhook: greetableName(warning.webhook),
  // Sections of a template: one of them is not empty.
  failing: warning.reason === 'failing' ? warning.reason : '',
  gone: warning.reason === 'gone' ? warning.reason : '',
  new_email: shownEmail(warning.newEmail),
  codes_left: warning.left === null ? '' : String(warning.left),
  acting_time: warning.minutes === null ? '' : duration(warning.minutes, language),
});

type Formats = { day: Intl.DateTimeFormat; time: Intl.DateTimeFormat };
const formats: { [language in Language]?: Formats } = {};

/** Returns such as "27 November 2026, 07:03 UTC". */
export function utcTime(at: Date, language: Language): string {
  formats[language] ??= formatsOf(words[language].locale);
  const { day, time } = formats[language];
  return `${day.format(at)}, ${time.format(at)} UTC`;
}

/** Making the two costs more than the rest of a mail. */
const formatsOf = (locale: string): Formats => ({
  day: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }),
  time: new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: 'UTC' }),
});

/** Returns such as "Firefox on Windows". */
function deviceName(userAgent: string | null, language: Language): string {
  const { browser, system } = describeUserAgent(userAgent);
  return browser !== null && system !== null
    ? `${browser} ${words[language].on} ${system}`
    : (browser ?? system ?? '');
}
