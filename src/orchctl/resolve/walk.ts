import type { Upstream } from '../../dns/forward/upstream/upstream.ts'
import type { ResolvConf } from '../../resources/resolver/resolv-conf.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { comparedReply } from './compare-reply.ts'
import { evaluate } from './evaluate.ts'
import { queryServer, type Reply } from './query-server.ts'
import type { QueryType, Question } from './question.ts'
import type { Candidate, TypeAnswer } from './resolution.ts'
import { searchList } from './search-list.ts'

/** What a search goes through. */
export interface Walk {
  readonly question: Question
  readonly file: ResolvConf
  readonly objects: ClusterObjects
  /** Whether the servers of the Pod are those of the cluster, so that they answer what the zone says. */
  readonly isOfCluster: boolean
  /** Queried beside; what it answers decides where the search ends. */
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

/** Queries the server, if there is one, until it does not reply: then that holds for the other names, too. */
function serverQuery({ server, signal }: Walk) {
  let silence: Reply | undefined
  return async (name: string, type: QueryType): Promise<Reply | undefined> => {
    if (server === undefined || silence !== undefined) return silence
    const reply = await queryServer(server, name, type, signal)
    if (!reply.isReply) silence = reply
    return reply
  }
}
