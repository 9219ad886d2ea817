// How the holders of a role must sign in, from when on, and how many of them cannot yet.
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactElement } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { Requirement } from '../../../components/authentication/Requirement.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { Moment } from '../../../components/text/time.tsx';
import { reading } from '../../../data/api.ts';
import type { FullRole } from '../../../data/catalogue.ts';
import { useCan } from '../../../data/me.tsx';
import { t, withLaterTexts } from '../../../text.ts';

const RoleAuthenticationDialog = lazy(() =>
  withLaterTexts(import('./RoleAuthenticationDialog.tsx')).then((file) => ({
    default: file.RoleAuthenticationDialog,
  })),
);

export function RoleAuthentication({ role }: { role: FullRole }): ReactElement {
  const texts = t.authentication.role;
  const mayCount = useCan('authentication.read');
  const { authentication } = role;
  const isCounted = authentication !== undefined && mayCount;
  const requirements = useQuery({
    ...reading('GET /api/v1/authentication/requirements', {}),
    enabled: isCounted,
  });
  const counted = requirements.data?.data.roles.find((one) => one.role.id === role.id);
  const from = authentication?.enforced_from;
  return (
    <Requirement
      title={texts.title}
      name={role.name}
      change={texts.change}
      className="panel"
      facts={[
        { term: texts.title, fact: texts.levels[authentication?.required_acr ?? 'none'] },
        ...(from
          ? [{ term: Date.parse(from) > Date.now() ? texts.from : texts.since, fact: <Moment at={from} /> }]
          : []),
        ...(isCounted
          ? [
              {
                term: t.authentication.holders,
                fact: counted
                  ? t.authentication.counts(
                      formatNumber(counted.holders),
                      formatNumber(counted.without_factor),
                    )
                  : '…',
              },
            ]
          : []),
      ]}
      dialog={(onClose) => <RoleAuthenticationDialog role={role} onClose={onClose} />}
    >
      <ReadErrors of={[requirements]} />
    </Requirement>
  );
}
