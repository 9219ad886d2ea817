// Writes docs/configuration.md from the definitions of the settings. With --check it only reports a stale page.
// It must not describe a setting: the descriptions are in packages/server/src/settings/.
import { readFile, writeFile } from 'node:fs/promises';
import { settingSections } from '../../packages/server/src/settings.ts';

export const configurationPath = new URL('../../docs/configuration.md', import.meta.url);

type Row = {
  name: string;
  defaultShown: string;
  defaultText: string | undefined;
  description: string;
  secret?: string | null;
};

// A vertical bar would end the cell.
const cell = (text: string): string => text.replaceAll('|', '\\|');

/** A default that can be set as it is shown becomes code; "none", "generated" and the like are words. */
const defaultCell = ({ defaultShown, defaultText }: Row): string =>
  defaultShown === defaultText || /^\w+:\/\//.test(defaultShown)
    ? `\`${cell(defaultShown)}\``
    : cell(defaultShown);

const tableOf = (definitions: readonly Row[]): string => `| Setting | Default | Meaning |
|---|---|---|
${definitions.map((one) => `| \`${one.name}\` | ${defaultCell(one)} | ${cell(one.description)} |`).join('\n')}`;

const secretNames = (definitions: readonly Row[]): string =>
  definitions
    .filter(({ secret }) => secret)
    .map(({ name }) => `\`${name}\``)
    .join(', ');

/** Returns the page, with a table for each section, by its title. */
export function renderConfiguration(
  sections: Readonly<Record<string, Readonly<Record<string, Row>>>>,
): string {
  const tables = Object.entries(sections).map(([title, rows]) => [title, Object.values(rows)] as const);
  return `# Configuration

\`\`\`sh
castellan check-config    # show the values in effect, or every wrong setting
\`\`\`

Castellan is configured by environment variables, and by files for [secrets](#keep-secrets-in-files). It reads them once, when it starts. If a value is wrong, it refuses to start and lists every problem. \`GET /api/v1/settings\` returns the values in effect of a running instance, without secrets, to holders of \`settings.read\`.

## Keep secrets in files

\`\`\`sh
SECRET_KEY_FILE=/run/secrets/secret-key castellan serve
\`\`\`

These settings are secret: ${secretNames(tables.flatMap(([, rows]) => rows))}. Instead of the variable, each can be read from a file:

- \`<NAME>_FILE\` is the path of the file. One line end at its end is ignored. The file must be readable by the user of the service, and at most 64 KiB. The start warns of a file that every user of the machine can read, or that its group or others can write, except below \`/run/secrets\`, where container engines mount secrets.
- A systemd credential with the name of the setting is used without any variable: \`LoadCredential=SECRET_KEY:/etc/castellan/secret-key\`.

If a secret has more than one of the three, or its file is missing, empty or not readable, the start is refused.

${tables.map(([title, rows]) => `## ${title}\n\n${tableOf(rows)}`).join('\n\n')}

<!-- Generated from packages/server/src/settings/: change that and run \`npm run gen\`. -->
`;
}

if (import.meta.main) {
  const text = renderConfiguration(settingSections);
  if (!process.argv.includes('--check')) await writeFile(configurationPath, text);
  else if ((await readFile(configurationPath, 'utf8').catch(() => '')) !== text) {
    process.stderr.write('docs/configuration.md is not what the settings say: run `npm run gen`.\n');
    process.exitCode = 1;
  }
}
