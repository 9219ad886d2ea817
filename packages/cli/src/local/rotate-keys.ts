// `castellan rotate-keys`: creates a new signing key, or revokes a leaked one.
import { setTimeout as wait } from 'node:timers/promises';
import {
  endSessionsOfRevokedKeys,
  type ListedKey,
  listSigningKeys,
  revokeSigningKey,
} from '@castellan/server/modules/sessions/key-revocation';
import { KEY_SET_MAX_AGE_SECONDS, KEY_SPREAD_SECONDS } from '@castellan/server/modules/sessions/key-ring';
import { rotateSigningKey } from '@castellan/server/modules/sessions/key-rotation';
import type { Foundation } from '@castellan/server/start/foundation';
import { type Call, UsageError } from '../command.ts';
import { confirm } from '../input/confirmation.ts';
import { onDatabase } from './database.ts';

export async function rotateKeys(call: Call): Promise<void> {
  const { now, revoke } = call.values;
  if (typeof revoke === 'string' && now === true)
    throw new UsageError('--revoke creates a new key if one is needed: leave out --now.');
  // A leaked key cannot wait for the installation of the newer version, whose schema instances of this one use as well.
  await onDatabase(call, { existing: true, anySchema: typeof revoke === 'string' }, (foundation) =>
    typeof revoke === 'string' ? revokeKey(call, foundation, revoke) : rotate(call, foundation),
  );
}

async function rotate(call: Call, { deps, secretKey }: Foundation): Promise<void> {
  const { keyAnnounceMinutes: announceMinutes } = deps.settings;
  const options =
    call.values.now === true ? { atOnce: true as const } : { atOnce: false as const, announceMinutes };
  const { keyId, signsFrom, dropped } = await rotateSigningKey({ ...deps, secretKey }, options);
  if (options.atOnce) {
    call.print(`Key ${keyId} signs in ${KEY_SPREAD_SECONDS} seconds, when every instance has it.`);
    call.print(
      'Verifiers with a copy of the key set refuse its tokens until they fetch the set again: the guard of the SDK does so at once, others perhaps only when their copy expires.',
    );
  } else
    call.print(
      `Key ${keyId} is announced in the key set, and signs from ${signsFrom.toISOString()} (in ${announceMinutes} minutes, KEY_ANNOUNCE_MINUTES).`,
    );
  if (dropped.length > 0) call.print(`Dropped before they signed anything: ${dropped.join(', ')}.`);
}

const states: Readonly<Record<ListedKey['state'], string>> = {
  signing: 'signs now',
  pending: 'will sign later',
  former: 'signed earlier',
};

async function revokeKey(call: Call, { deps, secretKey }: Foundation, keyId: string): Promise<void> {
  const key = (await listSigningKeys(deps.db)).find(({ id }) => id === keyId);
  if (key)
    await confirm(call, [
      `Key ${keyId} ${states[key.state]}. Revoking it refuses every token it signed, at once, and ends every session whose refresh token it signed.`,
      ...(key.state === 'signing' ? ['A new key is created and signs at once.'] : []),
    ]);
  const revocation = await revokeSigningKey({ ...deps, secretKey }, keyId);
  if (revocation.outcome === 'unknown')
    throw new Error(
      `there is no signing key "${keyId}". The keys are: ${revocation.keys.map(({ id, state }) => `${id} (${states[state]})`).join(', ')}.`,
    );
  if (revocation.outcome === 'revoked_before')
    call.print(`Key ${keyId} was already revoked, at ${revocation.revokedAt.toISOString()}.`);
  else {
    call.print(`Key ${keyId} is revoked: every token it signed is refused.`);
    if (revocation.successorId !== null) call.print(`Key ${revocation.successorId} signs instead.`);
    call.print(
      `Within ${KEY_SPREAD_SECONDS} seconds no instance publishes it. The guard of the SDK may trust it ${KEY_SET_MAX_AGE_SECONDS} seconds longer, other verifiers as long as they keep their copy of the key set.`,
    );
  }
  await endSessions(call, deps);
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
