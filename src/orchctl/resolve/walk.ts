import type { Upstream } from '../../dns/forward/upstream/upstream.ts'
import { plainName } from '../../dns/wire/name.ts'
import type { ResolvConf } from '../../resources/pod-dns.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { evaluate } from './evaluate.ts'
import { queryServer, type Reply } from './query-server.ts'
import type { QueryType, Question } from './question.ts'
import type { Candidate, ServerReply, TypeAnswer } from './resolution.ts'

const MAX_NAME = 253
/** The largest ndots of libc (RES_MAXNDOTS). */
const MAX_NDOTS = 15

/** The parameters of a search. */
export interface Walk {
  readonly question: Question
  readonly file: ResolvConf
  readonly objects: ClusterObjects
  /** Whether the Pod uses the servers of the cluster, whose answers are those of the zone. */
  readonly isOfCluster: boolean
  /** A server that is queried, too; its answers then decide where the search ends. */
  readonly server: Upstream | undefined
  readonly signal: AbortSignal
}

export interface Walked {
  readonly candidates: Candidate[]
  /** The name at which the search ended with records; empty: there is none. */
  readonly resolved: string
}

/** Goes through the search list as libc does: until a name has records of one of the types. */
export async function walk(walking: Walk): Promise<Walked> {
  const candidates: Candidate[] = []
  let resolved = ''
  const queryOnce = serverQuery(walking)
  for (const name of searchList(walking.question, walking.file)) {
    if (resolved !== '') {
      candidates.push({ name, queried: false, answers: [] })
      continue
    }
    const answers: TypeAnswer[] = []
    for (const type of walking.question.types) {
      const answer = await evaluate(name, type, walking.objects)
      const reply = await queryOnce(name, type)
      if (reply !== undefined) answer.server = comparedReply(reply, answer)
      answers.push(answer)
      if (hasRecords(answer, reply, walking)) resolved = name
    }
    candidates.push({ name, queried: true, answers })
  }
  return { candidates, resolved }
}

function hasRecords(answer: TypeAnswer, reply: Reply | undefined, { isOfCluster }: Walk): boolean {
  if (reply === undefined) return isOfCluster && answer.status === 'NOERROR'
  return reply.records.some(({ type }) => type === answer.type)
}

/** Queries the server, if there is one. After the first query without a reply, it is not queried for other names. */
function serverQuery({ server, signal }: Walk) {
  let silence: Reply | undefined
  return async (name: string, type: QueryType): Promise<Reply | undefined> => {
    if (server === undefined || silence !== undefined) return silence
    const reply = await queryServer(server, name, type, signal)
    if (!reply.isReply) silence = reply
    return reply
  }
}

/** The reply of a server, and how it differs from the answer that follows from the objects. */
export function comparedReply(reply: Reply, answer: TypeAnswer): ServerReply {
  return {
    status: reply.status,
    records: reply.records.map(recordText).toSorted(),
    difference: differenceOf(reply, answer),
  }
}

/** The difference in a sentence; empty: none, or there is nothing to compare with. Ignores times to live and order. */
function differenceOf(reply: Reply, answer: TypeAnswer): string {
  if (!reply.isReply) return `no reply: ${reply.status}`
  if (answer.status === 'FORWARDED' && reply.status === 'SERVFAIL') {
    return 'its upstream brings no answer'
  }
  if (answer.status === 'FORWARDED' || answer.status === 'UNKNOWN') return ''
  const code = answer.status === 'NXDOMAIN' ? 'NXDOMAIN' : 'NOERROR'
  const isCode = reply.status === code || leavesZone(answer)
  const codes = isCode ? [] : [`it answers ${reply.status}, but the objects give ${code}`]
  const wanted = new Set(answer.records.map(recordText))
  const held = new Set(reply.records.map(recordText))
  const missing = [...wanted].filter((one) => !held.has(one))
  const more = leavesZone(answer) ? [] : [...held].filter((one) => !wanted.has(one))
  return [
    ...codes,
    ...(missing.length === 0 ? [] : [`it does not have ${missing.join(', ')}`]),
    ...(more.length === 0 ? [] : [`the objects do not give ${more.join(', ')}`]),
  ].join('; ')
}

function recordText({ name, type, data }: Reply['records'][number]): string {
  return `${name} ${type} ${data}`
}

/** Whether the last alias leads to a name of another server. */
function leavesZone({ type, status, records }: TypeAnswer): boolean {
  return status === 'NOERROR' && !records.some((record) => record.type === type)
}

/** The number of dots from which on a name is first queried as it is (resolv.conf(5)). */
function ndotsOf({ options }: ResolvConf): number {
  const text = options.get('ndots')
  if (text === undefined) return 1
  return Math.min(Math.max(Number.parseInt(text, 10) || 0, 0), MAX_NDOTS)
}

/**
 * The names for which libc queries, one after the other until one has records: the name with each domain of the search
 * list, and the name as it is, which comes first if it has enough dots (resolv.conf(5), res_nsearch of glibc). Names
 * that are too long are left out.
 */
export function searchList(question: Question, file: ResolvConf): readonly string[] {
  const { name, isAbsolute } = question
  if (isAbsolute) return [name]
  const dots = name.split('.').length - 1
  const searched = file.searches.map((domain) => joined(name, domain))
  const all = dots >= ndotsOf(file) ? [name, ...searched] : [...searched, name]
  return [...new Set(all)].filter((one) => one.length <= MAX_NAME)
}

/** The name below a domain. The domain `.` is the root, and changes nothing. */
function joined(name: string, domain: string): string {
  const end = plainName(domain)
  return end === '' ? name : `${name}.${end}`
}
