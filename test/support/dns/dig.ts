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

/** A question, as the programs take it. */
export interface DigQuestion {
  readonly name: string
  readonly type: string
}

/** Begins what either program prints of one answer. */
const ANSWER = ';; ->>HEADER<<-'
const QUESTION = /^;; QUESTION SECTION:\n;;? ?(?<name>\S+)\s+IN\s+(?<type>\S+)$/m
const SECTION = /^;; (?<name>ANSWER|ADDITIONAL|AUTHORITY) SECTION:$/
const RECORD = /^(?<name>[^;\s]\S*)\s+\d+\s+IN\s+(?<type>\S+)\s+(?<data>.*)$/

/** Queries the loopback with a program; `options` are its own, such as `+tcp`. */
export async function dig(
  program: DigProgram,
  port: number,
  question: DigQuestion,
  ...options: readonly string[]
): Promise<PrintedAnswer> {
  const [answer] = await digEach(program, port, [question], ...options)
  return answer!
}

/**
 * Sends the questions one after the other, each by itself, in one run of the program.
 * @returns the answers in the order of the questions
 */
export async function digEach(
  program: DigProgram,
  port: number,
  questions: readonly DigQuestion[],
  ...options: readonly string[]
): Promise<readonly PrintedAnswer[]> {
  const bounds = program === 'dig' ? ['+tries=1', '+time=5'] : ['+retry=0', '+timeout=5', '+noidn']
  const words = ['@127.0.0.1', '-p', String(port), ...bounds, ...options]
  const queries = questions.flatMap(({ name, type }) => ['-q', name, '-t', type])
  const { stdout } = await run(program, [...words, ...queries], { maxBuffer: MAX_OUTPUT })
  const printed = stdout.split(ANSWER).slice(1)
  return questions.map(({ name, type }, index) => {
    const answer = printed[index] ?? ''
    const { name: shown, type: ofType } = QUESTION.exec(answer)?.groups ?? {}
    if (printed.length !== questions.length || ofType !== type || isOther(shown, name)) {
      throw new Error(`no answer of ${program} to ${type} ${name}:\n${answer || stdout}`)
    }
    return parsed(answer)
  })
}

const MAX_OUTPUT = 8 * 1024 * 1024

/** Whether the printed name is not the one of the question. */
function isOther(shown = '', name: string): boolean {
  return withoutDot(shown) !== withoutDot(name)
}

function parsed(stdout: string): PrintedAnswer {
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
  return `${withoutDot(name.toLowerCase())} ${type} ${withoutDot(data)}`
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, '')
}
