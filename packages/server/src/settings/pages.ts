// Settings: mails, and what pages and mails look like.
import { parseColor } from '../modules/console/accent-color.ts';
import { choice, optional, setting, text } from '../platform/config/config.ts';
import { languages } from '../platform/languages.ts';
import { parseLink, parseLinkTemplate } from '../platform/mail/link-template.ts';
import { addressOfSender, parseSmtpUrl } from '../platform/mail/transport.ts';
import { cleanText } from '../platform/security/text.ts';

const sender = (value: string): string => {
  addressOfSender(value);
  return value;
};
/** The name appears in subjects, in the sender of mails and at the top of each page. */
const MAX_SERVICE_NAME_LENGTH = 60;
const serviceName = (value: string): string => {
  const result = cleanText(value, { min: 1, max: MAX_SERVICE_NAME_LENGTH });
  if (!result.ok) throw new Error(result.message);
  return result.value;
};

export const pagesSettings = {
  smtpUrl: setting(
    'SMTP_URL',
    optional(parseSmtpUrl),
    '`smtp://user:password@host:port`. If it is not set, mails are kept as files in `DATA_DIR/outbox`, and printed if standard output is a terminal.',
    { shown: 'none', secret: 'login' },
  ),
  mailFrom: setting(
    'MAIL_FROM',
    sender,
    'Sender of mails: `no-reply@example.com`, or `Name <no-reply@example.com>`. The name defaults to `SERVICE_NAME`.',
    { default: 'no-reply@localhost' },
  ),
  mailTemplatesDir: setting(
    'MAIL_TEMPLATES_DIR',
    optional(text),
    'Folder with mail templates that replace the built-in ones. See docs/integrate/mails.md.',
    { shown: 'none' },
  ),
  serviceName: setting(
    'SERVICE_NAME',
    serviceName,
    'Name of the service in mails and on pages. At most 60 characters.',
    { default: 'Castellan' },
  ),
  language: setting(
    'LANGUAGE',
    choice(...languages),
    'Language of mails to people whose language is unknown: `en` or `de`. See docs/integrate/mails.md.',
    { default: 'en' },
  ),
  logoFile: setting(
    'LOGO_FILE',
    optional(text),
    'Logo on pages: path of an SVG, PNG or WebP file of at most 256 KiB. An SVG must contain no script and no reference to another file.',
    { shown: 'none' },
  ),
  accentColor: setting(
    'ACCENT_COLOR',
    parseColor,
    'Colour of buttons and links on pages, `#rrggbb`. It is moved towards black or white where text would have less contrast than 4.5:1.',
    { default: '#4263eb' },
  ),
  appUrl: setting(
    'APP_URL',
    optional(parseLink),
    'Target of "Continue" on pages and of the link at the foot of mails.',
    { shown: 'none' },
  ),
  verifyUrl: setting(
    'VERIFY_URL',
    optional(parseLinkTemplate),
    "Link in the verification mail, with `{token}` in its path, query or fragment: `https://…`, or an app's own scheme (`com.example.app:/…`). A token in the path or query reaches server logs; one in the fragment does not.",
    { shown: '`PUBLIC_URL/verify-email#token={token}`' },
  ),
  resetUrl: setting(
    'RESET_URL',
    optional(parseLinkTemplate),
    'Link in the password reset mail, in the same form.',
    { shown: '`PUBLIC_URL/reset#token={token}`' },
  ),
  inviteUrl: setting(
    'INVITE_URL',
    optional(parseLinkTemplate),
    'Link in the mail of an invitation, in the same form.',
    { shown: '`PUBLIC_URL/invitation#token={token}`' },
  ),
  changeEmailUrl: setting(
    'CHANGE_EMAIL_URL',
    optional(parseLinkTemplate),
    'Link in the mail that confirms a new email address, in the same form.',
    { shown: '`PUBLIC_URL/confirm-email#token={token}`' },
  ),
  undoEmailUrl: setting(
    'UNDO_EMAIL_URL',
    optional(parseLinkTemplate),
    'Link in the mail to the former email address, which undoes the change, in the same form.',
    { shown: '`PUBLIC_URL/undo-email#token={token}`' },
  ),
  forgotUrl: setting(
    'FORGOT_URL',
    optional(parseLink),
    'Page where users request a password reset mail. Linked from the mail about a locked account and from pages reached by an invalid link. No token.',
    { shown: '`PUBLIC_URL/forgot`' },
  ),
};
