// The signed-in person: who they are and what they may do. It decides what to show; the service decides what is allowed.
import type { User } from '@castellan/sdk';
import { createContext, type ReactElement, type ReactNode, useContext } from 'react';
import { rememberFor } from '../../common/preferences.ts';

export type Me = {
  user: User;
  /** Whether they may use the permission now: they hold it, ignoring case, and need not change their password first. */
  can: (permission: string) => boolean;
  reload: () => Promise<void>;
};

const MeContext = createContext<Me | null>(null);

export function MeProvider({ me, children }: { me: Me; children: ReactNode }): ReactElement {
  // While rendering, because what is below reads preferences while it renders.
  rememberFor(me.user.id);
  return <MeContext value={me}>{children}</MeContext>;
}

/** Returns the signed-in person. Everything below the shell has one. */
export function useMe(): Me {
  const me = useContext(MeContext);
  if (!me) throw new Error('Render this component below the shell.');
  return me;
}

export const useCan = (permission: string): boolean => useMe().can(permission);

/** Returns a person's full name, or their email if they have none. */
export const nameOf = ({
  first_name,
  last_name,
  email,
}: Pick<User, 'first_name' | 'last_name' | 'email'>): string => `${first_name} ${last_name}`.trim() || email;
