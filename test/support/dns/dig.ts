import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What a program printed about an answer; records as `name TYPE data`, sorted. */
export interface PrintedAnswer {
  readonly status: string
  readonly flags: readonly string[]
  readonly answers: readonly string[]
  readonly additionals: readonly string[]
}

/** `dig` of BIND or `kdig` of Knot. */
export type DigProgram = 'dig' | 'kdig'

const SECTION = /^;; (?<name>ANSWER|ADDITIONAL|AUTHORITY) SECTION:$/
const RECORD = /^(?<name>[^;\s]\S*)\s+\d+\s+IN\s+(?<type>\S+)\s+(?<data>.*)$/

/** Queries the loopback with a program; `options` are its own, such as `+tcp`. */
export async function dig(
  program: DigProgram,
  port: number,
  ...query: readonly string[]
): Promise<PrintedAnswer> {
  const bounds = program === 'dig' ? ['+tries=1', '+time=5'] : ['+retry=0', '+timeout=5', '+noidn']
  const { stdout } = await run(program, ['@127.0.0.1', '-p', String(port), ...bounds, ...query])
  const sections: Record<string, string[]> = { ANSWER: [], ADDITIONAL: [], AUTHORITY: [] }
  let section: string[] | undefined
  for (const line of stdout.split('\n')) {
    const header = SECTION.exec(line)?.groups
    if (header !== undefined) section = sections[header['name']!]
    else if (line === '') section = undefined
    const record = RECORD.exec(line)?.groups
    if (record !== undefined) section?.push(recordText(record))
  }
  return {
    status: /status: (\w+)/.exec(stdout)?.[1] ?? '',
    flags: (/flags: ([\w ]+);/i.exec(stdout)?.[1] ?? '').split(' '),
    answers: sections['ANSWER']!.toSorted(),
    additionals: sections['ADDITIONAL']!.toSorted(),
  }
}

/** Names without the final dot, the owner in lower case. */
function recordText({ name = '', type = '', data = '' }: Record<string, string>): string {
  const plain = data.replace(/\.$/, '')
  return `${name.toLowerCase().replace(/\.$/, '')} ${type} ${plain}`
}
