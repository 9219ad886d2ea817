// Sends calls with the session of a browser: bearer token, CSRF token, and one replay after a refresh.

import type { Environment } from '../environment.ts';
import { CastellanError } from '../errors.ts';
import { CsrfToken } from '../session/csrf.ts';
import { Session } from '../session/session.ts';
import type { StepUps } from '../session/step-ups.ts';
import { type Call, callOf } from './call.ts';
import { changesSession, isTokenService } from './operations.ts';
import { type Answer, type Budget, budgetOf, type Send, type Settings, send } from './transport.ts';
import { abortable } from './waiting.ts';

/** Sends cookies to a service on another origin, too: it answers only the origins in CORS_ORIGINS. */
const init: RequestInit = { credentials: 'include' };

export function createBrowserSender(
  environment: Environment,
  settings: Settings,
  stepUps: StepUps,
): { session: Session; send: Send } {
  const session = new Session(environment, settings.baseUrl, exchange, settings.maxWaitMs);
  const csrf = new CsrfToken(session.tabs, async () => {
    const call = callOf(settings, 'GET /api/v1/auth/csrf-token');
    return tokenIn(await send(environment, call, budgetOf(settings), init), 'csrf_token');
  });

  /** Repeatable, because the refresh cookie stays the same. */
  async function exchange(): Promise<string> {
    const call = {
      ...callOf(settings, 'POST /api/v1/auth/new_access_token'),
      isIdempotent: true,
      isRepeatable: true,
    };
    return tokenIn(await sendWithCsrf(call, null, budgetOf(settings)), 'access_token');
  }

  /** Fetches another CSRF token once if the service refuses this one. */
  async function sendWithCsrf(call: Call, token: string | null, budget: Budget): Promise<Answer> {
    const sendWith = (csrfToken: string | null) =>
      send(environment, { ...call, headers: credentials(call, token, csrfToken) }, budget, init);
    if (call.method === 'GET' || isTokenService(call.path)) return sendWith(null);
    const csrfToken = await abortable(csrf.get(), call.signal);
    try {
      return await sendWith(csrfToken);
    } catch (error) {
      if (!(error instanceof CastellanError) || error.code !== 'csrf_invalid') throw error;
      return sendWith(await abortable(csrf.get(csrfToken), call.signal));
    }
  }

  /**
   * Replays the call after a refresh. A token of another tab may have expired too, so that a second refresh, at the
   * service, is allowed after one that was shared. Never replays the call of one user as another, and drops a response
   * that arrives when another user has signed in. Replays it once after a step-up, too.
   */
  async function sendWithSession(call: Call): Promise<Answer> {
    const budget = budgetOf(settings);
    const failed = new Set<string | null>();
    let mayStepUp = !call.isAuthenticated && !call.path.includes('/step-up');
    for (let mayRefresh = true; ; ) {
      const { token, subject } = session;
      const sent = stepUps.settled();
      try {
        const answer = await sendWithCsrf(call, token, budget);
        if (!changesSession(call.path)) session.checkSubject(subject);
        return answer;
      } catch (error) {
        if (!(error instanceof CastellanError)) throw error;
        if (mayStepUp && error.stepUp) {
          mayStepUp = false;
          if (!(await abortable(stepUps.isProved(error.stepUp, sent), call.signal))) throw error;
        } else {
          if (!mayRefresh || !isSessionOver(error, call)) throw error;
          failed.add(token);
          const refreshed = await abortable(session.refresh(failed), call.signal);
          if (refreshed === 'ended') throw error;
          mayRefresh = refreshed === 'shared' && failed.size === 1;
        }
        session.checkSubject(subject);
      }
    }
  }

  return { session, send: sendWithSession };
}

const isSessionOver = (error: CastellanError, call: Call): boolean =>
  error.status === 401 && error.code !== 'refresh_token_invalid' && !call.isAuthenticated;

function credentials(call: Call, token: string | null, csrfToken: string | null): Headers {
  const headers = new Headers(call.headers);
  if (token !== null && !call.isAuthenticated) headers.set('authorization', `Bearer ${token}`);
  if (csrfToken !== null) headers.set('x-csrf-token', csrfToken);
  return headers;
}

/** Accepts only what is allowed in a header, so that no token appears in an error about headers. */
function tokenIn({ result, status }: Answer, name: 'csrf_token' | 'access_token'): string {
  const token: unknown = Object(Object(result).data)[name];
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new CastellanError('malformed_response', `The response has no ${name}.`, { status });
}
