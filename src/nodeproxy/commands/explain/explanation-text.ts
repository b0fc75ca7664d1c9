import { toJson } from '@bufbuild/protobuf'
import { observedWords, percent } from '../../../explain/comparison/compare-outcomes.ts'
import type { TrackedConnection } from '../../../explain/connections/tracked-connection.ts'
import type { Step } from '../../../explain/packet/branch.ts'
import type { WalkOutcome } from '../../../explain/walk/walk-outcome.ts'
import {
  type ExplainResponse,
  ExplainResponseSchema,
} from '../../../inspection/generated/inspection_pb.ts'
import { hostPort, type IpAddress } from '../../../lib/ip.ts'
import type { Explanation } from './explain-packet.ts'

/** Whether the connection comes to be, and kernel and node-proxy agree about it. */
export function isWell({ observed, differences }: Explanation): boolean {
  return differences.length === 0 && observed.every(({ kind }) => kind === 'delivered')
}

/** An explanation for people. */
export function explanationText(explanation: Explanation): string {
  const { differences, desired, observed } = explanation
  const [likeliest] = observed
  return [
    headOf(explanation),
    '',
    ...(differences.length === 0 ? [] : ['The kernel does otherwise than node-proxy wants:']),
    ...differences.map((one) => `  ${one}`),
    ...(differences.length === 0 ? [] : ['']),
    'The kernel:',
    ...observed.map(
      (one) => `  ${percent(one.probability).padStart(6)}  ${observedWords(one)}${boundWords(one)}`,
    ),
    '',
    'node-proxy:',
    ...desiredLines(desired),
    ...connectionLines(explanation),
    '',
    observed.length === 1 ? 'The way:' : 'The way of the likeliest:',
    ...(likeliest?.steps ?? []).map((one) => `  ${stepText(one)}`),
    '',
  ].join('\n')
}

function headOf({ src, dst, port, protocol, inInterface }: Explanation): string {
  const from = src ?? 'a process of this node'
  const by =
    inInterface === undefined ? (src === undefined ? '' : ', of this node') : `, by ${inInterface}`
  return `${protocol} from ${from}${by} to ${hostPort(dst, port)}`
}

function desiredLines(desired: Explanation['desired']): readonly string[] {
  if (typeof desired === 'string') return [`  not known: ${desired}`]
  const { outcome, entry, backends, reasons, hint, mode, pool } = desired
  return [
    `  ${outcome}${entry === '' ? '' : `, for ${entry}`} (mode ${mode})`,
    ...backendLines(backends),
    ...seenLines(desired),
    ...reasons.map((reason) => `  ${reason}`),
    ...poolLines(pool),
    ...(hint === '' ? [] : [`  ${hint}`]),
  ]
}

/** With session affinity: how long the kernel still remembers that this client has this backend. */
function boundWords({ kind, steps }: WalkOutcome): string {
  const left = steps.findLast(({ secondsLeft }) => secondsLeft !== undefined)?.secondsLeft
  if (kind !== 'delivered' || left === undefined) return ''
  return `, as earlier connections of this client; forgotten after ${left} s without one`
}

/** Each backend with its share of new connections. */
function backendLines(backends: ExplainResponse['backends']): readonly string[] {
  const total = backends.reduce((sum, { weight }) => sum + weight, 0)
  return backends.map(({ ip, port, weight, isLocal, node }) => {
    const share = total === 0 ? '' : percent(weight / total)
    const where = isLocal ? ', on this node' : node === '' ? '' : `, on node ${node}`
    return `  ${share.padStart(6)}  ${hostPort(ip as IpAddress, port)}${where}`
  })
}

/** Left-out endpoints that are shown to people. */
const MAX_LEFT_OUT = 10

/** Why the pool has these backends, and which endpoints get nothing. */
function poolLines(pool: ExplainResponse['pool']): readonly string[] {
  if (pool === undefined) return []
  const { reasons, leftOut, leftOutCount } = pool
  const shown = leftOut.slice(0, MAX_LEFT_OUT)
  return [
    ...reasons.map((reason) => `  ${reason}`),
    ...(leftOutCount === 0 ? [] : ['  endpoints that get no new connections from here:']),
    ...shown.map(({ ip, port, text }) => `    ${hostPort(ip as IpAddress, port)}: ${text}`),
    ...(leftOutCount > shown.length ? [`    and ${leftOutCount - shown.length} more`] : []),
  ]
}

const SEEN: Readonly<Record<string, string>> = {
  yes: 'backends see an address of this node',
  no: 'backends see the address of the client',
  toItself: 'backends see the address of the client, but the client itself sees one of this node',
}

function seenLines({ masquerade }: ExplainResponse): readonly string[] {
  const seen = SEEN[masquerade]
  return seen === undefined ? [] : [`  ${seen}`]
}

/** Nothing where there are none. */
function connectionLines({ connections }: Explanation): readonly string[] {
  if (typeof connections === 'string') return ['', `Connections: not known: ${connections}`]
  const { listed, count } = connections
  if (count === 0) return []
  return [
    '',
    'Connections that exist stay with their backend:',
    ...listed.map((one) => `  ${connectionText(one)}`),
    ...(count > listed.length ? [`  and ${count - listed.length} more`] : []),
  ]
}

function connectionText(connection: TrackedConnection): string {
  const { original, reply, state, secondsLeft, isAnswered } = connection
  const client = hostPort(original.src, original.srcPort)
  const backend = hostPort(reply.src, reply.srcPort)
  const seen = hostPort(reply.dst, reply.dstPort)
  const how = `${state === '' ? '' : `${state}, `}${isAnswered ? '' : 'without an answer, '}`
  return `${client} to ${backend}, which sees ${seen}; ${how}forgotten after ${secondsLeft} s`
}

function stepText({ where, object, text, counter }: Step): string {
  const count = counter === undefined ? '' : ` [${counter.packets} packets so far]`
  if (object === undefined) return `${where}: ${text}`
  return `${where}: ${object}${object.endsWith(text) ? '' : ` → ${text}`}${count}`
}

/** An explanation for programs: one JSON object, with the text for their users. */
export function explanationJson(explanation: Explanation): string {
  const { src = null, inInterface = null, desired, observed, connections, ...rest } = explanation
  const known =
    typeof desired === 'string'
      ? { desired: null, desiredUnknown: desired }
      : { desired: toJson(ExplainResponseSchema, desired, { alwaysEmitImplicit: true }) }
  const existing =
    typeof connections === 'string'
      ? { connections: null, connectionsUnknown: connections }
      : { connections }
  const words = { isWell: isWell(explanation), text: explanationText(explanation) }
  const json = {
    ...{ src, inInterface, ...rest, ...known, ...existing },
    observed: observed.map(outcomeJson),
    ...words,
  }
  return `${JSON.stringify(json, null, 2)}\n`
}

function outcomeJson({ steps, ...outcome }: WalkOutcome) {
  return { ...outcome, steps: steps.map(stepJson) }
}

/** Counters are 64 bits wide: JSON has them as text, as protobuf does. */
function stepJson({ counter, ...step }: Step) {
  if (counter === undefined) return step
  return { ...step, counter: { packets: `${counter.packets}`, bytes: `${counter.bytes}` } }
}
