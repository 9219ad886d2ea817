// `castellan profile …`: the stored profiles. Their API keys are never shown.

import { type Profiles, readProfiles, writeProfiles } from '../../api/profiles.ts';
import { aligned, jsonText, printable } from '../../api/text.ts';
import { argumentOf, type Call, type CommandGroup, Failure } from '../../command.ts';

const name = { name: '<profile>', help: 'The name of the profile.' };

/** Replaces the file by what `change` makes of a profile that exists. */
async function changeProfiles(
  call: Call,
  change: (content: Profiles, name: string) => Profiles,
): Promise<string> {
  const content = await readProfiles(call.environment);
  const chosen = argumentOf(call, 'profile');
  if (!Object.hasOwn(content.profiles, chosen))
    throw new Failure(
      3,
      `there is no profile "${chosen}". Nothing was changed. \`castellan profile list\` lists them.`,
    );
  await writeProfiles(call.environment, change(content, chosen));
  return chosen;
}

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List the profiles.',
      options: [{ flags: '--json', help: 'Print JSON.' }],
      run: async (call) => {
        const { current, profiles } = await readProfiles(call.environment);
        const listed = Object.entries(profiles).map(([name, { url }]) => ({
          name,
          url,
          current: name === current,
        }));
        if (call.values.json === true) call.print(jsonText(listed, 2));
        else if (listed.length === 0) call.print('There is no profile. `castellan login` makes one.');
        else
          call.print(
            aligned(
              listed.map(({ name, url, current }) => [current ? '*' : ' ', printable(name), printable(url)]),
            ).join('\n'),
          );
      },
    },
    use: {
      summary: 'Make a profile the current one.',
      arguments: [name],
      run: async (call) => {
        const chosen = await changeProfiles(call, (content, name) => ({ ...content, current: name }));
        call.print(`${chosen} is the current profile.`);
      },
    },
    remove: {
      summary: 'Forget a profile and its API key.',
      arguments: [name],
      details: ['The API key stays live: revoke it with `castellan key revoke`.'],
      run: async (call) => {
        const chosen = await changeProfiles(call, ({ current, profiles }, name) => ({
          current: current === name ? null : current,
          profiles: Object.fromEntries(Object.entries(profiles).filter(([one]) => one !== name)),
        }));
        call.print(`Profile ${chosen} removed. Its API key stays live until it is revoked.`);
      },
    },
  },
};
