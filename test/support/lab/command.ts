import { CommandShell } from './command-shell.ts'

export interface CommandOptions {
  /** Text for the command's standard input. */
  readonly input?: string
  /** Milliseconds until the command is killed; 20,000 unless set. */
  readonly timeoutMs?: number
  /** It takes no time, so that others may wait for it; false unless set. */
  readonly atOnce?: boolean
}

const shell = new CommandShell()

/**
 * Runs one command to its end and returns its standard output.
 * Throws with the command line and the end of what it said when it does not exit 0.
 */
export async function run(
  command: readonly string[],
  { input = '', timeoutMs = 120_000, atOnce = false }: CommandOptions = {},
): Promise<string> {
  const { status, stdout, stderr, timedOut } = await shell.run(command, {
    input,
    timeoutMs,
    atOnce,
  })
  if (status === 0) return stdout
  const how = timedOut ? `killed after ${timeoutMs} ms` : `exit ${status}`
  throw new Error(`${command.join(' ')}: ${how}: ${`${stdout}${stderr}`.trim().slice(-4000)}`)
}
