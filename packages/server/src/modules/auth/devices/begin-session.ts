// Starts the session that a sign-in ends with, and remembers the device that it came from.
// It must run after the last proof, under the lock of the user's row.
import type { Proof } from '@castellan/contract/authentication';
import type { Client } from '../../../platform/http/client.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuditEvent } from '../../audit/service.ts';
import {
  type DeviceSettings,
  isAlerted,
  isRemembered,
  rememberDevice,
  type SignedInFrom,
} from '../../devices/service.ts';
import type { LockedHolder } from '../../passwords/service.ts';
import {
  capEvent,
  contextOf,
  type SessionDeps,
  type SessionOrigin,
  type SessionTokens,
  startSession,
} from '../../sessions/service.ts';
import { recordLanguage } from '../../users/service.ts';
import { languageOf } from '../mail-language.ts';
import type { AccountMail } from '../mails.ts';
import { seenFrom, warn } from '../warn.ts';
import type { Visitor } from './cookie.ts';

export type BeginDeps = SessionDeps & { accountMail: AccountMail; settings: DeviceSettings };

/** `deviceTokens`: what the device cookie must hold from now on; undefined leaves it as it is. */
export type IssuedTokens = SessionTokens & { deviceTokens?: readonly string[] };

type StartedSession = Awaited<ReturnType<typeof startSession>>;
export type Started = Omit<StartedSession, 'tokens'> & { tokens: IssuedTokens };

export type Proved = {
  userId: string;
  locked: LockedHolder;
  proof: Proof;
  /** When it was proved; now if it is left out, or if another clock says that it has not come yet. */
  provedAt?: Date;
  /** Whether the device is trusted from now on. */
  isTrusted?: boolean;
  /** The identity that proved it, and its provider's slug. */
  by?: { provider: string; origin: SessionOrigin; details?: Record<string, unknown> } | undefined;
};

/** Starts the session. Returns it with the events of the sign-in. */
export async function beginSession(
  tx: Tx,
  deps: BeginDeps,
  visitor: Visitor,
  proved: Proved,
): Promise<{ started: Started; events: AuditEvent[] }> {
  const { client } = visitor;
  const { userId, locked, proof, by, provedAt = locked.now } = proved;
  const language = languageOf(client);
  if (language !== null && language !== locked.language) await recordLanguage(tx, userId, language);
  const device = isRemembered(deps.settings, locked.has_factor)
    ? await rememberVisitor(tx, deps, visitor, proved)
    : null;
  const beginning = {
    id: userId,
    now: locked.now,
    isSignIn: true,
    proof,
    context: contextOf(proof, provedAt < locked.now ? provedAt : locked.now),
    deviceId: device?.id ?? null,
    origin: by?.origin,
  };
  const { tokens, ...session } = await startSession(tx, deps, beginning, client);
  const started = { ...session, tokens: device ? { ...tokens, deviceTokens: device.tokens } : tokens };
  return { started, events: [...signInEvents(client, proved, started), ...(device?.events ?? [])] };
}

async function rememberVisitor(
  tx: Tx,
  deps: BeginDeps,
  { client, deviceTokens }: Visitor,
  { userId, locked, isTrusted = false }: Proved,
): Promise<SignedInFrom & { events: AuditEvent[] }> {
  const network = networkOf(client.address);
  const device = await rememberDevice(tx, deps.settings, {
    userId,
    tokens: deviceTokens,
    network,
    userAgent: client.userAgent,
    trustedEpoch: isTrusted ? locked.session_epoch : null,
  });
  const about = { actorId: userId, resourceId: userId };
  const details = { email: locked.email, device_id: device.id };
  const events: AuditEvent[] = [];
  if (isTrusted)
    events.push({
      ...about,
      action: 'device_trusted',
      details: { ...details, days: deps.settings.trustedDeviceDays },
    });
  if (!device.isUnexpected) return { ...device, events };
  const from = { network, user_agent: client.userAgent };
  events.push({ ...about, action: 'new_device_sign_in', details: { ...details, ...from } });
  if (isAlerted(deps.settings, locked.has_factor))
    await warn(tx, deps, 'new_sign_in', seenFrom(client, locked.email, locked.now));
  return { ...device, events };
}

const signInEvents = (
  { userAgent }: Client,
  { userId, locked, proof, by }: Proved,
  { tokens, revoked }: Started,
): AuditEvent[] => [
  {
    action: 'login_succeeded',
    actorId: userId,
    resourceId: userId,
    details: {
      email: locked.email,
      session_id: tokens.sessionId,
      user_agent: userAgent,
      ...(proof === 'password' ? {} : { methods: proof.split('+') }),
      ...(by ? { method: 'provider', provider: by.provider, ...by.details } : {}),
    },
  },
  ...revoked.map((sessionId) => capEvent(userId, sessionId)),
];
