import { type Command, Option } from 'commander'
import type { Query } from '../../client/http/query.ts'
import { parseDuration } from '../../lib/duration.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/usage-error.ts'

/** The flags of `logs`. */
export interface LogsFlags {
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

/** Lines of each Pod that a selector finds, unless `--tail` says more. */
const TAIL_OF_SELECTED = '10'

/** Adds the flags to the command. */
export function addLogsFlags(command: Command): void {
  command
    .option('-c, --container <name>', 'the container; the first one unless given')
    .option('-f, --follow', 'go on until the container ends')
    .option('-p, --previous', 'the container that ran before, if there was one')
    .option('--timestamps', 'begin each line with its time')
    .option('--prefix', 'begin each line with its Pod and container')
    .option('--all-containers', 'all containers of the Pod')
    .option('-l, --selector <labels>', 'the Pods that have these labels')
    .option('--tail <lines>', 'only so many of the last lines; -1: all of them')
    .addOption(
      new Option('--since <duration>', 'only what is not older: 10s, 5m, 2h').conflicts(
        'sinceTime',
      ),
    )
    .option('--since-time <time>', 'only what is not older: 2026-01-31T10:00:00Z')
    .option('--limit-bytes <bytes>', 'no more than so many bytes')
    .option('--max-log-requests <number>', 'logs that are followed at once, at most', '5')
}

/** The parameters of a request for a log. @throws NP_ORCHCTL_USAGE */
export function logQuery(flags: LogsFlags): Query {
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

/** Whole seconds, at least one: the API knows no shorter time. */
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
