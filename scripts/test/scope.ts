// Lets node:test find the running test without the async hook that it enables in every test process. That hook sees
// each promise, socket and timer of the service and takes a sixth of the CPU time of the tests that start one.
// It must not change to which test a subtest or an error belongs: scope.test.ts compares both ways.
import hooks, { AsyncLocalStorage, AsyncResource, type HookCallbacks } from 'node:async_hooks';

const { createHook, executionAsyncId } = hooks;
const { runInAsyncScope } = AsyncResource.prototype;
/** The id of the innermost test, suite or hook whose function is running. */
const scope = new AsyncLocalStorage<number>();

/** Returns whether node:test created it: suites and hooks extend its class Test. */
function isTest(resource: object): boolean {
  for (let type = Object.getPrototypeOf(resource); type !== null; type = Object.getPrototypeOf(type))
    if (type.constructor.name === 'Test') return true;
  return false;
}

/** Takes the place of `createHook` for node:test. `init` records a test under its id. */
function replaceHook({ init }: HookCallbacks) {
  Object.assign(hooks, { createHook, executionAsyncId });
  Object.assign(AsyncResource.prototype, {
    runInAsyncScope(
      this: AsyncResource,
      run: (...args: unknown[]) => unknown,
      thisArg: unknown,
      ...args: unknown[]
    ): unknown {
      if (!isTest(this)) return runInAsyncScope.call(this, run, thisArg, ...args);
      const id = this.asyncId();
      init?.(id, 'Test', 0, this);
      return runInAsyncScope.call(this, () => scope.run(id, () => Reflect.apply(run, thisArg, args)));
    },
  });
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
}

// When it is first imported, node:test takes both functions from the module and calls `createHook` once.
Object.assign(hooks, {
  createHook: replaceHook,
  executionAsyncId: () => scope.getStore() ?? executionAsyncId(),
});
