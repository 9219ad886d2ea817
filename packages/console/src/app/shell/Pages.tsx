// The page of the address. Tells the router what the person may do, so that a page's data is read before its file has loaded.
import { useAccount } from '@castellan/sdk/react';
import { RouterProvider } from '@tanstack/react-router';
import { type ReactElement, useSyncExternalStore } from 'react';
import { factorRequirement, requirementOf } from '../data/requirement.ts';
import { router } from '../router.tsx';

export function Pages(): ReactElement {
  const { user, permissions } = useAccount();
  useSyncExternalStore(factorRequirement.subscribe, factorRequirement.current);
  const mayUse = user !== null && !requirementOf(user);
  return (
    <RouterProvider
      router={router}
      context={{ can: (permission) => mayUse && permissions.has(permission.toLowerCase()) }}
    />
  );
}
