import { StringDecoder } from 'node:string_decoder'
import type { Query } from '../../client/http/query.ts'
import type { CommandContext } from '../command/context.ts'
import { escaped } from '../output/terminal-text.ts'
import { writeBytes } from '../pods/write-bytes.ts'
import { failureError } from '../session/call-failure.ts'
import type { ExitCode } from '../usage/exit-code.ts'

export interface PrintedLog {
  readonly path: string
  readonly container: string
  readonly query: Query
  /** Before each line; empty: nothing. */
  readonly prefix: string
}

/** Prints a log; a refusal is reported. */
export async function printLog(
  { path, container, query, prefix }: PrintedLog,
  context: CommandContext,
): Promise<ExitCode> {
  const { host } = context
  const { api } = await context.session()
  const call = { path, query: { ...query, container }, accept: '*/*', signal: host.signal }
  const opened = await api.open(call)
  if (!opened.ok) {
    context.report(failureError(opened.failure))
    return 1
  }
  const isSafe = host.stdout.isTTY !== true
  try {
    if (isSafe && prefix === '') {
      for await (const bytes of opened.body) await writeBytes(host.stdout, bytes)
    } else {
      for await (const line of linesOf(opened.body)) {
        await writeBytes(host.stdout, prefix + (isSafe ? line : harmless(line)))
      }
    }
    return 0
  } catch (error) {
    if (host.signal.aborted) return 1
    throw error
  }
}

/** Longer lines are printed in parts of so many characters. */
const MAX_LINE = 1 << 20

/** The lines of a text with their ends; the last one may have none. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const bytes of body) {
    const parts = (rest + decoder.write(Buffer.from(bytes))).split(/(?<=\n)/u)
    rest = parts.at(-1)?.endsWith('\n') === false ? (parts.pop() ?? '') : ''
    yield* parts
    if (rest.length > MAX_LINE) {
      yield rest
      rest = ''
    }
  }
  rest += decoder.end()
  if (rest !== '') yield rest
}

const ESCAPE = '\u001b'
/** Colours (SGR of ECMA-48) are harmless; every other control or formatting character is escaped. */
const COLOUR_OR_CONTROL = /\p{Cc}\[[\d;]*m|(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A line as a terminal may show it. */
export function harmless(line: string): string {
  return line.replace(COLOUR_OR_CONTROL, (found) => {
    const [first = '', ...rest] = found
    if ((first === ESCAPE && rest.length > 0) || first === '\t') return found
    return escaped(first) + rest.join('')
  })
}
