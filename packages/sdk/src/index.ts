export type * from './api.ts';
export * from './guard.ts';
