import type { Command } from 'commander'
import { NodeProxyError } from '../../lib/error.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { podPath, podsBySelector, podsOf } from '../pods/pods-of.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { addLogsFlags, type LogsFlags, logQuery } from './logs-flags.ts'
import { printLog } from './print-log.ts'

const ABOUT = `
To a terminal, control characters are escaped, but for colours; elsewhere every byte is as it was.

Examples:
  orchctl logs web
  orchctl logs -f --tail=20 service/web
  orchctl logs -l app=web --all-containers --prefix
`

/** The container that `kubectl` takes, too, when none is named. */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container'

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
  runs<LogsFlags>(command, context, logs)
}

async function logs(
  args: readonly string[],
  flags: LogsFlags,
  context: CommandContext,
): Promise<ExitCode> {
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
  const print = (source: Source) => printLog({ ...source, query }, context)
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
  const own = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    arrayAt(pod, 'spec', list).map((one) => stringAt(one, 'name')),
  )
  const usual = stringAt(pod, 'metadata', 'annotations', DEFAULT_CONTAINER)
  const [first = ''] = arrayAt(pod, 'spec', 'containers').map((one) => stringAt(one, 'name'))
  const single = container ?? (own.includes(usual) ? usual : first)
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
    ...{ path, container: one },
    prefix: prefix === true ? `[pod/${name}/${one}] ` : '',
  }))
}
