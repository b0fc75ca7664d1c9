/** What a command printed. */
export interface CommandOutput {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program in the network namespace that is explained, with words that consist of letters, digits and
 * `.:,/_%=+@-`. Status 127 means that the program does not exist.
 */
export type RunCommand = (program: string, args: readonly string[]) => Promise<CommandOutput>
