// Every setting, in sections: environment variable, parser, description and default. docs/configuration.md is generated
// from it.
// It must not read the environment: main.ts and the CLI pass it in.
import {
  readSettings,
  type SettingInForce,
  SettingsError,
  settingsInForce,
} from './platform/config/config.ts';
import { fileVariable, readSecretFiles } from './platform/config/secret-files.ts';
import { needsSecure } from './platform/http/plugins/cookies.ts';
import type { TlsFiles } from './platform/http/server/tls.ts';
import { passkeySiteOf } from './platform/security/factors/passkey-site.ts';
import { accountsSettings } from './settings/accounts.ts';
import { addressSettings } from './settings/address.ts';
import { auditSettings } from './settings/audit.ts';
import { browsersSettings } from './settings/browsers.ts';
import { databaseSettings } from './settings/database.ts';
import { devicesSettings, requireKnownWhileTrusted } from './settings/devices.ts';
import { feedSettings } from './settings/feed.ts';
import { limitsSettings } from './settings/limits.ts';
import { monitoringSettings } from './settings/monitoring.ts';
import { pagesSettings } from './settings/pages.ts';
import { secondFactorsSettings } from './settings/second-factors.ts';
import { sessionsSettings } from './settings/sessions.ts';
import { basePathOf } from './start/checks/public-url.ts';
import { settingWarnings } from './start/checks/setting-warnings.ts';
import { sharesOf } from './start/checks/shares.ts';

/** Title → settings, in the order of the page. */
export const settingSections = {
  Address: addressSettings,
  'Database and secrets': databaseSettings,
  'Mails and pages': pagesSettings,
  'Accounts and passwords': accountsSettings,
  'Second factors': secondFactorsSettings,
  Devices: devicesSettings,
  'Sessions and tokens': sessionsSettings,
  'Change feed': feedSettings,
  'Rate limits': limitsSettings,
  Browsers: browsersSettings,
  'Audit log': auditSettings,
  'Logs, metrics and traces': monitoringSettings,
};

export const settingDefinitions = {
  ...addressSettings,
  ...databaseSettings,
  ...pagesSettings,
  ...accountsSettings,
  ...secondFactorsSettings,
  ...devicesSettings,
  ...sessionsSettings,
  ...feedSettings,
  ...limitsSettings,
  ...browsersSettings,
  ...auditSettings,
  ...monitoringSettings,
};

type Definitions = typeof settingDefinitions;
type Read = { [K in keyof Definitions]: ReturnType<Definitions[K]['read']> };
export type Settings = Omit<Read, 'publicUrl' | 'workers' | 'databasePoolSize' | 'passwordMinLength'> & {
  /** Without a trailing slash. */
  publicUrl: string;
  /** The path of `publicUrl`, such as `/accounts`; often empty. */
  basePath: string;
  workers: number;
  passwordMinLength: number;
  /** Null: the service speaks HTTP. */
  tls: TlsFiles | null;
  /** Of all workers together: at least two for each. */
  databasePoolSize: number;
  /** Every setting as people may see it, without secrets. */
  inForce: readonly SettingInForce[];
  /** Whether people can set up passkeys: browsers can have them of `publicUrl`, and SECOND_FACTORS names them. */
  passkeysAvailable: boolean;
  /** Setting → path of the file that its value comes from. */
  secretFiles: ReadonlyMap<string, string>;
  /** Warnings about settings that are probably a mistake: sentences for the operator. */
  warnings: string[];
};

function tlsFilesOf({ tlsCertFile: certFile, tlsKeyFile: keyFile }: Read): TlsFiles | null {
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  if (certFile === undefined && keyFile === undefined) return null;
  throw new SettingsError([
    'TLS_CERT_FILE and TLS_KEY_FILE belong together, and one of them is not set; set both, or none',
  ]);
}

/** The minimum length of passwords where PASSWORD_MIN_LENGTH does not say it (NIST SP 800-63B-4, 3.1.1.2). */
const minLengths = { spec: 12, nist: 15 };

/**
 * Reads the settings from the environment, and secret ones from the files that it names. Throws one SettingsError that
 * lists every wrong setting with its fix.
 */
export function loadSettings(given: Readonly<Record<string, string | undefined>>): Settings {
  const definitions = Object.values(settingDefinitions);
  const secrets = readSecretFiles(definitions, given);
  const { environment } = secrets;
  const read = readSettings(settingDefinitions, environment, secrets);
  if (read.auditSink?.kind === 'webhook' && read.auditSinkSecret.length === 0)
    throw new SettingsError([
      'AUDIT_SINK_SECRET is not set, so an https sink could not recognize its entries; generate one with: echo "whsec_$(openssl rand -base64 32)"',
    ]);
  if (needsSecure(read.cookiePrefix) && !read.cookieSecure)
    throw new SettingsError([
      `COOKIE_PREFIX is "${read.cookiePrefix}", and browsers take such cookies only over https; remove COOKIE_SECURE=false, or choose a prefix that does not begin with __Host-, __Secure- or __Http-`,
    ]);
  if (read.secondFactors.length === 0 && read.secondFactorRequiredFor !== 'nobody')
    throw new SettingsError([
      `SECOND_FACTOR_REQUIRED_FOR is "${read.secondFactorRequiredFor}", but SECOND_FACTORS is empty, so nobody could set one up; write SECOND_FACTORS=totp, or SECOND_FACTOR_REQUIRED_FOR=nobody`,
    ]);
  requireKnownWhileTrusted(read);
  const tls = tlsFilesOf(read);
  const publicUrl = read.publicUrl ?? `${tls ? 'https' : 'http'}://localhost:${read.port}`;
  if (tls && publicUrl.startsWith('http:'))
    throw new SettingsError([
      'PUBLIC_URL is http and TLS_CERT_FILE is set, so nobody would reach the service there; write the https URL',
    ]);
  const passwordMinLength = read.passwordMinLength ?? minLengths[read.passwordPolicy];
  const settings = {
    ...read,
    ...sharesOf(read),
    passwordMinLength,
    publicUrl,
    tls,
    basePath: basePathOf(publicUrl),
  };
  const names = definitions.flatMap(({ name, secret }) => (secret ? [name, fileVariable(name)] : [name]));
  const chosen: Readonly<Record<string, number | string>> = {
    [settingDefinitions.workers.name]: settings.workers,
    [settingDefinitions.databasePoolSize.name]: settings.databasePoolSize,
    [settingDefinitions.passwordMinLength.name]: passwordMinLength,
    [settingDefinitions.passkeyRpId.name]: passkeySiteOf(settings).rpId,
  };
  const resolve = ({ name, shown }: { name: string; shown: string }): string =>
    String(chosen[name] ?? shown)
      .replace(settingDefinitions.publicUrl.defaultShown, settings.publicUrl)
      .replace(/^PUBLIC_URL\b/, settings.publicUrl);
  return {
    ...settings,
    passkeysAvailable: passkeySiteOf(settings).isFit && settings.secondFactors.includes('passkey'),
    secretFiles: secrets.files,
    inForce: settingsInForce(definitions, environment, resolve, secrets),
    warnings: [...secrets.warnings, ...settingWarnings(settings, given, names)],
  };
}
