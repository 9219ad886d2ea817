// The menu of the signed-in person: account, color scheme, language, time zone, shortcuts, sign out.
import { Menu, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { IconKeyboard, IconLogout, IconUserCircle } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useSyncExternalStore } from 'react';
import { currentZone, subscribeZone, switchZone } from '../../common/format.ts';
import { language, languages, switchLanguage } from '../../common/language.ts';
import { notifyFailure } from '../components/page/notify.tsx';
import { Initials } from '../components/text/badges.tsx';
import { acting } from '../data/acting/acting.ts';
import { nameOf, useMe } from '../data/me.tsx';
import { signOut } from '../data/sign-out.ts';
import { t } from '../text.ts';

const schemes = ['light', 'dark', 'auto'] as const;

export function AccountMenu({ onHelp }: { onHelp: () => void }): ReactElement {
  const { user } = useMe();
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const zone = useSyncExternalStore(subscribeZone, currentZone);
  const chooseScheme = (chosen: string): void =>
    setColorScheme(schemes.find((name) => name === chosen) ?? 'auto');
  const chooseLanguage = (chosen: string): void => {
    const found = languages.find(({ tag }) => tag === chosen);
    if (found) switchLanguage(found.tag);
  };
  return (
    <Menu position="bottom-end" width={240} withinPortal>
      <Menu.Target>
        <UnstyledButton className="account-button" aria-label={t.common.header.accountOf(nameOf(user))}>
          <Initials person={user} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <strong>{nameOf(user)}</strong>
          <br />
          {user.email}
        </Menu.Label>
        <Menu.Item
          leftSection={<IconUserCircle size={16} aria-hidden />}
          onClick={() => void navigate({ to: '/account' })}
        >
          {t.common.nav.account}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t.common.header.scheme}</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={chooseScheme}>
          {schemes.map((name) => (
            <Menu.RadioItem key={name} value={name}>
              {t.common.header[name]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Label>{t.common.header.language}</Menu.Label>
        <Menu.RadioGroup value={language} onChange={chooseLanguage}>
          {languages.map(({ tag, name }) => (
            <Menu.RadioItem key={tag} value={tag} lang={tag}>
              {name}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Label>{t.common.header.zone}</Menu.Label>
        <Menu.RadioGroup value={zone} onChange={(chosen) => switchZone(chosen === 'utc' ? 'utc' : 'local')}>
          <Menu.RadioItem value="local">{t.common.header.zoneLocal}</Menu.RadioItem>
          <Menu.RadioItem value="utc">{t.common.header.zoneUtc}</Menu.RadioItem>
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<IconKeyboard size={16} aria-hidden />} onClick={onHelp}>
          {t.common.header.shortcuts}
        </Menu.Item>
        {/* Who acts as the user stops with the bar. */}
        {!acting && (
          <Menu.Item
            leftSection={<IconLogout size={16} aria-hidden />}
            onClick={() => signOut().catch(notifyFailure)}
          >
            {t.common.header.signOut}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
