// Asks the person at the browser to prove again who they are, once for all calls that need it.
import { type Acr, isAcr, reaches } from '../levels.ts';

/** What a call needs: a proof of at least this level, no older than `maxAge` seconds; null for any age. */
export type StepUpRequirement = { requiredAcr: Acr; maxAge: number | null };

/** Returns whether the person has proved it, by `auth.stepUp`. */
export type OnStepUp = (requirement: StepUpRequirement) => boolean | Promise<boolean>;

/** Reads the challenge of a response with status 401 (RFC 9470, section 3). Returns null if it has none. */
export function challengeOf(headers: Headers): StepUpRequirement | null {
  const text = headers.get('www-authenticate') ?? '';
  if (!text.includes('insufficient_user_authentication')) return null;
  const partOf = (name: RegExp) => name.exec(text)?.[1];
  // The first level is the weakest that would do.
  const acr = partOf(/acr_values="?(\w+)/) ?? 'aal1';
  return isAcr(acr) ? { requiredAcr: acr, maxAge: Number(partOf(/max_age="?(\d+)/)) || null } : null;
}

type Question = { serial: number; acr: Acr; answer: Promise<boolean> };

export type StepUps = {
  /** How many questions have been answered. Read it when a call is sent. */
  settled(): number;
  /**
   * Returns whether to send a call once more. A question that was answered after the call was sent counts for it, too, unless it
   * asked for less. `sent`: `settled` when the call was sent.
   */
  isProved(requirement: StepUpRequirement, sent: number): Promise<boolean>;
};

export function createStepUps(onStepUp: OnStepUp = () => false): StepUps {
  let latest: Question | undefined;
  let settled = 0;
  return {
    settled: () => settled,
    async isProved(requirement, sent) {
      const { requiredAcr: acr } = requirement;
      let since = sent;
      while (latest && latest.serial > since) {
        const asked = latest;
        if (!(await asked.answer)) return false;
        // The age does not matter: the proof is new.
        if (reaches(asked.acr, acr)) return true;
        since = asked.serial;
      }
      const serial = since + 1;
      const answer = Promise.resolve(requirement)
        .then(onStepUp)
        .finally(() => {
          settled = serial;
        });
      latest = { serial, acr, answer };
      return answer;
    },
  };
}
