// Asks where to move a group. Its own subtree is not offered; the top level is.

import { Modal, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { t } from '../../text.ts';
import { searchFor } from '../../text-search.ts';
import { Form } from '../forms/forms.tsx';
import { childrenOf, pathTo, placesFor, type TreeNode } from './tree.ts';

type Props = {
  nodes: readonly TreeNode[];
  id: string;
  isPending: boolean;
  error: unknown;
  onMove: (parentId: string | null) => void;
  onClose: () => void;
};

const ROOT = '';

export function MoveDialog({ nodes, id, isPending, error, onMove, onClose }: Props): ReactElement {
  const [text, setText] = useState('');
  const path = pathTo(nodes, id, childrenOf);
  const name = path.at(-1)?.name ?? '';
  const [chosen, setChosen] = useState<string | null>(null);
  const isFound = searchFor(text);
  const places = [
    ...(path.length > 1 ? [{ id: ROOT, label: t.roleGroups.root }] : []),
    ...placesFor(nodes, id),
  ].filter(({ label }) => isFound(label));
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roleGroups.moveTitle(name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => chosen !== null && onMove(chosen === ROOT ? null : chosen)}
        isPending={isPending}
        error={error}
        fields={[]}
        submitLabel={t.roleGroups.move}
        isDisabled={chosen === null}
        onCancel={onClose}
      >
        <TextInput
          type="search"
          data-autofocus
          aria-label={t.roleGroups.search}
          placeholder={t.roleGroups.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <fieldset className="places">
          <legend className="visually-hidden">{t.roleGroups.moveTitle(name)}</legend>
          {places.map((place) => (
            <label key={place.id}>
              <input
                type="radio"
                name="place"
                checked={chosen === place.id}
                onChange={() => setChosen(place.id)}
              />
              {place.label}
            </label>
          ))}
          {places.length === 0 && <p className="muted">{t.common.list.noMatch}</p>}
        </fieldset>
      </Form>
    </Modal>
  );
}
