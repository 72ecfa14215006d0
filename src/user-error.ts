/** An error that the person at the keyboard can mend; its message says how, and is shown without a stack. */
export class UserError extends Error {}

/** A setting, an account or a server's setting is wrong: the same run would end the same again. */
export class MisconfigurationError extends UserError {}
