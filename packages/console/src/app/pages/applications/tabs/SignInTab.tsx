// Who may sign in to an application: everybody, or the holders of one permission. The rule, and whom it lets in now.
import type { Permission } from '@castellan/sdk';
import { Modal, SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../../components/forms/forms.tsx';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { HolderList } from '../../../components/permissions/HolderList.tsx';
import { PermissionPicker } from '../../../components/permissions/PermissionPicker.tsx';
import { reading, useWrite } from '../../../data/api.ts';
import { type ReadApplication, updateApplication } from '../../../data/applications.ts';
import { useCan } from '../../../data/me.tsx';
import { usePermissionNames } from '../../../data/permissions/permission-names.ts';
import { later, t } from '../../../text.ts';
import { AccessEnds } from '../record/AccessEnds.tsx';

export function SignInTab({ read }: { read: ReadApplication }): ReactElement {
  const texts = later.applications.page.rule;
  const { required_permission_id: id } = read.application;
  const mayUpdate = useCan('application.update');
  const mayExplain = useCan('access.explain');
  const { permissions, read: readNames, mayRead } = usePermissionNames();
  const [isOpen, setOpen] = useState(false);
  const name = permissions?.find((one) => one.id === id)?.name;
  return (
    <>
      <div className="rule">
        <p>
          {id === null ? texts.everybody : texts.holders}{' '}
          {id !== null && name !== undefined && <span className="mono">{name}</span>}
        </p>
        <ReasonButton
          variant="default"
          reason={mayUpdate ? null : t.common.forbidden.reason('application.update')}
          onClick={() => setOpen(true)}
        >
          {texts.change}
        </ReasonButton>
      </div>
      <ReadErrors of={[readNames]} />
      {id !== null && name !== undefined && mayExplain && <HolderList id={id} name={name} withSuperusers />}
      {id !== null && !mayExplain && <p className="muted">{t.common.forbidden.reason('access.explain')}</p>}
      {isOpen && (
        <RuleDialog
          read={read}
          name={name}
          permissions={permissions}
          mayRead={mayRead}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

type DialogProps = {
  read: ReadApplication;
  /** Of the permission that is required now. */
  name: string | undefined;
  permissions: readonly Permission[] | undefined;
  mayRead: boolean;
  onClose: () => void;
};

function RuleDialog({ read, name, permissions, mayRead, onClose }: DialogProps): ReactElement {
  const texts = later.applications.page.rule;
  const { required_permission_id: before } = read.application;
  const [begun] = useState(read);
  const [kind, setKind] = useState(before === null ? 'everybody' : 'holders');
  const [chosen, setChosen] = useState(name);
  const found = permissions?.find((one) => one.name === chosen);
  const id = kind === 'everybody' ? null : found?.id;
  const write = useWrite(
    (to: string | null) => updateApplication(begun, { required_permission_id: to }),
    () => {
      notifyDone(texts.saved);
      onClose();
    },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title(read.application.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => {
          if (id !== undefined) write.run(id);
        }}
        isPending={write.isPending}
        error={write.error}
        fields={['required_permission_id']}
        submitLabel={t.common.actions.save}
        isDisabled={id === undefined || id === before}
        onCancel={onClose}
      >
        <SegmentedControl
          fullWidth
          aria-label={later.applications.columns.who}
          value={kind}
          onChange={setKind}
          data={[
            { value: 'everybody', label: later.applications.everybody },
            { value: 'holders', label: later.applications.holders },
          ]}
        />
        {kind === 'holders' && (
          <>
            {!mayRead && <p className="muted">{t.common.forbidden.reason('permission.read')}</p>}
            <PermissionPicker value={chosen} onChange={setChosen} />
            {chosen !== undefined && permissions && !found && (
              <p className="muted">{t.access.reasons.unknown_permission}</p>
            )}
            {found && <HolderCount id={found.id} />}
            {found && found.id !== before && (
              <AccessEnds id={read.application.id} change={{ required_permission_id: found.id }} />
            )}
          </>
        )}
        {kind === 'everybody' && before !== null && <p>{texts.opens}</p>}
        {fieldError(write.error, 'required_permission_id') && (
          <p role="alert">{fieldError(write.error, 'required_permission_id')}</p>
        )}
      </Form>
    </Modal>
  );
}

/** How many people the rule would let in. */
function HolderCount({ id }: { id: string }): ReactElement | null {
  const mayExplain = useCan('access.explain');
  const query = useQuery({
    ...reading('GET /api/v1/permissions/{permission_id}/holders', {
      path: { permission_id: id },
      query: { include: 'superusers' },
    }),
    enabled: mayExplain,
  });
  return (
    <>
      <ReadErrors of={[query]} />
      {query.data && <p>{later.applications.page.rule.lets(query.data.total)}</p>}
    </>
  );
}
