// The frame of every page: header, menu, content, pane. Gates pages by permission; the service decides what is allowed.
import { Burger } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { Link, Navigate, Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useEffect } from 'react';
import { pageSettings } from '../../common/page-settings.ts';
import { PANE_ID } from '../components/dialogs/SidePane.tsx';
import { useEscape } from '../components/keyboard/escape.ts';
import { Forbidden } from '../components/page/Forbidden.tsx';
import { acting, formerName } from '../data/acting/acting.ts';
import { useMe } from '../data/me.tsx';
import { t, withLaterTexts } from '../text.ts';
import { AccountMenu } from './AccountMenu.tsx';
import { Brand } from './Brand.tsx';
import { ConnectionBanner } from './ConnectionBanner.tsx';
import { FactorNotice } from './FactorNotice.tsx';
import { leadFrom, menuOf, refusalOf } from './nav.ts';
import { PaletteButton } from './PaletteButton.tsx';
import { useShortcuts } from './shortcuts.ts';
import { TimeTooltip } from './TimeTooltip.tsx';

const Shortcuts = lazy(() =>
  withLaterTexts(import('./ShortcutList.tsx')).then(({ ShortcutList }) => ({ default: ShortcutList })),
);

const ActingBar = lazy(() =>
  withLaterTexts(import('./acting/ActingBar.tsx')).then((file) => ({ default: file.ActingBar })),
);
const FormerNotice = lazy(() =>
  withLaterTexts(import('./acting/FormerNotice.tsx')).then((file) => ({ default: file.FormerNotice })),
);

/** The viewer of the reference brings its own main landmark, and a page has one. */
const OWN_MAIN = '/reference';

const PHONE = '(max-width: 48em)';

export function Shell(): ReactElement {
  const me = useMe();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const isPhone = useMediaQuery(PHONE) ?? false;
  const [isMenuOpen, menu] = useDisclosure(false);
  const [isHelpOpen, help] = useDisclosure(false);
  useShortcuts(help.open);
  useEscape(isMenuOpen, menu.close);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of phones closes when another page opens
  useEffect(() => menu.close(), [path]);
  const Content = path === OWN_MAIN ? 'div' : 'main';
  const lead = leadFrom(path, me);
  // The page of before stays until the next one is loaded. One that is not for the person must not read anything.
  const shown = useRouterState({ select: ({ matches }) => matches.at(-1)?.pathname ?? path });
  const isLeaving = leadFrom(shown, me) !== null;
  const refusal = refusalOf(path, me);
  return (
    <div className="shell" data-menu={isMenuOpen || undefined} data-acting={acting ? true : undefined}>
      <a className="skip" href="#content">
        {t.common.nav.skip}
      </a>
      <header className="shell-header">
        {acting && (
          <Suspense fallback={<div className="acting-bar" />}>
            <ActingBar name={acting.name} untilMs={acting.untilMs} />
          </Suspense>
        )}
        {isPhone && (
          <Burger
            size="sm"
            opened={isMenuOpen}
            onClick={menu.toggle}
            aria-label={isMenuOpen ? t.common.nav.close : t.common.nav.open}
            aria-expanded={isMenuOpen}
          />
        )}
        <Link to="/overview" className="brand">
          <Brand />
        </Link>
        <PaletteButton onHelp={help.open} />
        <AccountMenu onHelp={help.open} />
      </header>
      {(!isPhone || isMenuOpen) && (
        <nav className="shell-nav" aria-label={t.common.nav.label}>
          {menuOf(me).map(({ title, path: to, icon: Icon }) => (
            <Link key={to} to={to} className="nav-link" activeProps={{ 'aria-current': 'page' }}>
              <Icon size={18} aria-hidden />
              {title()}
            </Link>
          ))}
          {pageSettings.appUrl && (
            <a className="nav-link nav-back" href={pageSettings.appUrl}>
              {t.common.header.backTo(new URL(pageSettings.appUrl).hostname)}
            </a>
          )}
        </nav>
      )}
      <Content id="content" className="shell-main" tabIndex={-1}>
        <ConnectionBanner />
        <FactorNotice key={me.user.id} />
        {lead ? (
          <Navigate to={lead} replace />
        ) : refusal ? (
          <Forbidden {...refusal} />
        ) : (
          !isLeaving && <Outlet />
        )}
      </Content>
      <div id={PANE_ID} />
      <div id="announcer" className="visually-hidden" aria-live="polite" />
      <TimeTooltip />
      <Suspense>{formerName !== null && <FormerNotice name={formerName} />}</Suspense>
      {isHelpOpen && (
        <Suspense>
          <Shortcuts onClose={help.close} />
        </Suspense>
      )}
    </div>
  );
}
