import { StringDecoder } from 'node:string_decoder'
import { type Command, Option } from 'commander'
import type { Query } from '../client/http/query.ts'
import { parseDuration } from '../lib/duration.ts'
import { NodeProxyError } from '../lib/error.ts'
import { type JsonObject, stringAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import {
  containersOf,
  defaultContainer,
  podPath,
  podsBySelector,
  podsOf,
} from './discovery/pods-of.ts'
import { escaped } from './output/terminal-text.ts'
import { failureError } from './session/call-failure.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { type ExitCode, usageError } from './usage/exit-code.ts'
import { writeBytes } from './usage/host.ts'

/** The most characters of a line that are printed at once; longer lines are printed in parts. */
const MAX_LINE = 1 << 20

const ESCAPE = '\u001b'
/** Colours (SGR of ECMA-48) are harmless; every other control or formatting character is escaped. */
const COLOUR_OR_CONTROL = /\p{Cc}\[[\d;]*m|(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** The last lines that are printed of each Pod of a selector, unless `--tail` is given. */
const TAIL_OF_SELECTED = '10'

const ABOUT = `
To a terminal, control characters are escaped, but for colours; elsewhere every byte is as it was.

Examples:
  orchctl logs web
  orchctl logs -f --tail=20 service/web
  orchctl logs -l app=web --all-containers --prefix
`

/** One log: of one container of one Pod. */
interface Source {
  readonly path: string
  readonly container: string
  /** Before each line; empty: nothing. */
  readonly prefix: string
}

/** `orchctl logs`. */
export function define(command: Command, context: CommandContext): void {
  command.argument('[operands...]', 'POD [CONTAINER], or TYPE/NAME of what selects Pods')
  addLogsFlags(command)
  command.addHelpText('after', ABOUT)
  runs(command, context, logs)
}

const logs: Run<LogsFlags> = async (args, flags, context) => {
  const [operand, named, ...rest] = args
  if (rest.length > 0 || (operand === undefined) === (flags.selector === undefined)) {
    throw usageError('name one Pod, or give --selector', 'write logs POD, or logs -l app=web')
  }
  const query = logQuery(flags)
  const chosen = { ...flags, ...(named !== undefined && { container: named }) }
  const pods = await podsToRead(operand, flags, context)
  const sources = (await Promise.all(pods.map((pod) => sourcesOf(pod, chosen, context)))).flat()
  const { maxLogRequests } = flags
  if (flags.follow === true && sources.length > Number(maxLogRequests)) {
    throw usageError(
      `${sources.length} logs would be followed, more than --max-log-requests ${maxLogRequests}`,
      'give a higher number, or a narrower selector',
    )
  }
  const isMixed = flags.follow === true && sources.length > 1
  const print = (source: Source) => printLog({ ...source, isMixed }, query, context)
  if (flags.follow === true) {
    const codes = await Promise.all(sources.map(print))
    return Math.max(0, ...codes)
  }
  let code: ExitCode = 0
  for (const source of sources) code = Math.max(code, await print(source))
  return code
}

async function podsToRead(
  operand: string | undefined,
  { selector = '' }: LogsFlags,
  context: CommandContext,
): Promise<readonly JsonObject[]> {
  if (operand === undefined) {
    const pods = await podsBySelector(selector, await openCatalogue(context), context)
    if (pods.length === 0) context.notice(`No Pods have the labels ${quote(selector)}.`)
    return pods
  }
  const named = await podsOf(operand, context)
  const { name } = named
  const [first, ...others] = await named.list()
  if (first === undefined) {
    throw new NodeProxyError('NP_ORCHCTL_NO_PODS', `${name} selects no Pod that exists`)
  }
  if (others.length > 0) {
    const pod = stringAt(first, 'metadata', 'name')
    context.notice(`${name} has ${others.length + 1} Pods; this is the log of pod/${pod}`)
  }
  return [first]
}

async function sourcesOf(
  pod: JsonObject,
  { container, allContainers, prefix, selector }: LogsFlags,
  context: CommandContext,
): Promise<readonly Source[]> {
  const name = stringAt(pod, 'metadata', 'name')
  const own = containersOf(pod)
  const single = container ?? defaultContainer(pod)
  if (allContainers !== true && !own.includes(single)) {
    throw usageError(`pod/${name} has no container ${quote(single)}`, `it has: ${own.join(', ')}`)
  }
  if (
    allContainers !== true &&
    container === undefined &&
    own.length > 1 &&
    selector === undefined
  ) {
    context.notice(`pod/${name} has the containers ${own.join(', ')}; this is the log of ${single}`)
  }
  const path = `${await podPath(pod, context)}/log`
  return (allContainers === true ? own : [single]).map((one) => ({
    path,
    container: one,
    prefix: prefix === true ? `[pod/${name}/${one}] ` : '',
  }))
}

interface LogsFlags {
  readonly container?: string
  readonly follow?: boolean
  readonly previous?: boolean
  readonly timestamps?: boolean
  readonly prefix?: boolean
  readonly allContainers?: boolean
  readonly selector?: string
  readonly tail?: string
  readonly since?: string
  readonly sinceTime?: string
  readonly limitBytes?: string
  readonly maxLogRequests: string
}

/** Adds the flags to the command. */
function addLogsFlags(command: Command): void {
  command
    .option('-c, --container <name>', 'the container; the default one unless given')
    .option('-f, --follow', 'follow the log until the container ends')
    .option('-p, --previous', 'the container that ran before, if there was one')
    .option('--timestamps', 'begin each line with its time')
    .option('--prefix', 'begin each line with its Pod and container')
    .option('--all-containers', 'all containers of the Pod')
    .option('-l, --selector <labels>', 'the Pods that have these labels')
    .option('--tail <lines>', 'only this number of last lines; -1: all lines')
    .addOption(
      new Option('--since <duration>', 'only lines that are not older: 10s, 5m, 2h').conflicts(
        'sinceTime',
      ),
    )
    .option('--since-time <time>', 'only lines that are not older: 2026-01-31T10:00:00Z')
    .option('--limit-bytes <bytes>', 'at most this number of bytes')
    .option('--max-log-requests <number>', 'logs that are followed at once, at most', '5')
}

/** The parameters of a request for a log. @throws NP_ORCHCTL_USAGE */
function logQuery(flags: LogsFlags): Query {
  const { follow, previous, timestamps, selector, tail, sinceTime, limitBytes } = flags
  whole('--max-log-requests', flags.maxLogRequests)
  const lines = tail ?? (selector === undefined ? undefined : TAIL_OF_SELECTED)
  return {
    ...(follow === true && { follow: 'true' }),
    ...(previous === true && { previous: 'true' }),
    ...(timestamps === true && { timestamps: 'true' }),
    ...(lines !== undefined && lines !== '-1' && { tailLines: whole('--tail', lines) }),
    ...(flags.since !== undefined && { sinceSeconds: seconds(flags.since) }),
    ...(sinceTime !== undefined && { sinceTime: time(sinceTime) }),
    ...(limitBytes !== undefined && { limitBytes: whole('--limit-bytes', limitBytes) }),
  }
}

function whole(flag: string, text: string): string {
  if (/^\d{1,15}$/.test(text)) return text
  throw usageError(`${flag} ${quote(text)} is no whole number`, 'write for example 100')
}

/** Whole seconds, at least one, because the API has no shorter time. */
function seconds(text: string): string {
  const ms = parseDuration(text)
  if (ms === undefined || ms <= 0) {
    throw usageError(`--since ${quote(text)} is no duration`, 'write 10s, 5m or 2h')
  }
  return String(Math.max(1, Math.ceil(ms / 1_000)))
}

function time(text: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))) return text
  throw usageError(`--since-time ${quote(text)} is no time`, 'write 2026-01-31T10:00:00Z')
}

/** Prints a log, by lines if others are printed at the same time; a refusal is reported. */
async function printLog(
  { path, container, prefix, isMixed }: Source & { readonly isMixed: boolean },
  query: Query,
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
    if (isSafe && prefix === '' && !isMixed) {
      for await (const bytes of opened.body) await writeBytes(host.stdout, bytes)
    } else if (isSafe) {
      for await (const line of linesOf(opened.body, 'latin1')) {
        const bytes = [Buffer.from(prefix), Buffer.from(line, 'latin1')]
        await writeBytes(host.stdout, Buffer.concat(bytes))
      }
    } else {
      for await (const line of linesOf(opened.body, 'utf8')) {
        await writeBytes(host.stdout, prefix + harmless(line))
      }
    }
    return 0
  } catch (error) {
    if (host.signal.aborted) return 1
    throw error
  }
}

/** The lines of a text with their ends; the last one may have none. In latin1, each character is a byte. */
async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  encoding: 'utf8' | 'latin1',
): AsyncIterable<string> {
  const decoder = new StringDecoder(encoding)
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

/** A line as a terminal may show it. */
export function harmless(line: string): string {
  return line.replace(COLOUR_OR_CONTROL, (found) => {
    const [first = '', ...rest] = found
    if ((first === ESCAPE && rest.length > 0) || first === '\t') return found
    return escaped(first) + rest.join('')
  })
}
