import { CommandShell } from './command-shell.ts'

export interface CommandOptions {
  /** Text for the command's standard input. */
  readonly input?: string
  /** Milliseconds until the command is killed; 120,000 unless set. */
  readonly timeoutMs?: number
  /** Whether the command is so short that others may wait for it; false unless set. */
  readonly atOnce?: boolean
}

/** Made for the first command, so that its folder is where temporary files go by then. */
let shell: CommandShell | undefined

/**
 * Runs one command to its end and returns its standard output. If the exit status is not 0, throws an error with the
 * command line and the end of the output.
 */
export async function run(
  command: readonly string[],
  { input = '', timeoutMs = 120_000, atOnce = false }: CommandOptions = {},
): Promise<string> {
  shell ??= new CommandShell()
  const { status, stdout, stderr, timedOut } = await shell.run(command, {
    input,
    timeoutMs,
    atOnce,
  })
  if (status === 0) return stdout
  const how = timedOut ? `killed after ${timeoutMs} ms` : `exit ${status}`
  throw new Error(`${command.join(' ')}: ${how}: ${`${stdout}${stderr}`.trim().slice(-4000)}`)
}
