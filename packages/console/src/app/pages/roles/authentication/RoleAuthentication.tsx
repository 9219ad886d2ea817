// How the holders of a role must sign in, from when on, and how many of them cannot yet.
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import '../../../components/authentication/requirement.css';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { usePageActions } from '../../../components/page/page-actions.ts';
import { ReadErrors } from '../../../components/page/states.tsx';
import { Moment } from '../../../components/text/time.tsx';
import { reading } from '../../../data/api.ts';
import type { FullRole } from '../../../data/catalogue.ts';
import { useMe } from '../../../data/me.tsx';
import { t, withLaterTexts } from '../../../text.ts';

const RoleAuthenticationDialog = lazy(() =>
  withLaterTexts(import('./RoleAuthenticationDialog.tsx')).then((file) => ({
    default: file.RoleAuthenticationDialog,
  })),
);

export function RoleAuthentication({ role }: { role: FullRole }): ReactElement {
  const texts = t.authentication.role;
  const { can } = useMe();
  const [isOpen, setOpen] = useState(false);
  const { authentication } = role;
  const isCounted = authentication !== undefined && can('authentication.read');
  const requirements = useQuery({
    ...reading('GET /api/v1/authentication/requirements', {}),
    enabled: isCounted,
  });
  const counted = requirements.data?.data.roles.find((one) => one.role.id === role.id);
  const mayChange = can('authentication.update');
  usePageActions(mayChange ? [{ label: `${texts.change} · ${role.name}`, run: () => setOpen(true) }] : []);
  return (
    <section className="panel requirement" aria-label={texts.title}>
      <dl>
        <div>
          <dt>{texts.title}</dt>
          <dd>{texts.levels[authentication?.required_acr ?? 'none']}</dd>
        </div>
        {authentication?.enforced_from && <From at={authentication.enforced_from} />}
        {isCounted && (
          <div>
            <dt>{t.authentication.holders}</dt>
            <dd>
              {counted
                ? t.authentication.counts(formatNumber(counted.holders), formatNumber(counted.without_factor))
                : '…'}
            </dd>
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
      <ReadErrors of={[requirements]} />
      <Suspense>{isOpen && <RoleAuthenticationDialog role={role} onClose={() => setOpen(false)} />}</Suspense>
    </section>
  );
}

function From({ at }: { at: string }): ReactElement {
  const texts = t.authentication.role;
  return (
    <div>
      <dt>{Date.parse(at) > Date.now() ? texts.from : texts.since}</dt>
      <dd>
        <Moment at={at} />
      </dd>
    </div>
  );
}
