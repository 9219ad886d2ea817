// The roles that would grant a permission, each with what else it adds, those that add least first.
import type { Explanation } from '@castellan/sdk';
import { Button, Tooltip } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
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
  const grant = (id: string): ReactElement => {
    const button = (
      <Button
        variant="light"
        size="xs"
        aria-disabled={missing !== undefined || undefined}
        {...(missing === undefined ? {} : { 'data-disabled': true })}
        onClick={() => {
          if (missing === undefined) setGranting(id);
        }}
      >
        {t.access.grant.open}
      </Button>
    );
    return missing === undefined ? (
      button
    ) : (
      <Tooltip label={t.common.forbidden.reason(missing)}>{button}</Tooltip>
    );
  };
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
            {grant(role.id)}
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
