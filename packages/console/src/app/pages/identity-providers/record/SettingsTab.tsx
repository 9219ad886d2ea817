// The settings of a provider in one form. If somebody else has changed it, the person chooses for each field what to keep.
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { FieldConflict } from '../../../components/forms/FieldConflict.tsx';
import { Form, LeaveGuard } from '../../../components/forms/forms.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { useWrite } from '../../../data/api.ts';
import { allRoleNames } from '../../../data/catalogue.ts';
import { isCode } from '../../../data/errors.ts';
import { type ReadProvider, updateProvider } from '../../../data/identities/providers.ts';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { Addresses, Happens } from '../Facts.tsx';
import { fieldNames, hasField } from '../form/fields.ts';
import { isWhole, namedFields, ProviderFields } from '../form/ProviderFields.tsx';
import { bodyOf, changedNames, type FormValues, faultOf, idsIn, rulesIn, valuesOf } from '../form/values.ts';
import { ForeseenImpact } from './ForeseenImpact.tsx';

/** The version that the form began with, also when the page reads the record again. */
type Begun = { etag: string | null; values: FormValues };
const begin = ({ provider, etag }: ReadProvider): Begun => ({ etag, values: valuesOf(provider) });

export function SettingsTab({ read }: { read: ReadProvider }): ReactElement {
  const texts = later.identityProviders;
  const { provider } = read;
  const { user } = useMe();
  const [begun, setBegun] = useState(() => begin(read));
  const [values, setValues] = useState(begun.values);
  const [isChecked, setChecked] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const roleNames = useRoleNames();
  const changed = changedNames(begun.values, values);
  const restart = (from: ReadProvider): void => {
    const next = begin(from);
    setBegun(next);
    setValues(next.values);
    setChecked(false);
    setAsking(false);
  };
  // Nothing was typed that another version could overwrite.
  if (changed.length === 0 && begun.etag !== read.etag) restart(read);
  const write = useWrite(
    ({ from, to }: { from: Begun; to: FormValues }) =>
      updateProvider({ ...read, etag: from.etag }, bodyOf(from.values, to)),
    (stored) => {
      restart(stored);
      notifyDone(texts.saved(stored.provider.name));
    },
  );
  const theirs = begin(read);
  // Until the record has been read again, it is what the form began with.
  if (isCode(write.error, 'precondition_failed') && begun.etag !== theirs.etag)
    return (
      <FieldConflict
        versions={{ base: begun.values, mine: values, theirs: theirs.values }}
        fields={fieldNames.map((name) => ({
          name,
          label: texts.fields[name].label,
          ...(name === 'role_ids' ? { textOf: (ids: string) => idsIn(ids).map(roleNames).join(', ') } : {}),
          ...(name === 'role_mapping'
            ? {
                textOf: (rules: string) =>
                  rulesIn(rules)
                    .map(({ claim, equals, role_id }) => `${claim} = ${equals}: ${roleNames(role_id)}`)
                    .join('\n'),
              }
            : {}),
        }))}
        // What was typed stays in the form.
        onClose={() => write.reset()}
        onSave={(chosen) => {
          setBegun(theirs);
          setValues(chosen);
          write.run({ from: theirs, to: chosen });
        }}
      />
    );
  const save = (): void => write.run({ from: begun, to: values });
  return (
    <div className="provider">
      <LeaveGuard when={changed.length > 0 && !write.isPending} of={['tab']} />
      <Form
        onSubmit={() => {
          setChecked(true);
          if (changed.some((name) => faultOf(name, values[name]) !== null)) return;
          // The accounts that are connected belong to the issuer.
          if (changed.includes('issuer')) setAsking(true);
          else save();
        }}
        isPending={write.isPending}
        error={isAsking ? null : write.error}
        fields={namedFields(write.error)}
        submitLabel={t.common.actions.save}
        isDisabled={!user.is_superuser || changed.length === 0 || !isWhole(provider.kind, values)}
      >
        <ProviderFields
          kind={provider.kind}
          values={values}
          isChecked={isChecked}
          error={write.error}
          isReadOnly={!user.is_superuser}
          hasSecret={provider.has_secret}
          onChange={(name, value) => setValues((now) => ({ ...now, [name]: value }))}
        />
      </Form>
      <aside className="provider-facts">
        <Addresses
          redirect={provider.redirect_uri}
          backchannel={hasField(provider.kind, 'logout') ? provider.backchannel_logout_uri : null}
          afterSignOut={values.logout === 'upstream' ? provider.post_logout_redirect_uri : null}
        />
        <Happens kind={provider.kind} values={values} />
      </aside>
      {isAsking && (
        <ConfirmDialog
          title={texts.issuerTitle(provider.name)}
          confirmLabel={t.common.actions.save}
          isDangerous
          isPending={write.isPending}
          error={write.error}
          onConfirm={save}
          onClose={() => setAsking(false)}
        >
          <p>{texts.issuerText}</p>
          <ForeseenImpact id={provider.id} body={bodyOf(begun.values, values)} />
        </ConfirmDialog>
      )}
    </div>
  );
}

/** Returns what names a role; its id where the person may not read roles. */
function useRoleNames(): (id: string) => string {
  const { can } = useMe();
  const roles = useQuery({ ...allRoleNames, enabled: can('role.read') });
  return (id) => roles.data?.find((role) => role.id === id)?.name ?? id;
}
