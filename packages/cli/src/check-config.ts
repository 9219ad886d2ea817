// `castellan check-config`: the settings as the service would read them. It opens nothing and shows no secret.
import type { Setting } from '@castellan/server/platform/config';
import { loadSettings, settingDefinitions } from '@castellan/server/settings';
import type { Call } from './command.ts';

/** Rejects with every problem in the message. */
export async function checkConfig({ environment, print }: Call): Promise<void> {
  const { publicUrl } = loadSettings(environment);
  const definitions: Setting<unknown>[] = Object.values(settingDefinitions);
  const width = Math.max(...definitions.map(({ name }) => name.length)) + 2;
  for (const definition of definitions) {
    const { name } = definition;
    const value = shown(definition, environment[name]);
    print(`${name.padEnd(width)}${value.replace(settingDefinitions.publicUrl.defaultShown, publicUrl)}`);
  }
}

function shown({ defaultShown, secret, emptyCounts }: Setting<unknown>, given: string | undefined): string {
  const isDefault = given === undefined || (given.trim() === '' && !emptyCounts);
  if (isDefault) return `${defaultShown.replaceAll('`', '')} (default)`;
  const text = given.trim();
  if (!secret) return text === '' ? '(empty)' : text;
  return URL.canParse(text) ? withoutSecrets(new URL(text)) : '(set, not shown)';
}

// User name and query go too: tokens are put there as well.
const withoutSecrets = ({ protocol, host, pathname }: URL): string =>
  host === '' ? '(set, not shown)' : `${protocol}//${host}${pathname} (login and options not shown)`;
