// `castellan check-config`: prints the settings as the service would read them. It opens no database and shows no secret.

import { loadMailTemplates } from '@castellan/server/modules/auth/mail-templates';
import type { SettingInForce } from '@castellan/server/platform/config';
import { loadLogo } from '@castellan/server/platform/logo';
import { loadSettings } from '@castellan/server/settings';
import type { Call } from './command.ts';

/** Prints every setting. Rejects if settings are wrong; the message lists every problem. */
export async function checkConfig({ environment, print }: Call): Promise<void> {
  const { inForce, warnings, mailTemplatesDir, language, logoFile } = loadSettings(environment);
  loadMailTemplates(mailTemplatesDir, language);
  loadLogo(logoFile);
  const width = Math.max(...inForce.map(({ name }) => name.length)) + 2;
  for (const one of inForce) print(`${one.name.padEnd(width)}${displayed(one)}`);
  for (const warning of warnings) print(`warning: ${warning}`);
}

function displayed({ value, default: byDefault, source, is_secret }: SettingInForce): string {
  if (source !== 'environment') return `${value ?? byDefault} (default)`;
  if (value === null) return '(set, not shown)';
  if (value === '') return '(empty)';
  return is_secret ? `${value} (login and options not shown)` : value;
}
