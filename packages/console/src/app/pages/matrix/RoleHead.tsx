// The head of a role's column: its name, how many have it, and how many permissions it has with the unsaved changes.
import { IconLock, IconUsers } from '@tabler/icons-react';
import { memo, type ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { addressOf } from '../../../common/page-settings.ts';
import type { CountedRole } from '../../data/catalogue.ts';
import { t } from '../../text.ts';

type Props = {
  role: CountedRole;
  count: number;
  total: number;
};

export const RoleHead = memo(function RoleHead({
  role: { id, name, is_system, holders },
  count,
  total,
}: Props): ReactElement {
  return (
    <th scope="col" data-system={is_system || undefined}>
      <a
        href={addressOf(`/roles/${id}`)}
        className="matrix-role"
        data-stop
        data-role={id}
        tabIndex={-1}
        title={is_system ? `${name}\n${t.matrix.locked}` : name}
      >
        {name}
        {is_system && (
          <>
            {' '}
            <IconLock size={13} aria-hidden />
            <span className="visually-hidden">{t.matrix.locked}</span>
          </>
        )}
      </a>
      <span className="matrix-counts">
        <span title={t.matrix.holders(holders)}>
          <IconUsers size={12} aria-hidden /> {formatNumber(holders)}
          <span className="visually-hidden"> {t.matrix.holders(holders)}</span>
        </span>
        <span>{t.matrix.of(formatNumber(count), formatNumber(total))}</span>
      </span>
    </th>
  );
});
