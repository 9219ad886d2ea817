// The roles that would grant a permission, each with what else it adds, those that add least first.
import type { Explanation } from '@castellan/sdk';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Adds } from './Adds.tsx';

const GrantDialog = lazy(() =>
  import('./GrantDialog.tsx').then(({ GrantDialog: dialog }) => ({ default: dialog })),
);

type Props = { explanation: Explanation; isMe: boolean };

export function Nearest({ explanation, isMe }: Props): ReactElement {
  const { can } = useMe();
  const { nearest } = explanation;
  const [granting, setGranting] = useState<string | null>(null);
  const missing = ['access.change', 'users.update'].find((permission) => !can(permission));
  if (!can('access.explain')) return <p className="muted">{t.access.askAdministrator}</p>;
  if (nearest.length === 0) return <p className="muted">{t.access.noRole}</p>;
  return (
    <section>
      <h2 className="section-title">{t.access.nearest}</h2>
      <ul className="nearest">
        {nearest.map(({ role, holders, adds }) => (
          <li key={role.id}>
            <div className="nearest-role">
              {can('role.read') ? (
                <Link to="/roles/$id" params={{ id: role.id }} className="text-link" data-raw>
                  {role.name}
                </Link>
              ) : (
                <strong data-raw>{role.name}</strong>
              )}
              <span className="muted">{t.access.holdersOf(holders)}</span>
            </div>
            <Adds adds={adds} />
            <ReasonButton
              variant="light"
              reason={missing === undefined ? null : t.common.forbidden.reason(missing)}
              onClick={() => setGranting(role.id)}
            >
              {t.access.grant.open}
            </ReasonButton>
          </li>
        ))}
      </ul>
      {granting !== null && (
        <Suspense>
          <GrantDialog
            explanation={explanation}
            first={granting}
            isMe={isMe}
            onClose={() => setGranting(null)}
          />
        </Suspense>
      )}
    </section>
  );
}
