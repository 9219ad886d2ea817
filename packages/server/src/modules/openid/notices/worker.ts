// Sends logout notices to applications, by a worker in every instance (OpenID Connect Back-Channel Logout 1.0, 2.5).
// It must not hold a connection while an application answers, follow a redirect, or show anything of an answer but its status.
import { createDeliveryWorker, type DeliveryWorker } from '../../../platform/delivery/worker.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/logging/log.ts';
import { askOutside, OutboundError, type OutboundSettings } from '../../../platform/outbound/request.ts';
import type { Db } from '../../../schema/database.ts';
import { type AuditLog, recordEvent } from '../../audit/service.ts';
import type { KeyRing } from '../../sessions/keys/ring.ts';
import { subjectIn } from '../claims/service.ts';
import { signJwt } from '../tokens/signed-jwt.ts';
import { noticeExpiredSessions } from './rows.ts';
import {
  type ClaimedNotice,
  claimNotices,
  LEASE_SECONDS,
  markFailed,
  markSent,
  type Outcome,
  postpone,
  renewLeases,
  workOffBacklog,
} from './store.ts';

export type NoticeDeps = {
  db: Db;
  log: Logger;
  auditLog: AuditLog;
  keyRing: Pick<KeyRing, 'currentOfApplications' | 'hasActiveApplication'>;
  settings: OutboundSettings & { publicUrl: string; logoutNoticeHours: number };
};

/** Of one instance. */
const PARALLEL = 20;
const PARALLEL_OF_APPLICATION = 4;
/** Nobody wakes the worker, because also SQL by hand ends sessions: notices are on their way within a second of the commit. */
const POLL_MS = 700;
/** For the sessions that are looked at before what was claimed is sent. */
const ENDED_BUDGET_MS = 200;
const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;
const UNREACHABLE_MS = 2_000;
const backoff = { firstMs: 5_000, maxMs: 15 * 60_000 };
const TOKEN_SECONDS = 120;

/** Statuses of 4xx that may be different later (RFC 9110, RFC 8470, RFC 6585). */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

class NoticeError extends Error {
  override readonly name = 'NoticeError';
  readonly outcome: Outcome;
  /** Null: it is tried again. */
  readonly state: 'refused' | 'given_up' | null;

  constructor(outcome: Outcome, state: NoticeError['state'] = null) {
    super(`the logout notice was not taken: ${outcome.error ?? outcome.status}`);
    this.outcome = outcome;
    this.state = state;
  }
}

/** Returns the token of a notice (OpenID Connect Back-Channel Logout 1.0, 2.4). Throws `temporarily_unavailable` (503) without a key. */
function logoutToken({ keyRing, settings }: NoticeDeps, notice: ClaimedNotice): string {
  const alg = notice.id_token_signing_alg;
  const issuedAt = Math.floor(notice.now_seconds);
  return signJwt(
    { alg, key: keyRing.currentOfApplications(alg), typ: 'logout+jwt' },
    {
      iss: settings.publicUrl,
      aud: notice.client_id,
      iat: issuedAt,
      exp: issuedAt + TOKEN_SECONDS,
      jti: newId(),
      sub: subjectIn(notice),
      sid: notice.sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    },
  );
}

/** Makes one attempt. Throws a NoticeError or an OutboundError if it failed. */
async function send(deps: NoticeDeps, notice: ClaimedNotice): Promise<Outcome> {
  const url = notice.backchannel_logout_url;
  if (!notice.is_active || url === null)
    throw new NoticeError(
      { status: null, error: notice.is_active ? 'no_address' : 'application_inactive' },
      'given_up',
    );
  const { status } = await askOutside(deps.settings, {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: logoutToken(deps, notice) }).toString(),
    plain: 'private',
    maxBytes: 0,
  });
  if (status >= 200 && status < 300) return { status, error: null };
  const isRefused = status >= 400 && status < 500 && !passing.has(status);
  throw new NoticeError({ status, error: null }, isRefused ? 'refused' : null);
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof NoticeError) return error.outcome;
  return { status: null, error: error instanceof OutboundError ? error.code : 'internal_error' };
}

/** Returns how the notice ends for good; null if it is tried again. */
const finalState = (notice: ClaimedNotice, error: unknown): 'refused' | 'given_up' | null =>
  (error instanceof NoticeError && error.state) || (notice.is_last ? 'given_up' : null);

/** Creates the worker. A notice may arrive twice, with another `jti`, if this process dies or loses the database on the way. */
export function createNoticeWorker(deps: NoticeDeps): DeliveryWorker {
  const { db, log, auditLog, keyRing, settings } = deps;
  const underWay = new Map<string, string>();
  const answers = new WeakMap<ClaimedNotice, Outcome>();
  let renewal: NodeJS.Timeout | undefined;
  // No application, and no notice was waiting after the last one went: nothing is asked.
  let isQuiet = false;

  function busy(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const application of underWay.values()) counts.set(application, (counts.get(application) ?? 0) + 1);
    return counts;
  }

  function begin({ id, application_id }: ClaimedNotice): void {
    underWay.set(id, application_id);
    renewal ??= setInterval(() => {
      // If it fails, another instance may send a notice, too.
      void renewLeases(db, [...underWay.keys()]).catch(() => undefined);
    }, RENEW_MS).unref();
  }

  function end({ id }: ClaimedNotice): void {
    underWay.delete(id);
    if (underWay.size > 0) return;
    clearInterval(renewal);
    renewal = undefined;
  }

  return createDeliveryWorker<ClaimedNotice>({
    parallel: PARALLEL,
    async claim(free) {
      const isIdle = !keyRing.hasActiveApplication();
      if (isIdle && isQuiet) return { work: [], nextMs: POLL_MS };
      const { notices, hasBacklog, hasWaiting, hasEnded } = await claimNotices(db, {
        free,
        ofApplication: PARALLEL_OF_APPLICATION,
        hours: settings.logoutNoticeHours,
        busy: busy(),
      });
      for (const notice of notices) begin(notice);
      isQuiet = isIdle && !hasWaiting && !hasBacklog && underWay.size === 0;
      const finished = hasBacklog ? await workOffBacklog(db) : 0;
      const seen = hasEnded ? await noticeExpiredSessions(db, ENDED_BUDGET_MS) : 0;
      return { work: notices, nextMs: finished > 0 || seen > 0 || notices.length === free ? 0 : POLL_MS };
    },
    async send(notice) {
      try {
        answers.set(notice, await send(deps, notice));
        return 'sent';
      } finally {
        end(notice);
      }
    },
    failed(notice, error) {
      const { status, error: why } = outcomeOf(error);
      const about = { application_id: notice.application_id, notice_id: notice.id, status, why };
      if (why === 'internal_error') log.error({ ...about, err: error }, 'a logout notice could not be made');
      else if (finalState(notice, error)) log.warn(about, 'a logout notice was given up');
    },
    backoff,
    settle: {
      sent: (notice) => markSent(db, notice, answers.get(notice) ?? { status: null, error: null }),
      obsolete: async () => {},
      retry: (notice, error, afterMs) => postpone(db, notice, outcomeOf(error), afterMs),
    },
    deadLetter: {
      isDue: (notice, error) => finalState(notice, error) !== null,
      async settle(notice, error) {
        const state = finalState(notice, error) ?? 'given_up';
        const { status, error: why } = outcomeOf(error);
        if (!(await markFailed(db, notice, state, { status, error: why }))) return;
        await recordEvent({ auditLog }, null, {
          action: 'logout_notice_failed',
          actorId: null,
          resourceType: 'application',
          resourceId: notice.application_id,
          ...(notice.name === null ? {} : { resourceName: notice.name }),
          details: {
            state,
            user_id: notice.user_id,
            sid: notice.sid,
            status,
            error: why,
            attempts: notice.attempts,
          },
        });
      },
    },
    unreachableMs: UNREACHABLE_MS,
    tell: {
      // Not an error: it asks so often that it is the first to meet a pool without a free connection, and nothing is lost.
      unreachable: (error) => log.warn({ err: error }, 'logout notices cannot be read; they wait'),
      reachable: () => log.info({}, 'logout notices can be read again'),
      unsettled: (notice, error) =>
        log.error({ err: error, notice_id: notice.id }, 'could not record the outcome of a logout notice'),
      cutOff: (count) => log.warn({ count }, 'logout notices were still being sent at shutdown'),
    },
  });
}
