// What a call that uses the permission must have proved, and how lately.
import type { Permission } from '@castellan/sdk';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { ageText } from '../../../components/authentication/ages.ts';
import '../../../components/authentication/requirement.css';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { usePageActions } from '../../../components/page/page-actions.ts';
import { useMe } from '../../../data/me.tsx';
import { t, withLaterTexts } from '../../../text.ts';

const PermissionAuthenticationDialog = lazy(() =>
  withLaterTexts(import('./PermissionAuthenticationDialog.tsx')).then((file) => ({
    default: file.PermissionAuthenticationDialog,
  })),
);

export function PermissionAuthentication({ permission }: { permission: Permission }): ReactElement {
  const texts = t.authentication.permission;
  const { can } = useMe();
  const [isOpen, setOpen] = useState(false);
  const { name, authentication } = permission;
  const age = authentication?.max_auth_age ?? null;
  const mayChange = can('authentication.update');
  usePageActions(mayChange ? [{ label: `${texts.change} · ${name}`, run: () => setOpen(true) }] : []);
  return (
    <section className="requirement" aria-label={texts.title}>
      <dl>
        <div>
          <dt>{texts.asksFor}</dt>
          <dd>{texts.levels[authentication?.required_acr ?? 'none']}</dd>
        </div>
        {authentication && (
          <div>
            <dt>{texts.age}</dt>
            <dd>{age === null ? texts.anyAge : ageText(age)}</dd>
          </div>
        )}
      </dl>
      <ReasonButton
        variant="default"
        reason={mayChange ? null : t.common.forbidden.reason('authentication.update')}
        onClick={() => setOpen(true)}
      >
        {texts.change}
      </ReasonButton>
      <Suspense>
        {isOpen && <PermissionAuthenticationDialog permission={permission} onClose={() => setOpen(false)} />}
      </Suspense>
    </section>
  );
}
