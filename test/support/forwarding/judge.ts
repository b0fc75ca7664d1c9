import type { ConversationResult } from './conversation.ts'
import type { BackendNews } from './listener.script.ts'

/**
 * What a test did to a backend, and from when on (milliseconds since the epoch) conversations may be cut because of it.
 * `killed`: all at once. `left`: those that lasted too long after it left the route. `lost`: all that it had when
 * packets to it were dropped and it was removed.
 */
export interface Fate {
  readonly kind: 'killed' | 'left' | 'lost'
  readonly from: number
  /** Conversations that began later went to other backends. */
  readonly until: number
}

export interface Evidence {
  readonly outcomes: readonly ConversationResult[]
  readonly news: readonly BackendNews[]
  readonly fates: ReadonlyMap<number, Fate>
}

export interface Verdict {
  /** What must not have happened, one line for each conversation. */
  readonly faults: readonly string[]
  /** The number of conversations that were complete in both directions. */
  readonly whole: number
  /** The number of conversations that were cut for a known reason, by the fate of their backend. */
  readonly cut: Readonly<Record<Fate['kind'], number>>
}

/** Judges whether each conversation was complete, or was cut for a reason that the test knows. */
export function judge(evidence: Evidence): Verdict {
  const reported = read(evidence.news)
  const cut = { killed: 0, left: 0, lost: 0 }
  const faults: string[] = []
  let whole = 0
  for (const outcome of evidence.outcomes) {
    const { heard, ended } = outcome
    const who = heard.opening?.who ?? accepterOf(outcome, reported)
    const fate = who === undefined ? anyFate(outcome, evidence.fates) : evidence.fates.get(who)
    const isWhole = ended === 'fin' && heard.isWhole && heard.opening !== undefined
    const fault = heard.fault ?? (isWhole ? upFault(outcome, reported, fate) : undefined)
    if (fault !== undefined) faults.push(describe(outcome, who, fault))
    else if (isWhole) whole++
    else if (fate && mayBeCut(outcome, fate)) cut[fate.kind]++
    else faults.push(describe(outcome, who, 'cut'))
  }
  return { faults, whole, cut }
}

type Accepted = BackendNews & { readonly kind: 'accepted' }

interface Reported {
  readonly accepted: ReadonlyMap<string, readonly Accepted[]>
  readonly over: ReadonlyMap<string, BackendNews & { readonly kind: 'over' }>
}

function read(news: readonly BackendNews[]): Reported {
  const accepted = Map.groupBy(news.filter(isAcceptance), ({ client }) => client)
  const over = new Map<string, BackendNews & { readonly kind: 'over' }>()
  for (const item of news) {
    if (item.kind === 'over') over.set(`${item.who} ${item.serial}`, item)
  }
  return { accepted, over }
}

function isAcceptance(news: BackendNews): news is Accepted {
  return news.kind === 'accepted'
}

/** The backend that accepted this conversation, and not another one from the same port. */
function accepterOf(
  { client, order, began, over }: ConversationResult,
  reported: Reported,
): number | undefined {
  if (order !== 'client') return undefined
  return reported.accepted.get(client)?.find(({ at }) => at >= began && at <= over)?.who
}

/** The fault of the backend's side of a conversation that was complete for its client. */
function upFault(
  { heard, said, order }: ConversationResult,
  reported: Reported,
  fate?: Fate,
): string | undefined {
  const { who = 0, serial = 0 } = heard.opening ?? {}
  const other = reported.over.get(`${who} ${serial}`)
  if (other === undefined)
    return fate && fate.kind !== 'left' ? undefined : 'not reported by the backend'
  const { fault, bytes, isWhole } = other.heard
  if (fault !== undefined) return `backend heard ${fault}`
  const isGood = other.ended === 'fin' && isWhole && bytes === said
  if (isGood || (fate && fate.kind !== 'left')) return undefined
  return `backend heard ${bytes} of ${said} bytes (${order}), then ${other.ended}`
}

/** The fate that explains a conversation whose backend is unknown, because no backend had accepted it yet. */
function anyFate({ began, over }: ConversationResult, fates: Evidence['fates']): Fate | undefined {
  return fates
    .values()
    .find(({ kind, from, until }) => kind !== 'left' && began <= until && over >= from)
}

function mayBeCut({ ended, over, isStubborn }: ConversationResult, { kind, from }: Fate): boolean {
  return ended !== 'never' && over >= from && (kind !== 'left' || isStubborn)
}

function describe(outcome: ConversationResult, who: number | undefined, fault: string): string {
  const { order, client, ended, heard, reason = 'no error' } = outcome
  const bytes = `${heard.bytes} of ${heard.opening?.length ?? 'unknown'} bytes`
  const stubborn = outcome.isStubborn ? ' stubborn' : ''
  const times = `${outcome.began} to ${outcome.over}`
  const what = `${order}${stubborn} ${client} to backend ${who ?? 'unknown'}, ${times}`
  return `${what}: ${fault}; ${ended} (${reason}) after ${bytes}`
}
