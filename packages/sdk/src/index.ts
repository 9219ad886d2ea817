export type * from './api.ts';
export type {
  CallOptions,
  InputOf,
  Operation,
  PreviewInputOf,
  PreviewOf,
  PreviewOperation,
  ResultOf,
} from './calls/operations.ts';
export type { ListPath, Page } from './calls/pages.ts';
export type { Answer, RetryOptions } from './calls/transport.ts';
export {
  type BrowserClient,
  type BrowserOptions,
  type Client,
  createClient,
  type MachineOptions,
} from './client.ts';
export { CastellanError, type CastellanErrorCode, type ClientErrorCode } from './errors.ts';
export * from './guard.ts';
export type { Acr } from './levels.ts';
export type { Auth } from './session/auth.ts';
export type { FactorsChange } from './session/auth-calls.ts';
export type { OwnPasskeys, PasskeyToAdd } from './session/ceremonies.ts';
export type { OwnFactorCalls } from './session/factors.ts';
export type { SessionEvent, SessionState } from './session/session.ts';
export type { OnStepUp, StepUpRequirement } from './session/step-ups.ts';
