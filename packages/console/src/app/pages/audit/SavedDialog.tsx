// The dialog with the saved filters.
import { ActionIcon, Modal, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { Form } from '../../components/forms/forms.tsx';
import { later, t } from '../../text.ts';
import { type AuditSearch, isFiltered } from './filter.ts';
import { readSaved, type SavedFilter, writeSaved } from './saved.ts';

type Props = { current: AuditSearch; onApply: (search: AuditSearch) => void; onClose: () => void };

export function SavedDialog({ current, onApply, onClose }: Props): ReactElement {
  const [saved, setSaved] = useState(readSaved);
  const [name, setName] = useState('');
  const store = (next: SavedFilter[]): void => {
    writeSaved(next);
    setSaved(next);
  };
  const isTaken = saved.some((one) => one.name === name.trim());
  const save = (): void => {
    if (name.trim() === '' || isTaken) return;
    store([...saved, { name: name.trim(), search: current }]);
    setName('');
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.audit.saved.label}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {saved.length === 0 ? (
        <p className="muted">{later.savedFilters.none}</p>
      ) : (
        <ul className="saved-filters">
          {saved.map((one) => (
            <li key={one.name}>
              <button type="button" className="link-button" data-raw onClick={() => onApply(one.search)}>
                {one.name}
              </button>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={later.savedFilters.remove(one.name)}
                onClick={() => store(saved.filter(({ name: other }) => other !== one.name))}
              >
                <IconTrash size={16} aria-hidden />
              </ActionIcon>
            </li>
          ))}
        </ul>
      )}
      {isFiltered(current) ? (
        <Form
          onSubmit={save}
          isPending={false}
          error={null}
          fields={['name']}
          submitLabel={t.common.actions.save}
          isDisabled={name.trim() === '' || isTaken}
        >
          <TextInput
            label={later.savedFilters.name}
            value={name}
            maxLength={60}
            error={isTaken ? later.savedFilters.taken : null}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        </Form>
      ) : (
        <p className="muted">{later.savedFilters.setFirst}</p>
      )}
    </Modal>
  );
}
