// The actions that the audit log can hold. The catalogue of texts has one sentence for each.

import { t } from '../../text.ts';
import type { AuditAction } from './entries.ts';

const isAction = (text: string): text is AuditAction => Object.hasOwn(t.audit.sentences, text);

/** Call it while rendering: the texts are not there while modules load. */
export const knownActions = (): AuditAction[] => Object.keys(t.audit.sentences).filter(isAction);

const without = /\{(actor|target)\}/g;

/** Returns what an action means, without naming anybody. */
export const meaningOf = (action: AuditAction): string => t.audit.sentences[action].replaceAll(without, '…');
