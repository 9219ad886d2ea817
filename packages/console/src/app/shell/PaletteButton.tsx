// Opens the command palette, which loads when it is first used.
import { Kbd, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { lazy, type ReactElement, Suspense } from 'react';
import { isApple, useGlobalKeys } from '../components/keyboard/keys.ts';
import { t, withLaterTexts } from '../text.ts';

const Palette = lazy(() =>
  withLaterTexts(import('./Palette.tsx')).then(({ Palette: Loaded }) => ({ default: Loaded })),
);

export function PaletteButton({ onHelp }: { onHelp: () => void }): ReactElement {
  const [isOpen, palette] = useDisclosure(false);
  useGlobalKeys([{ keys: ['Mod+k'], does: 'palette', run: palette.open }]);
  return (
    <>
      <UnstyledButton className="palette-button" onClick={palette.open}>
        <IconSearch size={16} aria-hidden />
        <span className="palette-hint">{t.common.header.search}</span>
        <Kbd size="xs">{isApple ? '⌘' : t.common.header.ctrl} K</Kbd>
      </UnstyledButton>
      {isOpen && (
        <Suspense>
          <Palette onClose={palette.close} onHelp={onHelp} />
        </Suspense>
      )}
    </>
  );
}
