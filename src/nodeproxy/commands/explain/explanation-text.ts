import { toJson } from '@bufbuild/protobuf'
import { observedWords, percent } from '../../../explain/comparison/compare-outcomes.ts'
import type { Step } from '../../../explain/packet/branch.ts'
import type { WalkOutcome } from '../../../explain/walk/walk-outcome.ts'
import { ExplainResponseSchema } from '../../../inspection/generated/inspection_pb.ts'
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
    ...observed.map((one) => `  ${percent(one.probability).padStart(6)}  ${observedWords(one)}`),
    '',
    'node-proxy:',
    ...desiredLines(desired),
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
  const { outcome, entry, backends, reasons, hint, mode } = desired
  const list = backends.map(({ ip, port }) => hostPort(ip as IpAddress, port)).join(' ')
  return [
    `  ${outcome}${list === '' ? '' : ` to ${list}`}${entry === '' ? '' : `, for ${entry}`} (mode ${mode})`,
    ...reasons.map((reason) => `  ${reason}`),
    ...(hint === '' ? [] : [`  ${hint}`]),
  ]
}

function stepText({ where, object, text, counter }: Step): string {
  const count = counter === undefined ? '' : ` [${counter.packets} packets so far]`
  if (object === undefined) return `${where}: ${text}`
  return `${where}: ${object}${object.endsWith(text) ? '' : ` → ${text}`}${count}`
}

/** An explanation for programs: one JSON object, with the text for their users. */
export function explanationJson(explanation: Explanation): string {
  const { src = null, inInterface = null, desired, observed, ...rest } = explanation
  const known =
    typeof desired === 'string'
      ? { desired: null, desiredUnknown: desired }
      : { desired: toJson(ExplainResponseSchema, desired, { alwaysEmitImplicit: true }) }
  const words = { isWell: isWell(explanation), text: explanationText(explanation) }
  const json = {
    src,
    inInterface,
    ...rest,
    ...known,
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
