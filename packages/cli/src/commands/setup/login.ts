// `castellan login`: stores the URL and an API key in the file of profiles.
import { openClient, requireSecrecy } from '../../api/connection.ts';
import { failureOf } from '../../api/failures.ts';
import { readProfiles, writeProfiles } from '../../api/profiles.ts';
import { type Declaration, optionOf, UsageError } from '../../command.ts';
import { readSecret } from '../../input/password-input.ts';

export const declaration: Declaration = {
  usage: '--url <url> [--profile <name>] [--allow-http]',
  options: [
    { flags: '--url <url>', help: 'The URL of Castellan, such as https://id.example.com.' },
    { flags: '--profile <name>', help: 'The name of the profile. Default: default.' },
    {
      flags: '--allow-http',
      help: 'Send the API key without encryption, although the URL names another machine.',
    },
  ],
  details: [
    'The API key of a service account is read from standard input; at a terminal, the command asks for it. It is tried',
    'once, and stored in a file that only you can read: $CASTELLAN_CONFIG, or castellan/config.json in $XDG_CONFIG_HOME.',
    'The profile becomes the current one.',
  ],
  run: async (call) => {
    const url = optionOf(call, 'url');
    if (url === undefined) throw new UsageError('--url is missing. See `castellan help login`.');
    const name = optionOf(call, 'profile') ?? 'default';
    if (!/^[\w.-]{1,64}$/.test(name))
      throw new UsageError('the name of a profile has letters, digits, ., _ and -.');
    const allow_http = call.values['allow-http'] === true;
    requireSecrecy(url, allow_http);
    const { profiles } = await readProfiles(call.environment);
    const api_key = (
      await readSecret(process.stdin, process.stderr, { name: 'API key', repeat: false })
    ).trim();
    const { client, CastellanError } = await openClient(url, api_key);
    try {
      await client.get('/api/v1/dashboard');
    } catch (error) {
      if (!(error instanceof CastellanError)) throw error;
      // A key that may not do this is a live one.
      if (error.status !== 403) throw failureOf(error, url);
    }
    const file = await writeProfiles(call.environment, {
      current: name,
      profiles: { ...profiles, [name]: { url, api_key, ...(allow_http ? { allow_http } : {}) } },
    });
    call.print(`${url} accepts the key. The profile ${name} is in ${file}.`);
  },
};
