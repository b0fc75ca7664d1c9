import type { Reply } from '../environment/request.ts'

export type AddressOf = (pod: string) => string

/** Client addresses that a pod may see; `addressOf` knows those of pods. */
export type Seen = (pod: string, addressOf: AddressOf) => readonly string[]

/** The expected outcome of a series of equal requests. */
export type Expectation =
  | {
      readonly kind: 'answered'
      /** Pods that may answer. `all`: each of them must; `one`: always the same one; `any`: any of them. */
      readonly pods: readonly string[]
      readonly spread: 'all' | 'one' | 'any'
      readonly saw: Seen
    }
  /** An answer of the API server: its status, and a part of its kind or message. */
  | { readonly kind: 'api'; readonly status: number; readonly text: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'silent' }
  /** Anything but an answer: refused, silent or unreachable. */
  | { readonly kind: 'unanswered' }

/** Everything that is wrong with the replies, one sentence each; empty when all is well. */
export function judge(
  expected: Expectation,
  replies: readonly Reply[],
  addressOf: AddressOf,
): readonly string[] {
  if (replies.length === 0) return ['no request was sent']
  if (expected.kind === 'api') return wrongApi(expected, replies)
  if (expected.kind !== 'answered') return unlike(expected.kind, replies)
  const lost = unlike('answered', replies)
  if (lost.length > 0) return lost
  const counts = countPods(replies)
  return [
    ...losses(replies),
    ...unexpectedPods(expected.pods, counts),
    ...wrongSpread(expected, counts),
    ...wrongSources((pod) => expected.saw(pod, addressOf), replies),
  ]
}

/** How many requests each pod answered, in the order of their names. */
export function countPods(replies: readonly Reply[]): ReadonlyMap<string, number> {
  const names = replies.flatMap((reply) => (reply.kind === 'answered' ? [reply.pod] : []))
  const counts = new Map<string, number>()
  for (const name of names.toSorted()) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function unlike(kind: Expectation['kind'], replies: readonly Reply[]): readonly string[] {
  const fits = (reply: Reply): boolean =>
    kind === 'unanswered' ? reply.kind !== 'answered' : reply.kind === kind
  const wrong = replies.filter((reply) => !fits(reply))
  const [first] = wrong
  if (first === undefined) return []
  return [`${wrong.length} of ${replies.length} were not ${kind}, but ${describe(first)}`]
}

function wrongApi(
  { status, text }: Extract<Expectation, { kind: 'api' }>,
  replies: readonly Reply[],
): readonly string[] {
  const wrong = replies.find(
    (reply) => reply.kind !== 'api' || reply.status !== status || !reply.text.includes(text),
  )
  return wrong === undefined ? [] : [`not ${status} with ${text}, but ${describe(wrong)}`]
}

function describe(reply: Reply): string {
  if (reply.kind === 'answered') return `answered by ${reply.pod}, which saw ${reply.saw}`
  if (reply.kind === 'api') return `${reply.status} ${reply.text}`
  return reply.kind === 'failed' ? `failed (${reply.code})` : reply.kind
}

/**
 * Faults of replies that came only after a lost packet: a connection that succeeds at the second SYN hides a path that
 * leads nowhere. A SYN that met the TIME_WAIT of another connection is no fault, because an endpoint answered it.
 */
function losses(replies: readonly Reply[]): readonly string[] {
  const lossy = replies.filter((reply) => reply.kind === 'answered' && reply.lost > 0)
  if (lossy.length === 0) return []
  return [`${lossy.length} of ${replies.length} got through only after a packet had been lost`]
}

function unexpectedPods(
  pods: readonly string[],
  counts: ReadonlyMap<string, number>,
): readonly string[] {
  return [...counts]
    .filter(([pod]) => !pods.includes(pod))
    .map(([pod, count]) => `${pod} answered ${count} times, but must not`)
}

function wrongSpread(
  { pods, spread }: Extract<Expectation, { kind: 'answered' }>,
  counts: ReadonlyMap<string, number>,
): readonly string[] {
  if (spread === 'any') return []
  if (spread === 'all') {
    return pods.filter((pod) => !counts.has(pod)).map((pod) => `${pod} never answered`)
  }
  return counts.size === 1 ? [] : [`${[...counts.keys()].join(' and ')} answered, not one pod`]
}

function wrongSources(
  saw: (pod: string) => readonly string[],
  replies: readonly Reply[],
): readonly string[] {
  const wrong = replies.flatMap((reply) =>
    reply.kind === 'answered' && !saw(reply.pod).includes(reply.saw)
      ? [`${reply.pod} saw ${reply.saw}, not ${saw(reply.pod).join(' or ')}`]
      : [],
  )
  return [...new Set(wrong)]
}
