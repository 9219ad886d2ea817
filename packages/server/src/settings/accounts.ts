// Settings: the first accounts, passwords, and how accounts end.
import { passwordPolicyNames } from '@castellan/contract/auth';
import { MAX_INVITATION_HOURS } from '@castellan/contract/invitations';
import { MAX_SELF_DELETION_DAYS } from '@castellan/contract/leaving';
import { readBannedWords } from '../modules/passwords/banned-words.ts';
import { choice, flag, integer, number, optional, orOff, setting, text } from '../platform/config/config.ts';
import { canonicalEmail } from '../platform/security/email.ts';

const email = (value: string): string => {
  const canonical = canonicalEmail(value);
  if (canonical === null) throw new Error('is not an email address; write one such as admin@example.com');
  return canonical;
};
/** The other password rules need the account, so only the length is checked here. */
const firstPassword = (value: string): string => {
  if ([...value].length < 8) throw new Error('must have at least 8 characters; 12 or more are better');
  return text(value);
};

export const accountsSettings = {
  firstSuperuserEmail: setting(
    'FIRST_SUPERUSER_EMAIL',
    email,
    'Email of the superuser that is created at the first start.',
    { default: 'admin@example.com' },
  ),
  firstSuperuserPassword: setting(
    'FIRST_SUPERUSER_PASSWORD',
    optional(firstPassword),
    'Password of the first superuser, at least 8 characters. If it is not set, one is generated: shown once at a terminal, otherwise kept in `DATA_DIR/first-superuser-password`.',
    { shown: 'generated', secret: 'value', generated: true },
  ),
  defaultRole: setting(
    'DEFAULT_ROLE',
    (value: string) => value,
    'Role of users who register themselves. Empty for none.',
    { default: 'User', emptyCounts: true },
  ),
  passwordPolicy: setting(
    'PASSWORD_POLICY',
    choice(...passwordPolicyNames),
    'Rules of passwords. `spec` asks for an upper-case letter, a lower-case letter, a digit and a special character, and refuses runs such as `abc` and `aaa`. `nist` has none of these rules and asks for longer passwords (NIST SP 800-63B).',
    { default: 'spec' },
  ),
  passwordMinLength: setting(
    'PASSWORD_MIN_LENGTH',
    optional(integer(8, 128)),
    'Minimum length of a password, in characters. The maximum is 128.',
    { shown: '12; 15 with `PASSWORD_POLICY=nist`' },
  ),
  passwordBannedWords: setting(
    'PASSWORD_BANNED_WORDS',
    readBannedWords,
    'Words of your product and organisation, between commas or on lines, at most 1,000. A password that consists of them and of digits, symbols and look-alikes of letters is refused.',
    { default: '', shown: 'none', secret: 'value' },
  ),
  passwordBreachFile: setting(
    'PASSWORD_BREACH_FILE',
    optional(text),
    'Path of a file of SHA-1 hashes of leaked passwords, `HASH` or `HASH:COUNT` a line, ordered by hash. Passwords in it are refused. See docs/operate/production.md.',
    { shown: 'none' },
  ),
  passwordHistoryCount: setting(
    'PASSWORD_HISTORY_COUNT',
    integer(0, 50),
    'Number of former passwords that cannot be used again.',
    { default: '5' },
  ),
  passwordMinStrength: setting(
    'PASSWORD_MIN_STRENGTH',
    integer(0, 4),
    'Minimum zxcvbn score of a password, 0 to 4.',
    { default: '3' },
  ),
  lockoutAttempts: setting(
    'ACCOUNT_LOCKOUT_ATTEMPTS',
    integer(1, 1_000),
    'Number of failed sign-ins that locks an account.',
    { default: '5' },
  ),
  lockoutMinutes: setting(
    'ACCOUNT_LOCKOUT_DURATION',
    number(0.01, 525_600),
    'How long an account stays locked, in minutes.',
    { default: '15' },
  ),
  unverifiedAccountHours: setting(
    'UNVERIFIED_ACCOUNT_CLEANUP_HOURS',
    number(0, 100_000),
    'Age at which an account that registered itself and was never verified is removed, in hours.',
    { default: '72' },
  ),
  invitationHours: setting(
    'INVITATION_EXPIRE_HOURS',
    integer(1, MAX_INVITATION_HOURS),
    'How long the link of an invitation works, in hours, unless the invitation says otherwise.',
    { default: '168' },
  ),
  personalTokens: setting(
    'PERSONAL_TOKENS',
    flag,
    'Whether people may make personal access tokens. `off` also refuses those that were made before.',
    { default: 'on' },
  ),
  personalTokenMaxDays: setting(
    'PERSONAL_TOKEN_MAX_DAYS',
    integer(1, 3_650),
    'Longest life of a personal access token, in days.',
    { default: '366' },
  ),
  selfDeletionDays: setting(
    'SELF_DELETION_DAYS',
    orOff(integer(0, MAX_SELF_DELETION_DAYS)),
    'Lets people delete their own account: it is not active at once, and removed after so many days, until which the link of a mail keeps it. `0`: at the next clean-up. `off`: people cannot delete their account.',
    { default: 'off' },
  ),
  cleanupIntervalMinutes: setting(
    'CLEANUP_INTERVAL_MINUTES',
    number(0.01, 100_000),
    'Time between two runs of the clean-up, in minutes.',
    { default: '60' },
  ),
};
