// Writes the list of commands into docs/operate/command-line.md, from their declarations. With --check it only reports a
// stale page. It must not describe a command: the summaries are in packages/cli/src.
import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from '../../packages/cli/src/command.ts';
import { commands } from '../../packages/cli/src/commands.ts';

export const commandLinePath = new URL('../../docs/operate/command-line.md', import.meta.url);

const BEGIN = '<!-- Generated from packages/cli/src/commands: change that and run `npm run gen`. -->';
const END = '<!-- End of the generated part. -->';

export type Listed = { name: string; heading: string; command: Command };

/** Returns every command that can be run, by its whole name. */
export async function allCommands(): Promise<Listed[]> {
  const loaded = await Promise.all(
    Object.entries(commands).map(async ([name, { heading, summary, load }]) => {
      const { declaration } = await load();
      return 'commands' in declaration
        ? Object.entries(declaration.commands).map(([words, command]) => ({
            name: `${name} ${words}`,
            heading,
            command,
          }))
        : [{ name, heading, command: { summary, ...declaration } }];
    }),
  );
  return loaded.flat();
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function row({ name, command }: Listed): string {
  const names = (command.arguments ?? []).map((one) => ` ${one.name}`).join('');
  return `| \`${name}${cell(names)}\` | ${cell(command.summary)} |`;
}

/** Returns the page with its list of commands replaced. Throws if the page lacks the place for it. */
export function withCommands(page: string, listed: readonly Listed[]): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`docs/operate/command-line.md lacks ${BEGIN} or ${END}`);
  const headings = [...new Set(listed.map(({ heading }) => heading))];
  const sections = headings.map((heading) =>
    [
      `### ${heading.replace(/:$/, '')}`,
      '',
      '| Command | Does |',
      '|---|---|',
      ...listed.filter((one) => one.heading === heading).map(row),
      '',
    ].join('\n'),
  );
  return `${page.slice(0, begin)}${BEGIN}\n\n${sections.join('\n')}\n${page.slice(end)}`;
}

if (import.meta.main) {
  const page = await readFile(commandLinePath, 'utf8');
  const text = withCommands(page, await allCommands());
  if (!process.argv.includes('--check')) await writeFile(commandLinePath, text);
  else if (page !== text) {
    process.stderr.write(
      'docs/operate/command-line.md does not list the present commands: run `npm run gen`.\n',
    );
    process.exitCode = 1;
  }
}
