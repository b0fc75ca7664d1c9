import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { Exit, ProgramRunner } from '../spawner/program-runner.ts'
import type {
  CountedRule,
  Iptables,
  IptablesVariant,
  RestoreFailureKind,
  RestoreResult,
  SavedChain,
  SavedTable,
  SaveOptions,
  TableName,
} from './iptables.ts'

/** `[12:720] -A CHAIN rule`, of `iptables-save -c`. */
const COUNTED = /^\[(\d+):\d+\] -A (\S+) ?(.*)$/

/** `[packets:bytes] ` before a rule, which `-c` prints; such rules are never wanted with counters. */
const COUNTERS = /^\[\d+:\d+\] /

const LINE = /(?:^|\s)(?:Error occurred at line: |COMMIT expected at line |line )(\d+)\b/m
const NOISE = /^(Ignoring deprecated|Try `|# Warning|\s*$)/
const LOCKED = /xtables lock/
const MISSING = /can't initialize|unable to initialize|do you need to insmod|Table does not exist/
const LIMIT = 300

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
  /** A restore is parsed and checked against the kernel, but not committed (`--test`). */
  readonly onlyTests?: boolean
}

/** Reads the iptables variant from `iptables --version`; throws NP_KERNEL_IPTABLES if the program does not exist. */
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

/** iptables through its programs: `iptables-save`, `iptables -S`, `iptables-restore --noflush`. */
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

/** The 1-based line of the input that iptables-restore reports as wrong; undefined if it reports no line. */
function failingLine(stderr: string): number | undefined {
  const match = LINE.exec(stderr)
  return match === null ? undefined : Number(match[1])
}

/** The kind of failure of an iptables program that exited with a status other than 0. */
function failureKind(exit: Exit): RestoreFailureKind {
  if (exit.timedOut) return 'timeout'
  if (exit.status === 127) return 'missing'
  if (LOCKED.test(exit.stderr)) return 'locked'
  return MISSING.test(exit.stderr) ? 'missing' : 'refused'
}

/** The error output of a program as one line of printable ASCII, at most 300 characters; never empty. */
function complaint(exit: Exit): string {
  const lines = exit.stderr.split('\n').filter((line) => !NOISE.test(line))
  const text = lines.map((line) => line.trim()).join('; ')
  const safe = text.replace(/[^\x20-\x7e]/g, '?').slice(0, LIMIT)
  return safe === '' ? `exit status ${exit.status}` : safe
}

/** Collects the output of `iptables-save -t TABLE` line by line. */
class SaveParser {
  readonly #chains = new Map<string, { policy: string | undefined; rules: string[] }>()
  readonly #keep: (chain: string) => boolean

  constructor(options: SaveOptions = {}) {
    this.#keep = options.keep ?? (() => true)
  }

  line(text: string): void {
    if (text.startsWith(':')) this.#chain(text)
    else if (text.startsWith('-A ')) this.#rule(text)
    else if (text.startsWith('[')) this.#rule(text.replace(COUNTERS, ''))
  }

  result(): SavedTable {
    const chains: ReadonlyMap<string, SavedChain> = this.#chains
    return { chains }
  }

  #chain(text: string): void {
    const [name, policy] = text.slice(1).split(' ', 2)
    if (name === undefined || !this.#keep(name)) return
    this.#chains.set(name, { policy: policy === '-' ? undefined : policy, rules: [] })
  }

  #rule(text: string): void {
    const end = text.indexOf(' ', 3)
    const name = end < 0 ? text.slice(3) : text.slice(3, end)
    this.#chains.get(name)?.rules.push(end < 0 ? '' : text.slice(end + 1))
  }
}

/** Records the lines of COMMIT in a restore text that is passed on. */
class CommitLines {
  readonly #lines: number[] = []
  #line = 1
  #partial = ''

  watch(text: string | Iterable<string>): string | Iterable<string> {
    if (typeof text !== 'string') return this.#each(text)
    this.#scan(text)
    return text
  }

  get count(): number {
    return this.#lines.length
  }

  /** COMMIT lines before `line`: those that took effect when `line` failed. */
  before(line: number): number {
    return this.#lines.filter((commit) => commit < line).length
  }

  *#each(chunks: Iterable<string>): Generator<string> {
    for (const chunk of chunks) {
      this.#scan(chunk)
      yield chunk
    }
  }

  #scan(chunk: string): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf('\n', start)
      if (end < 0) break
      if (this.#partial + chunk.slice(start, end) === 'COMMIT') this.#lines.push(this.#line)
      this.#partial = ''
      this.#line++
      start = end + 1
    }
    this.#partial += chunk.slice(start)
  }
}

/** Undefined if the line is not a rule, or if the rule counted nothing, as most rules of a large table. */
export function parseCounted(line: string): CountedRule | undefined {
  if (!line.startsWith('[') || line.startsWith('[0:')) return undefined
  const match = COUNTED.exec(line)
  if (match === null) return undefined
  const [, packets, chain = '', rule = ''] = match
  return { chain, rule, packets: Number(packets) }
}
