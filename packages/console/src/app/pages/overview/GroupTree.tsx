// The upper levels of the role groups, as a small picture. The page of role groups shows them all.
import type { RoleGroup } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { ErrorAlert } from '../../components/page/states.tsx';
import { reading } from '../../data/api.ts';
import { t } from '../../text.ts';

/** So many groups of each level, and so many levels, fit into the picture. */
const WIDTH = 6;
const DEPTH = 3;

export function GroupTree(): ReactElement {
  const groups = useQuery(reading('GET /api/v1/role-groups', { query: { size: WIDTH } }));
  const data = groups.data;
  return (
    <section className="panel" aria-busy={groups.isPending}>
      <div className="panel-head">
        <h2 className="section-title">{t.overview.groups.title}</h2>
        <Link to="/role-groups" className="text-link">
          {t.overview.groups.open}
        </Link>
      </div>
      {groups.error && <ErrorAlert error={groups.error} onRetry={() => void groups.refetch()} />}
      {data?.data.length === 0 && <p className="muted">{t.overview.groups.none}</p>}
      {data && <Level groups={data.data} depth={1} total={data.pagination.total} />}
    </section>
  );
}

type LevelProps = { groups: readonly RoleGroup[]; depth: number; total: number };

function Level({ groups, depth, total }: LevelProps): ReactElement {
  const shown = groups.slice(0, WIDTH);
  return (
    <ul className="group-tree">
      {shown.map(({ id, name, roles, children }) => (
        <li key={id}>
          <Link to="/role-groups" search={{ g: id }} className="group-node">
            <span data-raw>{name}</span>
            <span className="muted">{t.overview.groups.roles(roles.length)}</span>
          </Link>
          {children.length > 0 &&
            (depth < DEPTH ? (
              <Level groups={children} depth={depth + 1} total={children.length} />
            ) : (
              <p className="muted group-more">{t.overview.groups.below(children.length)}</p>
            ))}
        </li>
      ))}
      {total > shown.length && (
        <li className="muted group-more">{t.common.list.more(total - shown.length)}</li>
      )}
    </ul>
  );
}
