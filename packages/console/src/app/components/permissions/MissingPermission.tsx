// What to do about a missing permission: which roles have it or whom to ask, and a request to copy for them.
import { Button, CopyButton } from '@mantine/core';
import type { ReactElement } from 'react';
import { addressOf, pageSettings } from '../../../common/page-settings.ts';
import { nameOf, useMe } from '../../data/me.tsx';
import { type RolesWith, useRolesWith } from '../../data/permissions/roles-with.ts';
import { t } from '../../text.ts';

const wayOut = ({ mayKnow, names }: RolesWith): string => {
  if (!mayKnow) return t.common.forbidden.ask(pageSettings.serviceName);
  if (!names) return '';
  return names.length > 0 ? t.common.forbidden.roles(names.join(', ')) : t.common.forbidden.noRole;
};

/** Where the person who reads the request sees why the person lacks the permission, and can grant it. */
const answerAddress = (user: string, permission: string): string =>
  `${location.origin}${addressOf('/access')}?${new URLSearchParams({ user, permission })}`;

type Props = {
  permission: string;
  /** What the permission opens, if that is known. */
  page?: string;
};

export function MissingPermission({ permission, page }: Props): ReactElement {
  const { user } = useMe();
  const roles = useRolesWith(permission);
  const name = `${nameOf(user)} (${user.email})`;
  const request = page
    ? t.common.forbidden.request(name, permission, page)
    : t.common.forbidden.requestOnly(name, permission);
  return (
    <div className="missing-permission">
      <p>
        {t.common.forbidden.missing(permission)} {wayOut(roles)}
      </p>
      <CopyButton value={`${request}\n${answerAddress(user.id, permission)}`}>
        {({ copied, copy }) => (
          <Button size="compact-sm" variant="default" onClick={copy}>
            {copied ? t.common.actions.copied : t.common.forbidden.copy}
          </Button>
        )}
      </CopyButton>
    </div>
  );
}
