// Makes the compiler check that every field of a request body is handled.

/**
 * Call it with the rest of a body: `const { name, ...rest } = body; allHandled(rest)`. A field of the contract that the
 * code does not take is a compile error.
 */
export function allHandled(_rest: Record<string, never>): void {}
