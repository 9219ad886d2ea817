// The list of keyboard shortcuts: those of the page, then those of every page, and the switch that turns single keys off.
import { Kbd, Modal, Switch } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import {
  type Binding,
  isApple,
  listKeys,
  singleKeysAreOn,
  turnSingleKeys,
} from '../components/keyboard/keys.ts';
import { later, t } from '../text.ts';

const signs: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
};

/** Returns what is printed on the key. */
function signOf(key: string): string {
  const names: Readonly<Record<string, string>> = later.shortcuts.names;
  if (key === 'Mod') return isApple ? '⌘' : t.common.header.ctrl;
  return signs[key] ?? names[key] ?? key;
}

const keysOf = (binding: string): string[] =>
  binding === ' '
    ? ['Space']
    : binding
        .split(/[ +]/)
        .map((key, _at, all) => (all[0] === 'Mod' && key.length === 1 ? key.toUpperCase() : key));

const textOf = ({ does }: Binding): string =>
  typeof does === 'string' ? later.shortcuts.does[does] : later.shortcuts.goTo(does.goTo());

export function ShortcutList({ onClose }: { onClose: () => void }): ReactElement {
  const [isOn, setOn] = useState(singleKeysAreOn);
  const texts = later.shortcuts;
  const { page, frame } = listKeys();
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {page.length > 0 && <Lines title={texts.onPage} bindings={page} />}
      <Lines title={texts.everywhere} bindings={frame} />
      <Switch
        mt="md"
        label={texts.single}
        description={texts.singleHelp}
        checked={isOn}
        onChange={(event) => {
          turnSingleKeys(event.currentTarget.checked);
          setOn(event.currentTarget.checked);
        }}
      />
    </Modal>
  );
}

/** Two parts of a page may take the same keys for the same. */
function Lines({ title, bindings }: { title: string; bindings: readonly Binding[] }): ReactElement {
  const lines = new Map(bindings.map((binding) => [textOf(binding), binding.keys]));
  return (
    <section aria-label={title} className="shortcut-group">
      <h3 className="section-title">{title}</h3>
      <dl className="shortcut-list">
        {[...lines].map(([text, keys]) => (
          <div key={text}>
            <dt>{text}</dt>
            <dd>
              {keys.map((binding) => (
                <span key={binding}>
                  {keysOf(binding).map((key) => (
                    <Kbd key={key}>{signOf(key)}</Kbd>
                  ))}
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
