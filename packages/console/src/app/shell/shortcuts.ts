// Keys that work on every page: `?` lists them, `/` goes to the search box, `g` and a letter opens a page.
import { useNavigate } from '@tanstack/react-router';
import { useGlobalKeys, useSingleKeys } from '../components/keyboard/keys.ts';
import { useMe } from '../data/me.tsx';
import { menuOf } from './nav.ts';

const searchBox = () => document.querySelector<HTMLInputElement>('main input[type="search"]');

export function useShortcuts(showHelp: () => void): void {
  const me = useMe();
  const navigate = useNavigate();
  useSingleKeys(
    [
      { keys: ['/'], does: 'search', isOn: () => searchBox() !== null, run: () => searchBox()?.focus() },
      { keys: ['?'], does: 'help', run: showHelp },
      ...menuOf(me).map(({ menuKey, title, path }) => ({
        keys: [`g ${menuKey}`],
        does: { goTo: title },
        run: () => void navigate({ to: path }),
      })),
    ],
    { isFrame: true },
  );
  // Layers close themselves.
  useGlobalKeys([{ keys: ['Escape'], does: 'close' }]);
}
