// The settings in force, read-only, and facts about the service.

import type { Setting } from '@castellan/sdk';
import { CopyButton, Switch, TextInput } from '@mantine/core';
import { IconCheck, IconCopy, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Fragment, type ReactElement, useState } from 'react';
import { useTypedText } from '../../components/lists/debounce.ts';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { reading } from '../../data/api.ts';
import { t } from '../../text.ts';
import { searchFor } from '../../text-search.ts';
import { About } from './About.tsx';
import { groupNames, groupOf } from './groups.ts';
import './settings.css';

const route = getRouteApi('/settings');

/** Whether the operator set the value. */
const isSet = (source: Setting['source']): boolean => source === 'environment' || source === 'file';

export function Settings(): ReactElement {
  const texts = t.settings;
  const { q = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useTypedText(
    q,
    (text) => void navigate({ search: (all) => ({ ...all, q: text.trim() || undefined }), replace: true }),
  );
  const [onlySet, setOnlySet] = useState(false);
  const query = useQuery(reading('GET /api/v1/settings', {}));
  const isFound = searchFor(typed);
  const shown = (query.data?.data ?? []).filter(
    ({ name, value, description, source }) =>
      (!onlySet || isSet(source)) && isFound(`${name}\n${value ?? ''}\n${description}`),
  );
  return (
    <>
      <PageHeader
        title={texts.title}
        note={query.data ? texts.count(shown.length) : null}
        actions={<Tag>{t.common.forbidden.readOnly}</Tag>}
      />
      <p className="muted">{texts.text}</p>
      <div className="filters">
        <TextInput
          type="search"
          className="grow"
          aria-label={texts.filter}
          placeholder={texts.filter}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Switch
          label={texts.onlyChanged}
          checked={onlySet}
          onChange={(event) => setOnlySet(event.currentTarget.checked)}
        />
      </div>
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {!query.data && !query.error && (
        <div className="table-card skeletons" role="status" aria-busy="true" aria-label={texts.title}>
          {groupNames.map((name) => (
            <i key={name} />
          ))}
        </div>
      )}
      {query.data && shown.length === 0 && (
        <NoMatch
          onClear={() => {
            setTyped('');
            setOnlySet(false);
          }}
        />
      )}
      {groupNames.map((group) => {
        const settings = shown.filter(({ name }) => groupOf(name) === group);
        if (settings.length === 0) return null;
        return (
          <section key={group} aria-labelledby={`settings-${group}`} className="settings-group">
            <h2 className="section-title" id={`settings-${group}`}>
              {texts.groups[group]}
            </h2>
            <ul className="table-card settings-list">
              {settings.map((setting) => (
                <SettingRow key={setting.name} setting={setting} />
              ))}
            </ul>
          </section>
        );
      })}
      {!query.isPending && <About settings={query.data?.data ?? []} />}
    </>
  );
}

const tones = { environment: 'accent', file: 'accent', default: 'gray', generated: 'warn' } as const;

function SettingRow({ setting }: { setting: Setting }): ReactElement {
  const { name, value, source, is_secret: isSecret, description } = setting;
  const texts = t.settings;
  return (
    <li>
      <div className="setting-name">
        <code className="mono">{name}</code>
        <CopyButton value={value === null ? name : `${name}=${value}`}>
          {({ copied, copy }) => (
            <button
              type="button"
              className="icon-button"
              aria-label={copied ? texts.copied : texts.copy(name)}
              onClick={copy}
            >
              {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
            </button>
          )}
        </CopyButton>
      </div>
      <p className="muted setting-text" lang="en">
        <Marked text={description} />
      </p>
      <div className="setting-value">
        {value === null ? (
          <span className="muted">{isSecret ? texts.secret : texts.empty}</span>
        ) : value === '' ? (
          <span className="muted">{texts.empty}</span>
        ) : (
          <code className="mono">{value}</code>
        )}
        <Tag tone={tones[source]}>{texts.source[source]}</Tag>
        {isSet(source) && (
          <span className="muted setting-default">
            {texts.defaultIs}{' '}
            <span lang="en">
              <Marked text={setting.default} />
            </span>
          </span>
        )}
      </div>
    </li>
  );
}

/** Shows what stands between backticks as code. */
function Marked({ text }: { text: string }): ReactElement {
  const parts = text.split('`');
  return (
    <>
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
        <Fragment key={index}>{index % 2 === 1 ? <code className="mono">{part}</code> : part}</Fragment>
      ))}
    </>
  );
}
