// Makes up the people of the company: their accounts, roles, sign-ins and sessions.
// It must not read the clock or the database: the same seed and time give the same people.
import type { AttributeValues } from '@castellan/contract/user-attributes';
import type { Row } from '../../schema/database.ts';
import type { KeptColumn, UserColumn } from '../../schema/record-columns.ts';
import { createAttributes } from './attributes.ts';
import { departments } from './company.ts';
import { attacker, createBelongings, type Device } from './devices.ts';
import { createFactors, type Factors, usedLast } from './factors.ts';
import { createNames, type Named } from './names.ts';
import { createRandom, type Random } from './random.ts';

/** Times are seconds before `now`, so that the database's clock counts. */
type Age = { age_s: number };

/** A row of the table. Nobody is a superuser: the demo has one password for all. */
export type Person = Pick<
  Row<'users'>,
  | Exclude<UserColumn, 'is_superuser' | 'invited_at' | 'deletion_due_at' | KeptColumn>
  | 'id'
  | 'language'
  | 'pending_registration'
> &
  Age & {
    /** Whether the person has yet to accept an invitation, which was sent when the account was created. */
    is_invited: boolean;
  };
/** The id of a person and the name of a role. */
type HeldRole = { id: string; role: string };
export type LiveSession = Device &
  Age & {
    id: string;
    user_id: string;
    last_used_age_s: number;
    lifetime_s: number;
    /** Null: the password. */
    proof: Factors['proof'] | null;
  };
export type LastLogin = Age & { user_id: string };
export type Lock = Age & { email: string };

/** An entry of the audit log, without the fields that the log adds. */
export type Event = Age & {
  id: string;
  action:
    | 'login_succeeded'
    | 'login_failed'
    | 'logout'
    | 'account_locked'
    | 'account_unlocked'
    | 'user_registered'
    | 'verification_email_sent'
    | 'email_verified'
    | 'user_created'
    | 'user_invited'
    | 'permission_denied';
  actor_id: string | null;
  resource_type: string;
  resource_id: string;
  details: Record<string, unknown>;
};

/** A person with everything that belongs to them. */
export type Made = {
  person: Person;
  roles: HeldRole[];
  attributes: AttributeValues;
  sessions: LiveSession[];
  lastLogin: LastLogin | null;
  lock: Lock | null;
  factors: Factors | null;
  events: Event[];
};

export type Plan = {
  people: number;
  seed: string;
  now: Date;
  /** The superuser who created those that did not register. */
  creatorId: string | null;
  /** Addresses of accounts that exist. */
  reservedEmails: ReadonlySet<string>;
  limits: {
    /** Sessions of one user. */
    sessions: number;
    refreshTokenDays: number;
    lockoutAttempts: number;
    lockoutMinutes: number;
    /** Age at which the clean-up removes an unverified registration. */
    unverifiedHours: number;
  };
};

const DAY = 86_400;
const HOUR = 3_600;
/** Days of the audit log that are filled. */
const DAYS = 30;
/** Roughly the largest number of sign-ins: enough for every chart, and quick to write. */
const MAX_SIGN_INS = 100_000;
/** Sign-ins of one person in 30 days, with the shares below. */
const USUAL_SIGN_INS = 12;
const WORKDAY_SHARE = 0.55;
const WEEKEND_SHARE = 0.06;
/** The oldest account, in days. */
const MAX_AGE_DAYS = 1_100;
/** The day of an attack, in days before today. */
const ATTACK_DAY = 9;
/** The default of INVITATION_EXPIRE_HOURS. */
export const INVITATION_HOURS = 168;
/** Older invitations than the default lifetime of a link have ended. */
const INVITED_DAYS = 14;
// Ids sort in the order of creation. Their time is no real one, so that a seed gives the same ids at any time.
const firstId = Date.UTC(2024, 0, 1);

/** Makes the people one after the other. */
export function* makePeople(plan: Plan): Generator<Made> {
  const random = createRandom(`${plan.seed}|people`);
  const nextName = createNames(random, plan.reservedEmails);
  const nextId = createIds(random);
  const factorsOf = createFactors(plan);
  const attributesOf = createAttributes(plan);
  const share = Math.min(1, MAX_SIGN_INS / (plan.people * USUAL_SIGN_INS));
  for (let index = 0; index < plan.people; index += 1)
    yield makePerson({ plan, random, nextId, factorsOf, attributesOf, share }, nextName(), index);
}

type Context = {
  plan: Plan;
  random: Random;
  nextId: () => string;
  factorsOf: ReturnType<typeof createFactors>;
  attributesOf: ReturnType<typeof createAttributes>;
  share: number;
};

function createIds(random: Random): () => string {
  let count = 0;
  return () => {
    count += 1;
    return random.id(firstId + count);
  };
}

function makePerson(context: Context, named: Named, index: number): Made {
  const { random, nextId, plan } = context;
  // By position, so that a small company has each kind too.
  const is_active = index % 29 !== 7;
  const is_invited = index % 53 === 31 && is_active;
  const isUnverified = index % 37 === 11 && is_active && !is_invited;
  const isLocked = index % 41 === 13 && is_active && !isUnverified && !is_invited;
  const pending_registration = isUnverified && random.chance(0.5);
  const hasRegistered = pending_registration || (random.chance(0.3) && !is_invited);
  const oldest = Math.min(plan.limits.unverifiedHours, 72) * HOUR * 0.9;
  const age_s = pending_registration
    ? Math.floor(oldest * random.next())
    : Math.floor((random.next() ** 1.6 * (is_invited ? INVITED_DAYS : MAX_AGE_DAYS) + 0.2) * DAY);
  const person: Person = {
    ...named,
    id: nextId(),
    language: hasRegistered ? named.language : null,
    is_active,
    verified: !isUnverified && !is_invited,
    is_invited,
    pending_registration,
    must_change_password: !hasRegistered && random.chance(0.03) && !is_invited,
    external_id: null,
    age_s,
  };
  const { desktop, phone } = createBelongings(random);
  const maySignIn = person.verified && person.is_active;
  const factors = maySignIn ? context.factorsOf(person) : null;
  const deviceAt = (isLate: boolean): Device => (random.chance(isLate ? 0.7 : 0.2) ? phone : desktop);
  const activity = maySignIn
    ? makeActivity(context, person, { deviceAt, proof: factors?.proof ?? null })
    : { sessions: [], lastLogin: null, events: [] };
  const events = [...creationEvents(context, person, { hasRegistered, device: desktop }), ...activity.events];
  const lockAge = Math.floor(plan.limits.lockoutMinutes * 30 * random.next());
  if (isLocked) events.push(...lockEvents(context, person, { device: desktop, age_s: lockAge }));
  if (!person.is_active || isUnverified)
    events.push(...refusedEvents(context, person, person.is_active ? 'unverified' : 'inactive', desktop));
  if (random.chance(0.04 * context.share) && maySignIn) events.push(deniedEvent(context, person, desktop));
  return {
    person,
    roles: rolesOf(random, person, index),
    attributes: context.attributesOf(person, index),
    sessions: activity.sessions,
    lastLogin: activity.lastLogin,
    lock: isLocked ? { email: person.email, age_s: lockAge } : null,
    factors: factors && activity.lastLogin ? usedLast(factors, activity.lastLogin.age_s) : factors,
    events,
  };
}

function rolesOf(random: Random, { id, pending_registration }: Person, index: number): HeldRole[] {
  // A few have no role at all, as in every company.
  if (index % 53 === 17) return [];
  if (pending_registration) return [{ id, role: 'User' }];
  const department = random.pickWeighted(departments);
  const isLead = random.chance(0.1);
  const names = new Set(['User', isLead ? department.lead : random.pick(department.roles)]);
  if (isLead) names.add('Manager');
  if (random.chance(0.06)) names.add(random.pick(random.pick(departments).roles));
  return [...names].map((role) => ({ id, role }));
}

type Activity = { sessions: LiveSession[]; lastLogin: LastLogin | null; events: Event[] };

function makeActivity(
  context: Context,
  person: Person,
  { deviceAt, proof }: { deviceAt: (isLate: boolean) => Device; proof: Factors['proof'] | null },
): Activity {
  const { random, plan, nextId } = context;
  const events: Event[] = [];
  const signIns: { age_s: number; sessionId: string; device: Device }[] = [];
  for (const age_s of signInAges(context, person)) {
    const isLate = new Date(plan.now.getTime() - age_s * 1_000).getUTCHours() >= 18;
    const device = deviceAt(isLate);
    if (random.chance(0.08))
      events.push(
        failure(context, { person, device, age_s: age_s + random.between(8, 40), reason: 'wrong_password' }),
      );
    const sessionId = nextId();
    signIns.push({ age_s, sessionId, device });
    events.push(
      eventOf(context, {
        action: 'login_succeeded',
        actor: person,
        device,
        age_s,
        details: {
          session_id: sessionId,
          user_agent: device.user_agent,
          ...(proof === null ? {} : { methods: proof.split('+') }),
        },
      }),
    );
  }
  const sessions: LiveSession[] = [];
  const lifetime = plan.limits.refreshTokenDays * DAY;
  for (const [at, { age_s, sessionId: id, device }] of signIns.toReversed().entries()) {
    const isLive = sessions.length < plan.limits.sessions && random.chance(at === 0 ? 0.7 : 0.12);
    // Refreshed since, so that it has not expired.
    const last_used_age_s = Math.floor(Math.min(age_s, lifetime * 0.8) * random.next());
    if (isLive)
      sessions.push({
        ...device,
        id,
        user_id: person.id,
        age_s,
        last_used_age_s,
        lifetime_s: lifetime,
        proof,
      });
    else if (random.chance(0.4) && age_s > 2 * HOUR)
      events.push(
        eventOf(context, {
          action: 'logout',
          actor: person,
          device,
          age_s: age_s - random.between(600, HOUR),
          details: { session_id: id },
        }),
      );
  }
  const last = signIns.at(-1);
  return { sessions, events, lastLogin: last ? { user_id: person.id, age_s: last.age_s } : null };
}

/** Returns the ages of the sign-ins in the last 30 days, oldest first: on workdays, and mostly in the morning. */
function signInAges({ random, plan, share }: Context, { age_s: oldest }: Person): number[] {
  const today = new Date(plan.now);
  today.setUTCHours(0, 0, 0, 0);
  const ages: number[] = [];
  for (let day = DAYS - 1; day >= 0; day -= 1) {
    const start = today.getTime() - day * DAY * 1_000;
    const weekday = new Date(start).getUTCDay();
    const usual = weekday === 0 || weekday === 6 ? WEEKEND_SHARE : WORKDAY_SHARE;
    if (!random.chance(usual * share)) continue;
    const hour = random.chance(0.75) ? 6.5 + 4 * random.next() : 11 + 11 * random.next();
    const age = Math.floor((plan.now.getTime() - start) / 1_000 - hour * HOUR);
    if (age > 60 && age < oldest) ages.push(age);
  }
  return ages;
}

type EventOptions = {
  action: Event['action'];
  /** Null: nobody was signed in. */
  actor: Person | null;
  about?: Person | null;
  device: Device;
  age_s: number;
  details?: Record<string, unknown>;
};

function eventOf(
  { nextId }: Context,
  { action, actor, about = actor, device, age_s, details }: EventOptions,
): Event {
  return {
    id: nextId(),
    action,
    actor_id: actor?.id ?? null,
    resource_type: 'security_event',
    resource_id: about?.id ?? '',
    details: {
      ...(about === null ? {} : { email: about.email }),
      ...details,
      address: device.address,
      request_id: nextId(),
    },
    age_s: Math.max(1, age_s),
  };
}

type Failure = { person: Person; device: Device; age_s: number; reason: string };

const failure = (context: Context, { person, device, age_s, reason }: Failure): Event =>
  eventOf(context, {
    action: 'login_failed',
    actor: null,
    about: person,
    device,
    age_s,
    details: { reason, user_agent: device.user_agent },
  });

/** The failed sign-ins that lock an account, and its lock. */
function lockEvents(
  context: Context,
  person: Person,
  { device, age_s }: { device: Device; age_s: number },
): Event[] {
  const { lockoutAttempts, lockoutMinutes } = context.plan.limits;
  const attempts = Math.min(lockoutAttempts, 20);
  const failures = Array.from({ length: attempts }, (_, at) =>
    failure(context, { person, device, age_s: age_s + (attempts - at) * 7, reason: 'wrong_password' }),
  );
  const locked = eventOf(context, {
    action: 'account_locked',
    actor: null,
    about: person,
    device,
    age_s,
    details: { failures: lockoutAttempts, minutes: lockoutMinutes },
  });
  return [...failures, locked];
}

/** Somebody who may not sign in tried it in the last days. */
function refusedEvents(context: Context, person: Person, reason: string, device: Device): Event[] {
  const { random, share } = context;
  if (!random.chance(Math.max(share, 0.05))) return [];
  const age_s = Math.floor(Math.min(person.age_s, 12 * DAY) * random.next());
  return [failure(context, { person, device, age_s, reason })];
}

const deniedEvent = (context: Context, person: Person, device: Device): Event =>
  eventOf(context, {
    action: 'permission_denied',
    actor: person,
    device,
    age_s: Math.floor(Math.min(person.age_s, DAYS * DAY) * context.random.next()),
    details: { permission: 'audit_log.read', method: 'GET', route: '/api/v1/audit-logs' },
  });

/** How the account came to be, if the filled part of the log begins before it. */
function creationEvents(
  context: Context,
  person: Person,
  { hasRegistered, device }: { hasRegistered: boolean; device: Device },
): Event[] {
  const { age_s } = person;
  const { plan, nextId, share, random } = context;
  if (age_s > DAYS * DAY || !random.chance(Math.max(share, 0.05))) return [];
  if (!hasRegistered)
    return [
      {
        id: nextId(),
        action: person.is_invited ? 'user_invited' : 'user_created',
        actor_id: plan.creatorId,
        resource_type: 'user',
        resource_id: person.id,
        details: {
          after: {
            email: person.email,
            first_name: person.first_name,
            last_name: person.last_name,
            ...(person.is_invited
              ? { expires_in_hours: INVITATION_HOURS }
              : { verified: true, must_change_password: person.must_change_password }),
          },
          address: '192.0.2.10',
          request_id: nextId(),
        },
        age_s,
      },
    ];
  const registered = { device, age_s };
  return [
    eventOf(context, { action: 'user_registered', actor: person, ...registered }),
    eventOf(context, {
      action: 'verification_email_sent',
      actor: null,
      about: person,
      ...registered,
      details: { outcome: 'queued' },
    }),
    ...(person.verified
      ? [
          eventOf(context, {
            action: 'email_verified',
            actor: person,
            device,
            age_s: Math.max(1, age_s - 420),
          }),
        ]
      : []),
  ];
}

/** One night of guessed passwords, between one and three o'clock UTC, so that one day of the chart of refusals has them all. */
export function makeAttack(plan: Plan): Event[] {
  const todaySeconds = Math.floor(plan.now.getTime() / 1_000) % DAY;
  const random = createRandom(`${plan.seed}|attack`);
  const nextId = createIds(random);
  const count = Math.min(3_000, 60 + Math.floor(plan.people / 4));
  return Array.from({ length: count }, () => {
    const email = `${random.pick(['admin', 'root', 'info', 'sales', 'test', 'office', 'support'])}${random.between(1, 99)}@example.org`;
    return {
      id: nextId(),
      action: 'login_failed' as const,
      actor_id: null,
      resource_type: 'security_event',
      resource_id: '',
      details: {
        email,
        reason: 'unknown_user',
        user_agent: attacker.user_agent,
        address: attacker.address,
        request_id: nextId(),
      },
      age_s: ATTACK_DAY * DAY + todaySeconds - random.between(HOUR, 3 * HOUR),
    };
  });
}
