import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'

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

/** An object of `ip -j`; its fields are checked when they are read. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The objects that a listing of `ip -j` prints; empty for a family that the kernel does not have. */
export async function readJson(
  run: RunCommand,
  args: readonly string[],
): Promise<readonly JsonObject[]> {
  const output = await run('ip', ['-j', ...args])
  if (output.status !== 0) throw unreadable(`ip ${args.join(' ')}`, output)
  return parseObjects(output.stdout)
}

/** The objects of a JSON list; `ip` prints nothing instead of an empty one. */
export function parseObjects(text: string): readonly JsonObject[] {
  const value: unknown = text.trim() === '' ? [] : JSON.parse(text)
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  return list.filter((one): one is JsonObject => typeof one === 'object' && one !== null)
}

/** A text field, or undefined. */
export function textOf(object: JsonObject, field: string): string | undefined {
  const value = object[field]
  return typeof value === 'string' ? value : undefined
}

/** A text that a command printed, with `?` for each character that could rewrite a terminal or a line of a log. */
export function shown(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** The error NP_EXPLAIN_READ for a listing that could not be read. */
export function unreadable(what: string, { status, stderr }: CommandOutput): NodeProxyError {
  return new NodeProxyError(
    'NP_EXPLAIN_READ',
    `${what} failed with status ${status}: ${quote(stderr.trim())}; check that it is installed and run as root`,
    { object: what },
  )
}
