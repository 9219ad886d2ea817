export type * from './api.ts';
export type { Auth } from './auth.ts';
export {
  type BrowserClient,
  type BrowserOptions,
  type Client,
  createClient,
  type MachineOptions,
} from './client.ts';
export { CastellanError, type CastellanErrorCode, type ClientErrorCode } from './errors.ts';
export * from './guard.ts';
export type { CallOptions, InputOf, Operation, ResultOf } from './operations.ts';
export type { ListPath, Page } from './pages.ts';
export type { SessionEvent, SessionState } from './session.ts';
export type { Answer, RetryOptions } from './transport.ts';
