// How a permission reaches a person, as a picture: person, roles with their role groups, permission.
// The picture is a list for screen readers, one entry for each way; the lines are decoration.
import type { PermissionSource } from '@castellan/sdk';
import { IconCrown, IconFolders, IconKey, IconShield, IconUser } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import { useCan } from '../../data/me.tsx';
import { pathsOf } from '../../data/permissions/effective.ts';
import { t } from '../../text.ts';

type Props = {
  person: string;
  permission: string;
  sources: readonly PermissionSource[];
  isSuperuser: boolean;
  /** The person is inactive, so that the ways lead nowhere now. */
  isBlocked: boolean;
};

/** The height of a role in the picture, in pixels, with the space below it. */
const ROW = 76;
const WIDTH = 56;

export function Chain({ person, permission, sources, isSuperuser, isBlocked }: Props): ReactElement {
  const rows = sources.length + (isSuperuser ? 1 : 0);
  return (
    <div className="chain" data-blocked={isBlocked || undefined}>
      <Node icon={<IconUser size={18} />} kind={t.access.nodes.person} name={person} />
      <Lines rows={rows} />
      <ul className="chain-roles" aria-label={t.access.nodes.ways}>
        {isSuperuser && (
          <li>
            <Node
              icon={<IconCrown size={18} />}
              kind={t.access.nodes.superuser}
              name={t.common.status.superuser}
              isText
            />
          </li>
        )}
        {sources.map((source) => (
          <li key={source.role.id}>
            <RoleNode source={source} />
          </li>
        ))}
      </ul>
      <Lines rows={rows} isEnd />
      <Node icon={<IconKey size={18} />} kind={t.access.nodes.permission} name={permission} isMono />
    </div>
  );
}

type NodeProps = {
  icon: ReactElement;
  kind: string;
  name: ReactNode;
  isMono?: boolean;
  /** The name is a text of the console. */
  isText?: boolean;
  children?: ReactNode;
};

const Node = ({ icon, kind, name, isMono, isText, children }: NodeProps): ReactElement => (
  <div className="chain-node">
    <span className="chain-icon" aria-hidden>
      {icon}
    </span>
    <span className="chain-text">
      <span className="chain-kind">{kind}</span>
      <span className={isMono ? 'chain-name mono' : 'chain-name'} {...(isText ? {} : { 'data-raw': true })}>
        {name}
      </span>
      {children}
    </span>
  </div>
);

function RoleNode({ source }: { source: PermissionSource }): ReactElement {
  const mayRead = useCan('role.read');
  const { id, name } = source.role;
  const paths = pathsOf(source);
  return (
    <Node
      icon={<IconShield size={18} />}
      kind={t.access.nodes.role}
      name={
        mayRead ? (
          <Link to="/roles/$id" params={{ id }} className="text-link">
            {name}
          </Link>
        ) : (
          name
        )
      }
    >
      {paths.length > 0 && (
        <span className="chain-path" title={paths.join('\n')}>
          <IconFolders size={14} aria-hidden />
          <span className="visually-hidden">{t.access.nodes.group}</span>
          <span data-raw>{paths.join(', ')}</span>
        </span>
      )}
    </Node>
  );
}

/** Lines from one node to all rows, or from all rows to one node. */
function Lines({ rows, isEnd = false }: { rows: number; isEnd?: boolean }): ReactElement {
  const height = rows * ROW;
  const middle = height / 2;
  return (
    <svg
      className="chain-lines mirrored"
      width={WIDTH}
      height={height}
      viewBox={`0 0 ${WIDTH} ${height}`}
      aria-hidden
    >
      {Array.from({ length: rows }, (_, row) => {
        const at = (row + 0.5) * ROW;
        const [from, to] = isEnd ? [at, middle] : [middle, at];
        const path = `M 0 ${from} C ${WIDTH / 2} ${from}, ${WIDTH / 2} ${to}, ${WIDTH - 5} ${to}`;
        return <path key={at} d={path} />;
      })}
      {(isEnd ? [middle] : Array.from({ length: rows }, (_, row) => (row + 0.5) * ROW)).map((at) => (
        <path key={at} className="chain-head" d={`M ${WIDTH - 6} ${at - 4} l 6 4 l -6 4 z`} />
      ))}
    </svg>
  );
}
