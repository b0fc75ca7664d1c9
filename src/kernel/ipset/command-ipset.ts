import { NodeProxyError } from '../../lib/error.ts'
import type { Exit, ProgramRunner } from '../spawner/program-runner.ts'
import { HeaderParser } from './header-parser.ts'
import type { Ipset, SetHeader, SetRefusal } from './ipset.ts'

const TIMEOUT_MS = 60_000
const LINE = /Error in line (\d+): /
const NO_SET = /The set with the given name does not exist/
const LIMIT = 300

/** IP sets by the `ipset` program. */
export class CommandIpset implements Ipset {
  readonly #runner: ProgramRunner

  constructor(runner: ProgramRunner) {
    this.#runner = runner
  }

  async names(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    await this.#list(['list', '-n'], (line) => {
      if (line.startsWith(prefix)) names.push(line)
    })
    return names
  }

  async list(prefix: string): Promise<ReadonlyMap<string, SetHeader>> {
    const parser = new HeaderParser(prefix)
    await this.#list(['list', '-t'], (line) => parser.line(line))
    return parser.headers
  }

  async members(name: string): Promise<readonly string[] | undefined> {
    const members: string[] = []
    let inside = false
    const exit = await this.#list(['list', name], (line) => {
      if (inside) members.push(line)
      else if (line === 'Members:') inside = true
    })
    return exit.status === 0 ? members : undefined
  }

  async restore(commands: readonly string[]): Promise<readonly SetRefusal[]> {
    for (const command of commands) {
      if (/[^\x20-\x7e]/.test(command)) throw new TypeError('an ipset command is one line of ASCII')
    }
    const refusals: SetRefusal[] = []
    let left: readonly Indexed[] = commands.map((command, index) => ({ command, index }))
    while (left.length > 0) {
      const failure = await this.#run(left)
      if (failure === undefined) break
      const { at, message } = failure
      const failed = at === undefined ? left : left.slice(at, at + 1)
      refusals.push(...failed.map(({ index }) => ({ index, message })))
      left = at === undefined ? [] : [...unsent(left, at), ...left.slice(at + 1)]
    }
    return refusals
  }

  /** ipset stops at the first line that is refused; `at` is undefined when it names none. */
  async #run(commands: readonly Indexed[]): Promise<Failure | undefined> {
    const stdin = `${commands.map(({ command }) => command).join('\n')}\n`
    const job = { program: 'ipset', args: ['restore'], stdin, timeoutMs: TIMEOUT_MS }
    const exit = await this.#runner.run(job)
    if (exit.status === 0) return undefined
    const line = LINE.exec(exit.stderr)?.[1]
    return { at: line === undefined ? undefined : Number(line) - 1, message: complaint(exit) }
  }

  async #list(args: readonly string[], onLine: (line: string) => void): Promise<Exit> {
    const exit = await this.#runner.runLines(
      { program: 'ipset', args, timeoutMs: TIMEOUT_MS },
      onLine,
    )
    if (exit.status === 0 || NO_SET.test(exit.stderr)) return exit
    throw new NodeProxyError('NP_KERNEL_IPSET', `ipset ${args.join(' ')}: ${complaint(exit)}`, {
      hint:
        exit.status === 127
          ? 'install ipset 6 or newer (Debian: apt-get install ipset)'
          : 'load the kernel module (modprobe ip_set) and run with CAP_NET_ADMIN',
    })
  }
}

interface Indexed {
  readonly command: string
  readonly index: number
}

interface Failure {
  readonly at: number | undefined
  readonly message: string
}

/**
 * ipset collects consecutive `add` and `del` lines and drops them when the next
 * line does not parse, so those before the refused line are said again.
 */
function unsent(commands: readonly Indexed[], at: number): readonly Indexed[] {
  let start = at
  while (/^(add|del) /.test(commands[start - 1]?.command ?? '')) start--
  return commands.slice(start, at).map(({ command, index }) => {
    return { command: command.endsWith(' -exist') ? command : `${command} -exist`, index }
  })
}

function complaint(exit: Exit): string {
  const text = exit.stderr.replace(/^ipset v[\d.]+: /, '').trim()
  const safe = text.replace(/[^\x20-\x7e]/g, ' ').slice(0, LIMIT)
  return safe === '' ? `exit status ${exit.status}` : safe
}
