import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import {
  type StatusResponse,
  StatusResponseSchema,
} from '../../inspection/generated/inspection_pb.ts'
import { withInspection } from '../../inspection/inspection-client.ts'
import { formatDuration } from '../../lib/duration.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from './command-module.ts'
import { addSocketFlags, type SocketFlags } from './socket-flags.ts'

const MIB = 2 ** 20

/** `node-proxy status`: whether the node-proxy of this node works, and what does not. */
export function define(command: Command, { host, finish }: CommandContext): void {
  addSocketFlags(command).action(async ({ socket, output }: SocketFlags) => {
    const status = await withInspection(socket, (client) => client.status())
    const text =
      output === 'json'
        ? `${JSON.stringify(toJson(StatusResponseSchema, status, { alwaysEmitImplicit: true }), null, 2)}\n`
        : statusText(status, Date.now())
    host.stdout.write(text)
    finish(isWell(status) ? 0 : 1)
  })
}

/** Whether node-proxy is ready and reports no problem. */
function isWell({ isReady, warnings, refusals, problems }: StatusResponse): boolean {
  return isReady && warnings.length === 0 && refusals.length === 0 && problems.length === 0
}

/** A status for people: what is wrong comes first. `now`: milliseconds since the epoch. */
export function statusText(status: StatusResponse, now: number): string {
  return [...wrongOf(status), ...factsOf(status, now), ...biggestOf(status)].join('\n') + '\n'
}

function wrongOf(status: StatusResponse): readonly string[] {
  const { isReady, reasons, warnings, refusals, problems } = status
  if (isWell(status)) return ['ready, and nothing is wrong', '']
  return [
    isReady ? 'ready, but:' : 'not ready:',
    ...reasons.map((reason) => `  ${reason}`),
    ...warnings.map((warning) => `  ${warning}`),
    ...refusals.map(
      ({ object, code, message, entries }) =>
        `  the kernel refuses ${quote(object)} of ${entries.join(', ') || 'all Services'}: ${message} (${code})`,
    ),
    ...problems.map(({ entry, code, message }) => `  ${entry}: ${message} (${code})`),
    '',
  ]
}

function factsOf(status: StatusResponse, now: number): readonly string[] {
  const { version, nodeName, mode, startedAt, programming, waitingMs } = status
  const age = formatDuration(Math.max(0, Math.floor((now - Number(startedAt)) / 1_000) * 1_000))
  const { count = 0, p50Ms = 0, p99Ms = 0 } = programming ?? {}
  const rows: readonly (readonly [string, string])[] = [
    ['node', nodeName],
    ['mode', mode],
    ['version', `${version}, running for ${age}`],
    [
      'forwards',
      `${status.services} Services, ${status.entries} entries, ${status.backends} backends`,
    ],
    ['waiting', waitingMs === 0n ? 'no change' : `the oldest change for ${waitingMs} ms`],
    [
      'latency',
      count === 0 ? 'no change yet' : `p50 ${p50Ms} ms, p99 ${p99Ms} ms of ${count} changes`,
    ],
    ['policies', status.networkPolicies || 'not enforced: this node-proxy does not know them'],
    ['announces', announcementText(status)],
    ...routesRows(status, now),
    ['drift', `${status.driftRepaired} objects repaired`],
    ['memory', `${Math.round(Number(status.residentMemory) / MIB)} MiB`],
  ]
  return rows.map(([name, value]) => `${name.padEnd(9)} ${value}`)
}

function announcementText({ announcement }: StatusResponse): string {
  if (announcement === undefined) return 'no addresses on its network: announcement.layer2 is false'
  const { addresses, known } = announcement
  const list = addresses.length === 0 ? '' : `: ${addresses.join(', ')}`
  return `${addresses.length} of ${known} addresses${list}`
}

function routesRows({ bgp }: StatusResponse, now: number) {
  return (bgp?.peers ?? []).map(({ peer, asn, state, since, routes, failure }) => {
    const age = formatDuration(Math.max(0, Math.floor((now - Number(since)) / 1_000) * 1_000))
    const list = routes.length === 0 ? '' : `: ${routes.join(', ')}`
    const what =
      state === 'Established'
        ? `${state} for ${age}, ${routes.length} routes${list}`
        : `${state}${failure === '' ? '' : `: ${failure}`}`
    return ['BGP', `${peer} of AS ${asn} ${what}`] as const
  })
}

function biggestOf({ biggest }: StatusResponse): readonly string[] {
  if (biggest.length === 0) return []
  return [
    '',
    'biggest Services:',
    ...biggest.map((one) => `  ${one.backends} backends  ${one.service}`),
  ]
}
