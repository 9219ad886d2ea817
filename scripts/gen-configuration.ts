// Writes docs/configuration.md from the settings' own definitions; with --check it only tells whether that is needed.
// It must not hold a word on a single setting: those stand in packages/server/src/settings.ts.
import { readFile, writeFile } from 'node:fs/promises';
import { settingDefinitions } from '../packages/server/src/settings.ts';

export const configurationPath = new URL('../docs/configuration.md', import.meta.url);

type Row = { name: string; defaultShown: string; description: string };

// A bar would end the cell.
const cell = (text: string): string => text.replaceAll('|', '\\|');

/** A default that the service takes as it stands is code; "none", "made" and the like are words. */
const defaultCell = ({ defaultShown, defaultText }: Row & { defaultText: string | undefined }): string =>
  defaultShown === defaultText || /^\w+:\/\//.test(defaultShown)
    ? `\`${cell(defaultShown)}\``
    : cell(defaultShown);

export function renderConfiguration(
  definitions: readonly (Row & { defaultText: string | undefined })[],
): string {
  return `# Configuration

Castellan is configured by environment variables alone; they are read once, when it starts. A wrong value stops the start with every problem listed, and \`npm run castellan -- check-config\` shows what would be used.

| Setting | Default | Meaning |
|---|---|---|
${definitions.map((one) => `| \`${one.name}\` | ${defaultCell(one)} | ${cell(one.description)} |`).join('\n')}

<!-- Generated from packages/server/src/settings.ts: change that and run \`npm run gen\`. -->
`;
}

if (import.meta.main) {
  const text = renderConfiguration(Object.values(settingDefinitions));
  if (!process.argv.includes('--check')) await writeFile(configurationPath, text);
  else if ((await readFile(configurationPath, 'utf8').catch(() => '')) !== text) {
    process.stderr.write('docs/configuration.md is not what the settings say: run `npm run gen`.\n');
    process.exitCode = 1;
  }
}
