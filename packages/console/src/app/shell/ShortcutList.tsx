// The list of keyboard shortcuts, and the switch that turns single keys off.
import { Kbd, Modal, Switch } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { useMe } from '../data/me.tsx';
import { later, t } from '../text.ts';
import { mayOpen, navPages } from './nav.ts';
import { singleKeysAreOn, turnSingleKeys } from './shortcuts.ts';

export function ShortcutList({ onClose }: { onClose: () => void }): ReactElement {
  const me = useMe();
  const [isOn, setOn] = useState(singleKeysAreOn);
  const shortcuts = later.shortcuts;
  const lines: [keys: string[], meaning: string][] = [
    [['Ctrl', 'K'], shortcuts.palette],
    [['/'], shortcuts.search],
    [['?'], shortcuts.help],
    [['↑', '↓'], shortcuts.move],
    [['Enter'], shortcuts.open],
    [['Esc'], shortcuts.close],
    ...navPages
      .filter((page) => mayOpen(page, me))
      .map(({ key, name }): [string[], string] => [['g', key], shortcuts.goTo(t.common.nav[name])]),
  ];
  return (
    <Modal
      opened
      onClose={onClose}
      title={shortcuts.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <dl className="shortcut-list">
        {lines.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>{meaning}</dt>
            <dd>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <Switch
        mt="md"
        label={shortcuts.single}
        description={shortcuts.singleHelp}
        checked={isOn}
        onChange={(event) => {
          turnSingleKeys(event.currentTarget.checked);
          setOn(event.currentTarget.checked);
        }}
      />
    </Modal>
  );
}
