// Announces the state of an instance to the operator: as text at a terminal, otherwise as JSON lines of the log.
// It must not be given a secret.
import type { Logger } from '../../platform/logging/log.ts';

type ReadyFacts = {
  /** PUBLIC_URL. */
  url: string;
  /** Which database, without credentials. */
  database: string;
  /** Where mails go, without credentials. */
  mails: string;
  /** Number of processes that serve requests, if there are several. */
  workers?: number;
  /** Email of the first superuser, if this start created it. */
  superuser?: string;
};

export type Announcer = {
  listening(url: string): void;
  ready(facts: ReadyFacts): void;
  /** The database is not ready. `advice` says why and what the operator may have to do. */
  waiting(advice: string): void;
  stopping(signal: NodeJS.Signals, graceSeconds: number): void;
};

/** Announces as text at a terminal. */
export function announceToPeople(print: (text: string) => void): Announcer {
  return {
    listening: (url) => print(`Castellan listens on ${url}`),
    ready({ url, database, mails, workers, superuser }) {
      const lines = [
        `  address    ${url}   reference: ${url}/docs`,
        `  database   ${database}`,
        `  mails      ${mails}`,
      ];
      if (workers !== undefined) lines.push(`  workers    ${workers}`);
      if (superuser !== undefined) lines.push(`  superuser  ${superuser}, created now`);
      print(`Ready.\n${lines.join('\n')}`);
    },
    waiting: (advice) => print(`The database is not ready: ${advice}`),
    stopping(_signal, graceSeconds) {
      const first =
        graceSeconds > 0 ? `Stopping in ${graceSeconds} s. Requests are answered until then.` : 'Stopping.';
      print(`${first} Press Ctrl-C again to stop at once.`);
    },
  };
}

/** Returns a log whose lines from `info` on are written at every LOG_LEVEL except `silent`. */
export const unlessSilent = (log: Logger): Logger =>
  log.child({}, { level: log.isLevelEnabled('fatal') ? 'info' : 'silent' });

/** Announces nothing: the first worker has announced the instance. */
export const announceNothing: Announcer = {
  listening: () => {},
  ready: () => {},
  waiting: () => {},
  stopping: () => {},
};

/** Announces in the log, at every LOG_LEVEL except `silent`: these lines say where the service listens. */
export function announceInLog(log: Logger): Announcer {
  const always = unlessSilent(log);
  return {
    listening: (url) => always.info({ url }, 'listening'),
    ready: (facts) => always.info({ ...facts, reference: `${facts.url}/docs` }, 'ready'),
    // The service logs each failed attempt with the same advice.
    waiting: () => {},
    stopping: (signal, graceSeconds) => always.info({ signal, grace_seconds: graceSeconds }, 'stopping'),
  };
}
