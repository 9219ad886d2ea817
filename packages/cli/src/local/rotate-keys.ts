// `castellan rotate-keys`: creates a new signing key, or revokes a leaked one.
import { setTimeout as wait } from 'node:timers/promises';
import {
  endSessionsOfRevokedKeys,
  type ListedKey,
  listSigningKeys,
  revokeSigningKey,
} from '@castellan/server/modules/sessions/keys/revocation';
import { KEY_SET_MAX_AGE_SECONDS, KEY_SPREAD_SECONDS } from '@castellan/server/modules/sessions/keys/ring';
import { rotateSigningKey } from '@castellan/server/modules/sessions/keys/rotation';
import { type KeyFamily, keyFamilies, sessionKeys } from '@castellan/server/modules/sessions/keys/store';
import type { Foundation } from '@castellan/server/start/foundation';
import { type Call, UsageError } from '../command.ts';
import { confirm } from '../input/confirmation.ts';
import { onDatabase } from './database.ts';

export async function rotateKeys(call: Call): Promise<void> {
  const { now, revoke } = call.values;
  if (typeof revoke === 'string' && now === true)
    throw new UsageError('--revoke creates a new key if one is needed: leave out --now.');
  if (typeof revoke === 'string' && call.values.for !== undefined)
    throw new UsageError('--revoke names a key, whatever it is for: leave out --for.');
  // A leaked key cannot wait for the installation of the newer version, whose schema instances of this one use as well.
  await onDatabase(call, { existing: true, anySchema: typeof revoke === 'string' }, (foundation) =>
    typeof revoke === 'string' ? revokeKey(call, foundation, revoke) : rotate(call, foundation),
  );
}

/** A day. Libraries of applications keep the key set for an hour or more. */
const APPLICATION_ANNOUNCE_MINUTES = 1_440;

async function rotate(call: Call, foundation: Foundation): Promise<void> {
  if (call.values.for === undefined) {
    const { keyAnnounceMinutes } = foundation.deps.settings;
    await rotateFamily(call, foundation, sessionKeys, {
      minutes: keyAnnounceMinutes,
      source: `${keyAnnounceMinutes} minutes, KEY_ANNOUNCE_MINUTES`,
    });
    return;
  }
  const keys = await listSigningKeys(foundation.deps.db);
  const families = keyFamilies.filter(
    (family) => family.purpose === 'application' && keys.some((key) => key.family === family),
  );
  if (families.length === 0)
    throw new Error('there are no keys for applications yet. The first application brings them.');
  for (const family of families)
    await rotateFamily(call, foundation, family, { minutes: APPLICATION_ANNOUNCE_MINUTES, source: 'a day' });
}

async function rotateFamily(
  call: Call,
  { deps, secretKey }: Foundation,
  family: KeyFamily,
  announced: { minutes: number; source: string },
): Promise<void> {
  const options =
    call.values.now === true
      ? { atOnce: true as const }
      : { atOnce: false as const, announceMinutes: announced.minutes };
  const { keyId, signsFrom, dropped } = await rotateSigningKey({ ...deps, secretKey }, options, family);
  const name = family.purpose === 'session' ? keyId : `${keyId} (${nameOf(family)})`;
  if (options.atOnce) {
    call.print(`Key ${name} signs in ${KEY_SPREAD_SECONDS} seconds, when every instance has it.`);
    call.print(
      'Verifiers with a copy of the key set refuse its tokens until they fetch the set again: the guard of the SDK does so at once, others perhaps only when their copy expires.',
    );
  } else
    call.print(
      `Key ${name} is announced in the key set, and signs from ${signsFrom.toISOString()} (in ${announced.source}).`,
    );
  if (dropped.length > 0) call.print(`Dropped before they signed anything: ${dropped.join(', ')}.`);
}

const nameOf = ({ purpose, alg }: KeyFamily): string =>
  purpose === 'session' ? 'for sessions' : `for applications, ${alg}`;

const states: Readonly<Record<ListedKey['state'], string>> = {
  signing: 'signs now',
  pending: 'will sign later',
  former: 'signed earlier',
};

async function revokeKey(call: Call, { deps, secretKey }: Foundation, keyId: string): Promise<void> {
  const key = (await listSigningKeys(deps.db)).find(({ id }) => id === keyId);
  if (key)
    await confirm(call, [
      `Key ${keyId} (${nameOf(key.family)}) ${states[key.state]}. Revoking it refuses every token it signed, at once${key.family.purpose === 'session' ? ', and ends every session whose refresh token it signed' : ''}.`,
      ...(key.state === 'signing' ? ['A new key is created and signs at once.'] : []),
    ]);
  const revocation = await revokeSigningKey({ ...deps, secretKey }, keyId);
  if (revocation.outcome === 'unknown')
    throw new Error(
      `there is no signing key "${keyId}". The keys are: ${revocation.keys.map(({ id, family, state }) => `${id} (${nameOf(family)}, ${states[state]})`).join(', ')}.`,
    );
  if (revocation.outcome === 'revoked_before')
    call.print(`Key ${keyId} was already revoked, at ${revocation.revokedAt.toISOString()}.`);
  else {
    call.print(`Key ${keyId} is revoked: every token it signed is refused.`);
    if (revocation.successorId !== null) call.print(`Key ${revocation.successorId} signs instead.`);
    call.print(
      `Within ${KEY_SPREAD_SECONDS} seconds no instance publishes it. ${
        key?.family.purpose === 'application'
          ? 'Applications may trust it as long as they keep their copy of the key set: restart them if it has leaked.'
          : `The guard of the SDK may trust it ${KEY_SET_MAX_AGE_SECONDS} seconds longer, other verifiers as long as they keep their copy of the key set.`
      }`,
    );
  }
  if (key?.family.purpose !== 'application') await endSessions(call, deps);
}

/** Ends the sessions of revoked keys. Waits first until no instance signs with such a key. */
export async function endSessions(call: Call, { db }: Foundation['deps']): Promise<void> {
  const first = await endSessionsOfRevokedKeys(db);
  let { ended, done } = first;
  if (!done) {
    // With a margin of half a second for timers and clocks.
    await wait((KEY_SPREAD_SECONDS + 0.5) * 1_000);
    const second = await endSessionsOfRevokedKeys(db);
    ended += second.ended;
    done = second.done;
  }
  call.print(
    `Sessions ended: ${ended}.${done ? '' : ' The clean-up of the service ends those that are still in use.'}`,
  );
}
