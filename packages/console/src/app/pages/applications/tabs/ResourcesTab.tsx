// Which APIs the application may get tokens for, and which permissions these tokens may carry.
import type { ApiResource, Application, Permission } from '@castellan/sdk';
import { Button, Checkbox, Modal, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { Form } from '../../../components/forms/forms.tsx';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { Empty, ReadErrors } from '../../../components/page/states.tsx';
import { useWrite } from '../../../data/api.ts';
import { type ReadApplication, updateApplication } from '../../../data/applications.ts';
import { allApiResources } from '../../../data/catalogue.ts';
import { useMe } from '../../../data/me.tsx';
import { usePermissionNames } from '../../../data/permissions/permission-names.ts';
import { later, t } from '../../../text.ts';
import '../../../components/secrets/secrets.css';

type Carried = Application['resources'][number];

export function ResourcesTab({ read }: { read: ReadApplication }): ReactElement {
  const texts = later.applications.page.tokens;
  const { can } = useMe();
  const mayRead = can('api_resource.read');
  const query = useQuery({ ...allApiResources, enabled: mayRead });
  const { permissions = [], read: readNames, mayRead: mayName } = usePermissionNames();
  const [edited, setEdited] = useState<ApiResource | 'new' | null>(null);
  const { resources } = read.application;
  const needed = ['application.update', 'api_resource.read', 'permission.read'].find((one) => !can(one));
  const reason = needed === undefined ? null : t.common.forbidden.reason(needed);
  const others = query.data?.filter(({ id }) => !resources.some(({ resource_id }) => resource_id === id));
  return (
    <>
      <div className="rule">
        <p className="muted">{texts.text}</p>
        <ReasonButton
          variant="default"
          reason={reason ?? (others?.length === 0 ? texts.noOther : null)}
          onClick={() => setEdited('new')}
        >
          {texts.add}
        </ReasonButton>
      </div>
      {!mayRead && <p className="muted">{t.common.forbidden.reason('api_resource.read')}</p>}
      {!mayName && <p className="muted">{t.common.forbidden.reason('permission.read')}</p>}
      <ReadErrors of={[query, readNames]} />
      {query.isLoading && <LoadingLines />}
      {resources.length === 0 && <Empty title={texts.empty} text={texts.emptyText} />}
      <ul className="key-list" aria-label={texts.label}>
        {resources.map((carried) => {
          const resource = query.data?.find(({ id }) => id === carried.resource_id);
          return (
            <li key={carried.resource_id}>
              <div className="key-head">
                <strong data-raw>{resource?.name ?? carried.resource_id}</strong>
                <ReasonButton variant="default" reason={reason} onClick={() => setEdited(resource ?? null)}>
                  {t.common.actions.edit}
                </ReasonButton>
              </div>
              {resource && <span className="mono key-facts">{resource.identifier}</span>}
              <span className="key-facts mono">{namesOf(carried, permissions).join(', ') || '–'}</span>
            </li>
          );
        })}
      </ul>
      {edited && (
        <EditDialog
          read={read}
          resources={edited === 'new' ? (others ?? []) : [edited]}
          permissions={permissions}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

const namesOf = ({ permission_ids }: Carried, permissions: readonly Permission[]): string[] =>
  permissions.filter(({ id }) => permission_ids.includes(id)).map(({ name }) => name);

type DialogProps = {
  read: ReadApplication;
  /** To choose from; one, if it is there already. */
  resources: readonly ApiResource[];
  permissions: readonly Permission[];
  onClose: () => void;
};

function EditDialog({ read, resources, permissions, onClose }: DialogProps): ReactElement {
  const texts = later.applications.page.tokens;
  const [begun] = useState(read);
  const now = begun.application.resources;
  const [resourceId, setResourceId] = useState(resources[0]?.id);
  const resource = resources.find(({ id }) => id === resourceId);
  const before = now.find(({ resource_id }) => resource_id === resourceId);
  const [chosen, setChosen] = useState<readonly string[]>(before?.permission_ids ?? []);
  const offered = permissions.filter(({ group_id }) => resource?.permission_group_ids.includes(group_id));
  const others = now.filter(({ resource_id }) => resource_id !== resourceId);
  const write = useWrite(
    (next: Carried[]) => updateApplication(begun, { resources: next }),
    () => {
      notifyDone(texts.saved);
      onClose();
    },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={before ? texts.editTitle(resource?.name ?? '') : texts.add}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => {
          if (resourceId !== undefined)
            write.run([...others, { resource_id: resourceId, permission_ids: [...chosen] }]);
        }}
        isPending={write.isPending}
        error={write.error}
        fields={[]}
        submitLabel={t.common.actions.save}
        onCancel={onClose}
      >
        {!before && (
          <NativeSelect
            label={texts.resource}
            value={resourceId ?? ''}
            data={resources.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={(event) => {
              setResourceId(event.currentTarget.value);
              setChosen([]);
            }}
          />
        )}
        <Checkbox.Group
          label={texts.permissions}
          description={texts.permissionsHelp}
          value={[...chosen]}
          onChange={setChosen}
        >
          <div className="scope-list">
            {offered.map(({ id, name }) => (
              <Checkbox key={id} value={id} label={name} data-raw />
            ))}
          </div>
        </Checkbox.Group>
        {offered.length === 0 && <p className="muted">{texts.none}</p>}
        {before && (
          <Button variant="default" onClick={() => write.run([...others])}>
            {texts.remove}
          </Button>
        )}
      </Form>
    </Modal>
  );
}
