// `castellan check-config`: prints the settings as the service would read them, and checks the files that they name. It opens no database
// and shows no secret.

import { loadMailTemplates } from '@castellan/server/modules/auth/mail-templates';
import { loadLogo } from '@castellan/server/modules/console/logo';
import type { SettingInForce } from '@castellan/server/platform/config/config';
import { loadSettings } from '@castellan/server/settings';
import { checkNamedFiles } from '@castellan/server/start/checks/named-files';
import type { Call } from '../command.ts';

/** Prints every setting. Rejects if settings or the files that they name are wrong; the message lists every problem. */
export async function checkConfig({ environment, print }: Call): Promise<void> {
  const settings = loadSettings(environment);
  const { inForce, warnings, secretFiles, mailTemplatesDir, language, logoFile } = settings;
  loadMailTemplates(mailTemplatesDir, language);
  loadLogo(logoFile);
  const aboutFiles = await checkNamedFiles(settings);
  const width = Math.max(...inForce.map(({ name }) => name.length)) + 2;
  for (const one of inForce) print(`${one.name.padEnd(width)}${displayed(one, secretFiles.get(one.name))}`);
  for (const warning of [...warnings, ...aboutFiles]) print(`warning: ${warning}`);
}

function displayed(setting: SettingInForce, file: string | undefined): string {
  const { value, default: byDefault, source, is_secret } = setting;
  if (source === 'default' || source === 'generated') return `${value ?? byDefault} (default)`;
  const from = file === undefined ? '' : `from ${file}, `;
  if (value === null) return `(${from === '' ? 'set, ' : from}not shown)`;
  if (value === '') return '(empty)';
  return is_secret ? `${value} (${from}login and options not shown)` : value;
}
