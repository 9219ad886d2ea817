// What a call that uses the permission must have proved, and how lately.
import type { Permission } from '@castellan/sdk';
import { lazy, type ReactElement } from 'react';
import { ageText } from '../../../components/authentication/ages.ts';
import { Requirement } from '../../../components/authentication/Requirement.tsx';
import { t, withLaterTexts } from '../../../text.ts';

const PermissionAuthenticationDialog = lazy(() =>
  withLaterTexts(import('./PermissionAuthenticationDialog.tsx')).then((file) => ({
    default: file.PermissionAuthenticationDialog,
  })),
);

export function PermissionAuthentication({ permission }: { permission: Permission }): ReactElement {
  const texts = t.authentication.permission;
  const { name, authentication } = permission;
  const age = authentication?.max_auth_age ?? null;
  return (
    <Requirement
      title={texts.title}
      name={name}
      change={texts.change}
      facts={[
        { term: texts.asksFor, fact: texts.levels[authentication?.required_acr ?? 'none'] },
        ...(authentication ? [{ term: texts.age, fact: age === null ? texts.anyAge : ageText(age) }] : []),
      ]}
      dialog={(onClose) => <PermissionAuthenticationDialog permission={permission} onClose={onClose} />}
    />
  );
}
