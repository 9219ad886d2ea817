// React bindings: one look-up of the signed-in user for the whole tree.
import {
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useState,
  useSyncExternalStore,
} from 'react';
import type { User } from './api.ts';
import type { BrowserClient } from './client.ts';
import { type Account, AccountStore, type PermissionChoice } from './react/account-store.ts';

export type { Account } from './react/account-store.ts';

const Store = createContext<AccountStore | null>(null);

export type CastellanProviderProps = {
  client: BrowserClient;
  /** What to show until it is known whether somebody is signed in, and who. Default: nothing. */
  fallback?: ReactNode;
  /**
   * Which permissions `useCan` and `Can` know. Default: `all`. With `builtin`, only those of Castellan itself: the record stays
   * small where roles have thousands of permissions.
   */
  permissions?: PermissionChoice;
  children: ReactNode;
};

/**
 * Continues the session of the browser and provides its user to the hooks below. The children are rendered once the user is
 * known, so that nothing flashes. Signing in or out through the client, in this or another tab, renders them again.
 */
export function CastellanProvider({
  client,
  fallback = null,
  permissions = 'all',
  children,
}: CastellanProviderProps): ReactElement {
  const [store, setStore] = useState(() => new AccountStore(client, permissions));
  // While rendering, so that nothing of another client's account is ever shown.
  if (!store.isOf(client, permissions)) setStore(new AccountStore(client, permissions));
  useEffect(() => store.start(), [store]);
  const { status } = useSyncExternalStore(store.subscribe, store.read, store.read);
  // React 18 needs the property; in React 19 it is the context itself.
  return <Store.Provider value={store}>{status === 'loading' ? fallback : children}</Store.Provider>;
}

/**
 * Returns the account of this browser: `status`, `user`, `error` and `reload`. With status `failed`, Castellan could not be
 * asked, nobody counts as signed in, and `error` says why.
 */
export function useAccount(): Account {
  const store = useContext(Store);
  if (store === null) throw new Error('Render this component below a CastellanProvider.');
  return useSyncExternalStore(store.subscribe, store.read, store.read);
}

/** Returns the signed-in user, or null. */
export const useUser = (): User | null => useAccount().user;

/**
 * Tells whether the signed-in user has the permission, ignoring case. It decides what to show, never what is allowed: the
 * service behind the button asks Castellan again.
 */
export const useCan = (permission: string): boolean => useAccount().permissions.has(permission.toLowerCase());

export type CanProps = {
  permission: string;
  /** What to show without the permission. Default: nothing. */
  fallback?: ReactNode;
  children: ReactNode;
};

/** Shows its children to users with the permission. */
export const Can = ({ permission, fallback = null, children }: CanProps): ReactNode =>
  useCan(permission) ? children : fallback;
