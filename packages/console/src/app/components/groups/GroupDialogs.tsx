// The dialogs of role groups and of permission groups: create, change, move and delete one.

import { Modal } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { readAgain, useWrite } from '../../data/api.ts';
import type { GroupKind } from '../../data/groups.ts';
import { t } from '../../text.ts';
import { ConfirmDialog } from '../dialogs/ConfirmDialog.tsx';
import { notifyDone, notifyFailure } from '../page/notify.tsx';
import { ReadErrors } from '../page/states.tsx';
import { GroupDialog } from './GroupDialog.tsx';
import { MoveDialog } from './MoveDialog.tsx';
import { moveGroup } from './move.ts';
import type { TreeNode } from './tree.ts';

type Group = { id: string; name: string };
export type GroupAct =
  | { kind: 'create'; parent: Group | null }
  | { kind: 'edit'; group: Group }
  | { kind: 'delete'; group: Group }
  | { kind: 'move'; id: string };

type GroupTexts = {
  newGroup: string;
  newGroupHelp?: string;
  newChild: string;
  newChildHelp: (parent: string) => string;
  editHelp?: string;
  deleteHelp: string;
};

type Props = {
  kind: GroupKind;
  texts: GroupTexts;
  nodes: readonly TreeNode[];
  act: GroupAct;
  /** A group was created. */
  onCreated: (id: string) => void;
  onDeleted: () => void;
  onClose: () => void;
};

export function GroupDialogs({ act, onCreated, ...props }: Props): ReactElement {
  const { kind, texts, onClose } = props;
  if (act.kind === 'edit') return <EditDialog {...props} group={act.group} />;
  if (act.kind === 'delete') return <DeleteDialog {...props} group={act.group} />;
  if (act.kind === 'move') return <Move {...props} id={act.id} />;
  const { parent } = act;
  const help = parent ? texts.newChildHelp(parent.name) : texts.newGroupHelp;
  return (
    <GroupDialog
      title={parent ? texts.newChild : texts.newGroup}
      {...(help === undefined ? {} : { help })}
      submitLabel={t.common.actions.create}
      seen={{ etag: null, fields: { name: '', description: '' } }}
      save={(fields) => kind.create({ ...fields, ...(parent ? { parent_id: parent.id } : {}) })}
      onDone={({ id, name }) => {
        notifyDone(t.roleGroups.created(name));
        onClose();
        onCreated(id);
      }}
      onClose={onClose}
    />
  );
}

type PartProps = Omit<Props, 'act' | 'onCreated'>;

/** Opens when the group and its version have been read, or could not be. */
function EditDialog({ kind, texts, group, onClose }: PartProps & { group: Group }): ReactElement | null {
  const seen = useQuery({
    queryKey: ['group to edit', group.id],
    queryFn: () => kind.read(group.id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const title = t.roleGroups.editTitle(group.name);
  if (seen.error)
    return (
      <Modal
        opened
        onClose={onClose}
        title={title}
        closeButtonProps={{ 'aria-label': t.common.actions.close }}
      >
        <ReadErrors of={[seen]} />
      </Modal>
    );
  if (!seen.data) return null;
  return (
    <GroupDialog
      title={title}
      {...(texts.editHelp === undefined ? {} : { help: texts.editHelp })}
      submitLabel={t.common.actions.save}
      seen={seen.data}
      save={(fields, etag) => kind.update(group.id, fields, etag)}
      reread={() => kind.read(group.id)}
      onDone={({ name }) => {
        notifyDone(t.roleGroups.saved(name));
        onClose();
      }}
      onClose={onClose}
    />
  );
}

function Move({ kind, nodes, id, onClose }: PartProps & { id: string }): ReactElement {
  const moving = useWrite((parentId: string | null) => moveGroup(kind, nodes, { id, parentId }), onClose);
  return (
    <MoveDialog
      nodes={nodes}
      id={id}
      isPending={moving.isPending}
      error={moving.error}
      onMove={moving.run}
      onClose={onClose}
    />
  );
}

function DeleteDialog({
  kind,
  texts,
  group: { id, name },
  onDeleted,
  onClose,
}: PartProps & { group: Group }): ReactElement {
  const deletion = useWrite(
    () => kind.remove(id),
    () => {
      notifyDone(t.roleGroups.deleted(name));
      onClose();
      onDeleted();
    },
  );
  return (
    <ConfirmDialog
      title={t.roleGroups.deleteTitle(name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.deleteHelp}</p>
    </ConfirmDialog>
  );
}

/** Moves a group that was dropped in the tree. A failure is told at the edge of the page. */
export const dropGroup = (
  kind: GroupKind,
  nodes: readonly TreeNode[],
  id: string,
  parentId: string | null,
): void => void moveGroup(kind, nodes, { id, parentId }).catch(notifyFailure).finally(readAgain);
