/** An error that the user can fix; its message says how, and is printed without a stack. */
export class UserError extends Error {}

/** A setting, an account or a server's setting is wrong: repeating the run would fail in the same way. */
export class MisconfigurationError extends UserError {}
