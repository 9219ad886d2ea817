// What the person must do first. Until then the service refuses everything but their account.
import type { User } from '@castellan/sdk';

export type Requirement = 'password_change' | 'second_factor';

/** The second factor that the service has refused a request for; null while it has refused none. */
let missingFactor: { isPasskey: boolean } | null = null;
const listeners = new Set<() => void>();

const tell = (): void => {
  for (const listener of [...listeners]) listener();
};

/** The service refuses everything until a second factor is set up; `isPasskey`: until a passkey or security key is. */
export function requireFactor(isPasskey: boolean): void {
  if (missingFactor?.isPasskey === isPasskey) return;
  missingFactor = { isPasskey };
  tell();
}

/** A factor that is enough has been set up. */
export function factorIsMet(): void {
  if (missingFactor === null) return;
  missingFactor = null;
  tell();
}

export const factorRequirement = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  current: (): { isPasskey: boolean } | null => missingFactor,
};

export const requirementOf = (user: Pick<User, 'must_change_password'>): Requirement | null => {
  if (user.must_change_password) return 'password_change';
  return missingFactor === null ? null : 'second_factor';
};
