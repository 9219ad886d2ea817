// The menu of a row: the main acts on a user, each with the reason if it is not possible.
import type { ListedUser } from '@castellan/sdk';
import {
  IconDeviceLaptop,
  IconEraser,
  IconLockOpen,
  IconMail,
  IconShield,
  IconTrash,
  IconUserCheck,
  IconUserEdit,
  IconUserOff,
  IconUserShare,
} from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { RowAction } from '../../components/table/DataTable.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { statusOf } from './data.ts';
import type { Act } from './dialogs/ActDialog.tsx';
import { rulesFor } from './rules.ts';
import type { UserTab } from './search.ts';

const ActDialog = lazy(() => import('./dialogs/ActDialog.tsx').then((file) => ({ default: file.ActDialog })));

type Open = { act: Act; user: ListedUser };

export function useRowActions(open: (id: string, tab: UserTab) => void): {
  of: (user: ListedUser) => RowAction[];
  dialog: ReactNode;
} {
  const me = useMe();
  const [shown, setShown] = useState<Open | null>(null);
  const of = (user: ListedUser): RowAction[] => {
    const rules = rulesFor(me, user);
    const act = (one: Act) => () => setShown({ act: one, user });
    const icon = { size: 16, 'aria-hidden': true };
    return [
      { label: t.common.actions.edit, icon: <IconUserEdit {...icon} />, run: () => open(user.id, 'profile') },
      { label: t.users.acts.roles, icon: <IconShield {...icon} />, run: () => open(user.id, 'access') },
      ...(statusOf(user, user.activity) === 'locked'
        ? [
            {
              label: t.users.acts.unlock,
              icon: <IconLockOpen {...icon} />,
              disabledReason: rules.edit,
              run: act('unlock'),
            },
          ]
        : []),
      ...(user.invited_at === null
        ? []
        : [
            {
              label: t.users.acts.inviteAgain,
              icon: <IconMail {...icon} />,
              disabledReason: rules.edit ?? (user.is_active ? null : t.users.rules.inactive),
              run: act('inviteAgain'),
            },
          ]),
      {
        label: t.users.acts.endSessions,
        icon: <IconDeviceLaptop {...icon} />,
        disabledReason: rules.sessions,
        run: act('endSessions'),
      },
      ...(me.can('users.act_as')
        ? [
            {
              label: t.users.acts.actAs,
              icon: <IconUserShare {...icon} />,
              disabledReason: rules.actAs,
              run: act('actAs'),
            },
          ]
        : []),
      user.is_active
        ? {
            label: t.users.acts.deactivate,
            icon: <IconUserOff {...icon} />,
            disabledReason: rules.deactivate,
            run: act('deactivate'),
          }
        : {
            label: t.users.acts.activate,
            icon: <IconUserCheck {...icon} />,
            disabledReason: rules.deactivate,
            run: act('activate'),
          },
      {
        label: user.invited_at === null ? t.common.actions.delete : t.users.acts.withdraw,
        icon: <IconTrash {...icon} />,
        isDangerous: true,
        disabledReason: rules.remove,
        run: act(user.invited_at === null ? 'remove' : 'withdraw'),
      },
      ...(me.can('users.delete')
        ? [
            {
              label: t.users.acts.erase,
              icon: <IconEraser {...icon} />,
              isDangerous: true,
              disabledReason: rules.erase,
              run: act('erase'),
            },
          ]
        : []),
    ];
  };
  const dialog = shown && (
    <Suspense>
      <ActDialog act={shown.act} user={shown.user} onClose={() => setShown(null)} />
    </Suspense>
  );
  return { of, dialog };
}
