// Compares two people: what only the one may do, what both may do, what only the other may do, and through which roles.
import type { EffectivePermission, EffectivePermissions } from '@castellan/sdk';
import { ActionIcon, Switch } from '@mantine/core';
import { IconAlertTriangle, IconArrowsLeftRight, IconUsers } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { PersonPicker } from '../../components/forms/PersonPicker.tsx';
import { Empty, ErrorAlert } from '../../components/page/states.tsx';
import { useEffectivePermissions } from '../../data/permissions/effective.ts';
import { t } from '../../text.ts';
import { type Compared, differenceOf } from './difference.ts';

type Props = {
  user: string | undefined;
  other: string | undefined;
  onChange: (part: { user?: string | undefined; other?: string | undefined }) => void;
};

export function Compare({ user, other, onChange }: Props): ReactElement {
  return (
    <>
      <div className="access-question">
        <PersonPicker label={t.access.compare.first} value={user} onChange={(id) => onChange({ user: id })} />
        <ActionIcon
          variant="default"
          size="lg"
          aria-label={t.access.compare.swap}
          disabled={!user && !other}
          onClick={() => onChange({ user: other, other: user })}
        >
          <IconArrowsLeftRight size={18} aria-hidden />
        </ActionIcon>
        <PersonPicker
          label={t.access.compare.second}
          value={other}
          onChange={(id) => onChange({ other: id })}
        />
      </div>
      {user && other && user !== other ? (
        <Columns left={user} right={other} />
      ) : (
        <Empty
          icon={<IconUsers size={32} aria-hidden />}
          title={t.access.compare.ask}
          text={user && user === other ? t.access.compare.same : t.access.compare.askHelp}
        />
      )}
    </>
  );
}

function Columns({ left, right }: { left: string; right: string }): ReactElement {
  const [hidesBoth, setHidesBoth] = useState(false);
  const one = useEffectivePermissions({ type: 'user', id: left });
  const two = useEffectivePermissions({ type: 'user', id: right });
  const missing = one.missing ?? two.missing;
  if (missing) return <p className="muted">{t.common.forbidden.reason(missing)}</p>;
  const error = one.query.error ?? two.query.error;
  const retry = (): void => {
    void one.query.refetch();
    void two.query.refetch();
  };
  if (error) return <ErrorAlert error={error} onRetry={retry} />;
  const [a, b] = [one.query.data?.data, two.query.data?.data];
  if (!a || !b) {
    return (
      <div className="skeletons table-card" role="status" aria-busy="true" aria-label={t.common.list.loading}>
        <i />
        <i />
        <i />
      </div>
    );
  }
  const { onlyLeft, both, onlyRight } = differenceOf(a.permissions, b.permissions);
  return (
    <>
      <div className="filters">
        <Switch
          label={t.access.compare.hideBoth}
          checked={hidesBoth}
          onChange={(event) => setHidesBoth(event.currentTarget.checked)}
        />
        <Notes people={[a, b]} />
      </div>
      <div className="compare" data-narrow={hidesBoth || undefined}>
        <Column
          title={t.access.compare.only(a.subject.name, formatNumber(onlyLeft.length))}
          rows={onlyLeft}
          tone="left"
        />
        {!hidesBoth && <Column title={t.access.compare.both(both.length)} rows={both} tone="both" />}
        <Column
          title={t.access.compare.only(b.subject.name, formatNumber(onlyRight.length))}
          rows={onlyRight}
          tone="right"
        />
      </div>
    </>
  );
}

/** Says which of the two may do nothing now, and which may do everything. */
function Notes({ people }: { people: readonly EffectivePermissions[] }): ReactElement {
  return (
    <>
      {people
        .filter(({ blocked, is_superuser }) => blocked !== null || is_superuser)
        .map(({ subject, blocked }) => (
          <span key={subject.id} className="note note-warn">
            <IconAlertTriangle size={16} aria-hidden />
            {blocked ? t.access.compare.inactive(subject.name) : t.access.compare.superuser(subject.name)}
          </span>
        ))}
    </>
  );
}

type ColumnProps = { title: string; rows: readonly Compared[]; tone: 'left' | 'both' | 'right' };

function Column({ title, rows, tone }: ColumnProps): ReactElement {
  return (
    <section className={`panel compare-${tone}`}>
      <h2 className="section-title">{title}</h2>
      {rows.length === 0 && <p className="muted">{t.access.compare.none}</p>}
      <ul>
        {rows.map(({ name, left, right }) => (
          <li key={name}>
            <span className="mono">{name}</span>
            <span className="row-note">
              {tone === 'both' ? (
                <>
                  <span className="compare-side" data-raw>
                    {rolesOf(left)}
                  </span>
                  <span aria-hidden> | </span>
                  <span className="compare-side" data-raw>
                    {rolesOf(right)}
                  </span>
                </>
              ) : (
                <span data-raw>{rolesOf(left ?? right)}</span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const rolesOf = (permission: EffectivePermission | null): string =>
  [
    ...(permission?.superuser ? [t.common.status.superuser] : []),
    ...(permission?.sources ?? []).map(({ role }) => role.name),
  ].join(', ');
