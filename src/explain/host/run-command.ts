/** What a command printed. */
export interface CommandOutput {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program in the network namespace that is explained, with words of letters, digits and `.:,/_%=+@-` only.
 * Status 127: there is no such program.
 */
export type RunCommand = (program: string, args: readonly string[]) => Promise<CommandOutput>
