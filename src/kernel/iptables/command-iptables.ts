import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { Exit, ProgramRunner } from '../spawner/program-runner.ts'
import { CommitLines } from './commit-lines.ts'
import type {
  CountedRule,
  Iptables,
  IptablesVariant,
  RestoreResult,
  SavedTable,
  SaveOptions,
  TableName,
} from './iptables.ts'
import { parseCounted } from './parse-counted.ts'
import { complaint, failingLine, failureKind } from './restore-failure.ts'
import { SaveParser } from './save-parser.ts'

const READ_TIMEOUT_MS = 60_000
const RESTORE_TIMEOUT_MS = 180_000
/** Seconds to wait for the xtables lock (legacy; the nft variant has none). */
const LOCK_WAIT = ['-w', '5']
/** What `-S` prints for a chain that does not exist: legacy, and nft up to 1.8.9. */
const NO_CHAIN = /No chain\/target\/match|is incompatible, use 'nft' tool|does not exist/

/** See `openIptables`. */
export interface CommandIptablesOptions {
  readonly runner: ProgramRunner
  /** The variant whose programs run; undefined: that of the program `iptables` of this machine. */
  readonly backend?: IptablesVariant | undefined
  /** Milliseconds after which `iptables-restore` is stopped; 180,000 by default. */
  readonly restoreTimeoutMs?: number
  /** A restore is parsed, compared with what the kernel can do, and not committed (`--test`). */
  readonly onlyTests?: boolean
}

/** Reads the iptables variant from `iptables --version`; throws NP_KERNEL_IPTABLES when there is none. */
export async function openIptables(options: CommandIptablesOptions): Promise<Iptables> {
  const program = `iptables${options.backend === undefined ? '' : `-${options.backend}`}`
  const job = { program, args: ['--version'], timeoutMs: READ_TIMEOUT_MS }
  const result = await options.runner.run(job)
  const match = /v(\d+\.\d+(?:\.\d+)?)(?: \((\w+)\))?/.exec(result.stdout)
  if (result.status !== 0 || match?.[1] === undefined) throw unreadable(program, result)
  return new CommandIptables(options, {
    version: match[1],
    backend: match[2] === 'nf_tables' ? 'nft' : 'legacy',
  })
}

/** iptables by its own programs: `iptables-save`, `iptables -S`, `iptables-restore --noflush`. */
class CommandIptables implements Iptables {
  readonly backend: IptablesVariant
  readonly version: string
  readonly #runner: ProgramRunner
  readonly #infix: string
  readonly #restoreTimeoutMs: number
  readonly #restoreArgs: readonly string[]

  constructor(
    options: CommandIptablesOptions,
    found: { readonly version: string; readonly backend: IptablesVariant },
  ) {
    this.#runner = options.runner
    this.#infix = options.backend === undefined ? '' : `-${options.backend}`
    this.#restoreTimeoutMs = options.restoreTimeoutMs ?? RESTORE_TIMEOUT_MS
    this.backend = found.backend
    this.version = found.version
    const interval = waitsByPolling(found.version) ? ['-W', '100000'] : []
    const test = options.onlyTests === true ? ['--test'] : []
    this.#restoreArgs = ['--noflush', ...test, ...LOCK_WAIT, ...interval]
  }

  async save(family: Family, table: TableName, options?: SaveOptions): Promise<SavedTable> {
    const parser = new SaveParser(options)
    const program = this.#program(family, '-save')
    const job = { program, args: ['-t', table], timeoutMs: READ_TIMEOUT_MS }
    const exit = await this.#runner.runLines(job, (line) => parser.line(line))
    if (exit.status !== 0) throw unreadable(program, exit)
    return parser.result()
  }

  async counters(
    family: Family,
    table: TableName,
    visit: (counted: CountedRule) => void,
  ): Promise<void> {
    const program = this.#program(family, '-save')
    const job = { program, args: ['-c', '-t', table], timeoutMs: READ_TIMEOUT_MS }
    const exit = await this.#runner.runLines(job, (line) => {
      const counted = parseCounted(line)
      if (counted !== undefined) visit(counted)
    })
    if (exit.status !== 0) throw unreadable(program, exit)
  }

  async listChain(family: Family, table: TableName, chain: string) {
    const program = this.#program(family, '')
    const args = [...LOCK_WAIT, '-t', table, '-S', chain]
    const rules: string[] = []
    const job = { program, args, timeoutMs: READ_TIMEOUT_MS }
    const exit = await this.#runner.runLines(job, (line) => {
      if (line.startsWith(`-A ${chain} `)) rules.push(line.slice(chain.length + 4))
      else if (line === `-A ${chain}`) rules.push('')
    })
    if (exit.status === 0) return rules
    if (exit.status === 1 && NO_CHAIN.test(exit.stderr)) return undefined
    throw unreadable(program, exit)
  }

  async restore(family: Family, text: string | Iterable<string>): Promise<RestoreResult> {
    const commits = new CommitLines()
    const exit = await this.#runner.run({
      program: this.#program(family, '-restore'),
      args: this.#restoreArgs,
      stdin: commits.watch(text),
      timeoutMs: this.#restoreTimeoutMs,
    })
    if (exit.status === 0) return { ok: true, commits: commits.count, pid: exit.pid }
    return { ok: false, ...describeFailure(exit, commits), pid: exit.pid }
  }

  #program(family: Family, suffix: string): string {
    return `${family === 6 ? 'ip6tables' : 'iptables'}${this.#infix}${suffix}`
  }
}

function describeFailure(exit: Exit, commits: CommitLines) {
  const kind = failureKind(exit)
  const message = complaint(exit)
  const line = failingLine(exit.stderr)
  if (line === undefined) {
    return { kind, message, commits: kind !== 'timeout' && commits.count < 2 ? 0 : undefined }
  }
  return { kind, message, line, commits: commits.before(line) }
}

/** Up to 1.8.7 the lock is polled once a second without `-W`; later `-W` is ignored. */
function waitsByPolling(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return major * 10_000 + minor * 100 + patch < 10_808
}

function unreadable(program: string, exit: Exit): NodeProxyError {
  const why = exit.timedOut ? 'took too long' : complaint(exit)
  return new NodeProxyError('NP_KERNEL_IPTABLES', `${program}: ${why}`, {
    object: program,
    hint:
      exit.status === 127
        ? 'install iptables 1.8 or newer (Debian: apt-get install iptables)'
        : 'the kernel must have the table and the program must match its variant',
  })
}
